package e2e_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/infra/openstack"
	"github.com/vnfkit/vnfkit/internal/e2e/cloud"
	"github.com/vnfkit/vnfkit/internal/e2e/kube"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestAllOnOpenStack is the same scenario with machines that Heat, Nova and Neutron make from the templates of the
// sample packages. Nova's driver is its fake one: when it says that a server is ACTIVE, a machine that is real boots at
// the address that Neutron gave.
func TestAllOnOpenStack(t *testing.T) {
	y := stackYard(t, "all", func(parts kube.Parts, driver *openstack.Driver) *yard {
		return allYard(t, parts, map[string]vnflcm.InfraDriver{openstack.VimTypeV2: driver})
	})
	y.allInOne(y)
}

// stackYard makes a yard whose machines are those of OpenStack. Nothing may be left there when the test ends.
func stackYard(t *testing.T, part string, make func(kube.Parts, *openstack.Driver) *yard) stackVMs {
	t.Helper()
	parts := needParts(t, part)
	if missing := cloud.Missing(t.Context()); missing != "" {
		t.Skip(missing)
	}
	o, driver := startCloud(t), openstack.New(openstack.Config{Poll: 300 * time.Millisecond})
	t.Cleanup(func() { // after the Manager has ended
		driver.Close()
		o.clearUp(t)
		if left, err := o.cloud.Left(context.Background()); err != nil || len(left) != 0 {
			t.Errorf("left: %q, %v", left, err)
		}
	})
	y := make(parts, driver)
	machines := o.cloud.Boot(t.Context(), y.machines)
	t.Cleanup(func() {
		if err := machines.Close(); err != nil {
			t.Error(err)
		}
	})
	vim, err := o.cloud.VIM("cloud", openstack.VimTypeV2)
	must(t, err)
	must(t, y.VIMs().Put(t.Context(), vim))
	return stackVMs{y, o}
}

// stackVMs are those of OpenStack.
type stackVMs struct {
	*yard
	*openStack
}

// place connects all machines to the network of the hosts.
func (s stackVMs) place(r *vnflcm.InstantiateVnfRequest) {
	s.t.Helper()
	if r.ExtVirtualLinks == nil { // of the registry
		sample, err := instantiation(registryDir, "instantiate.json", r.FlavourID)
		must(s.t, err)
		r.ExtVirtualLinks = sample.ExtVirtualLinks
	}
	r.VimConnectionInfo = vnflcm.VimConnections{{VimID: "cloud"}}
	for i := range r.ExtVirtualLinks {
		r.ExtVirtualLinks[i].ResourceID = s.networks[0]
	}
}

// count is how many servers or hosts there are, whichever are more. Neither knows its instance.
func (s stackVMs) count(...string) int {
	s.t.Helper()
	hosts, err := s.machines.Machines(s.t.Context(), "")
	must(s.t, err)
	items, err := s.cloud.Left(s.t.Context())
	must(s.t, err)
	return max(len(hosts), strings.Count("\n"+strings.Join(items, "\n"), "\nservers "))
}
