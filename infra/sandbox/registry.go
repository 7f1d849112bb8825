package sandbox

import (
	"fmt"
	"net/netip"

	"github.com/vnfkit/vnfkit/internal/kubesim"
)

// Registry is a private container registry from which machines pull, according to the configuration of their runtimes.
type Registry struct {
	Address            netip.AddrPort
	CA                 string   // PEM of the CA that has signed its certificate; "" speaks HTTP
	Username, Password string   // "" allows every client to pull
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

// OccupyPort makes another program listen at a TCP port of a machine, named by resource id or name. No other program can
// listen there until a call with taken false.
func (w *World) OccupyPort(idOrName string, port int, taken bool) error {
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
	w.kube.OccupyPort(id, port, taken)
	return nil
}
