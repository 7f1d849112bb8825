package vnflcm_test

import (
	"testing"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestNoopDriver runs all operations with a package whose VNFD names vnflcm_noop for hooks.
func TestNoopDriver(t *testing.T) {
	t.Parallel()
	x := newToys(t, func(c *vnflcm.Config) {
		c.Packages = toyPackage("vnflcm_noop")
		c.Infra = map[string]vnflcm.InfraDriver{"toy": idle{}}
		c.Mgmt = map[string]vnflcm.MgmtDriver{"vnflcm_noop": vnflcm.NoopDriver{}}
	})
	for flavour := range clusterHooks {
		id := x.instantiated(flavour)
		opID, err := x.Heal(t.Context(), id, vnflcm.HealVnfRequest{})
		x.wait(opID, err, vnflcm.Completed)
		opID, err = x.Terminate(t.Context(), id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful})
		x.wait(opID, err, vnflcm.Completed)
	}
}
