package sandbox_test

import (
	"testing"

	"github.com/vnfkit/vnfkit/infra/infratest"
	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/internal/fulltest"
	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestInfraDriver: the World follows the rules of infrastructure drivers.
func TestInfraDriver(t *testing.T) {
	t.Parallel()
	for name, setup := range map[string]infratest.Setup{
		"one VDU":     {},
		"volumes":     {Package: tosca.FS(servers()), Changed: tosca.FS(newServers())},
		"the cluster": {Package: tosca.File(packageDir), Aspect: "worker_instance", Sample: !fulltest.Enabled()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			setup.Open = func(t testing.TB) infratest.World {
				t.Helper()
				w, err := sandbox.Open(sandbox.Config{Virtual: []string{"vip"}, Floating: map[string]string{"server_FIP": "server_CP"}})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = w.Close() })
				return infratest.World{VIM: vnflcm.VimConnectionInfo{VimType: "sandbox"}, Driver: func() vnflcm.InfraDriver { return w }, Machines: w.MachineIDs}
			}
			infratest.Run(t, setup)
		})
	}
}
