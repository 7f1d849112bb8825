package sandbox

import (
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

func simulated(registries []Registry) []kubesim.Registry {
	var out []kubesim.Registry
	for _, r := range registries {
		out = append(out, kubesim.Registry(r))
	}
	return out
}
