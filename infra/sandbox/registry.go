package sandbox

import (
	"cmp"
	"fmt"
	"net/netip"

	"github.com/vnfkit/vnfkit/internal/kubesim"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// Registry is a private container registry from which machines pull, according to the configuration of their runtimes.
type Registry struct {
	Address            netip.AddrPort
	CA                 string   // PEM of the CA that has signed its certificate; "" speaks HTTP
	Username, Password string   // "" allows every client to pull
	Images             []string // without the server: "team/pause:3.10"
}

// Package is a package of Debian that machines can install, in addition to those of Kubernetes and its runtimes.
type Package struct {
	Version  string                     // default "1.0-1"
	Services []string                   // units that it brings, and starts when it is installed, such as "nginx"
	Files    map[string]string          // files that it brings, by path. Those that a machine has already stay as they are
	Commands map[string]sshtest.Command // programs that a machine has while the package is installed, by name
}

// simulation is how the machines behave. changed is called after each change.
func (c Config) simulation(changed func()) kubesim.Options {
	o := kubesim.Options{Changed: changed, Takes: c.Takes, Now: c.Now, PublicImages: c.PublicImages, Missing: c.Missing, Offline: c.Offline, Services: c.Services, Packages: map[string]kubesim.Package{}}
	for name, p := range c.Packages {
		p.Version = cmp.Or(p.Version, "1.0-1")
		o.Packages[name] = kubesim.Package(p)
	}
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
