package sandbox

import (
	"fmt"
	"net/netip"

	"github.com/vnfkit/vnfkit/internal/kubesim"
)

// Registry is a private container registry from which machines pull, with whatever their runtimes are configured
// to do.
type Registry struct {
	Address            netip.AddrPort
	CA                 string   // PEM of the CA that has signed its certificate; "" speaks HTTP
	Username, Password string   // "" lets everybody pull
	Images             []string // without the server: "team/pause:3.10"
}

// simulation is how the machines behave. changed is called after each change.
func (c Config) simulation(changed func()) kubesim.Options {
	o := kubesim.Options{Changed: changed, Takes: c.Takes, Now: c.Now, PublicImages: c.PublicImages, Missing: c.Missing}
	for _, r := range c.Registries {
		o.Registries = append(o.Registries, kubesim.Registry(r))
	}
	return o
}

// TakePort has a foreign program listen at a TCP port of a machine, named by resource id or name: nothing else can
// listen there, until taken is false.
func (w *World) TakePort(idOrName string, port int, taken bool) error {
	w.mu.Lock()
	id := ""
	for _, m := range w.sorted() {
		if m.ID == idOrName || m.Name == idOrName {
			id = m.ID
			break
		}
	}
	w.mu.Unlock()
	if id == "" {
		return fmt.Errorf("sandbox: no machine %q", idOrName)
	}
	w.kube.TakePort(id, port, taken)
	return nil
}
