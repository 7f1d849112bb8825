package e2e_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/infra/openstack"
	"github.com/vnfkit/vnfkit/internal/e2e/cloud"
	"github.com/vnfkit/vnfkit/internal/e2e/kube"
	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
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

// TestHighlyAvailableOnOpenStack takes a cluster of three control-plane nodes on such machines through its life, behind an address that
// Neutron has reserved: a worker is added, the whole VNF is healed with a control-plane node that is dead, and terminated. The nodes have
// the labels of their compute host and zone.
func TestHighlyAvailableOnOpenStack(t *testing.T) {
	y := stackYard(t, "kubeadm-full", func(parts kube.Parts, driver *openstack.Driver) *yard {
		return yardOf(t, parts, func(y *yard, _ *vmhost.Spec) {
			y.drivers = map[string]vnflcm.InfraDriver{openstack.VimTypeV2: driver}
		})
	})
	ctx := t.Context()
	id, request := y.cluster("complex", highlyAvailable)
	y.place(&request)
	wantCluster := func(workers int) {
		t.Helper()
		y.wantNodes(id, 3, workers)
		y.wantMembers(id)
		if code, err := y.viaVIM(id, "/version"); code != 200 || err != nil {
			t.Errorf("through the VIM entry: %d, %v", code, err)
		}
		if n := y.count(); n != 3+workers {
			t.Errorf("%d machines of %d nodes", n, 3+workers)
		}
		if labelled := y.kubectl(id, "get", "nodes", "-l", "CIS-node,kubernetes.io/zone=nova,topology.kubernetes.io/zone=nova", "-o", "name"); strings.Count(labelled, "\n") != 3+workers {
			t.Errorf("nodes with labels of their host and zone: %q", labelled)
		}
		y.holder(id, y.externalAddress(id, "vip_CP"))
	}
	y.must(y.Instantiate(ctx, id, request))
	wantCluster(1)
	y.must(y.Scale(ctx, id, scale(vnflcm.ScaleOut, 1)))
	wantCluster(2)
	before := y.vnfcs(id, masterVDU)
	y.kill(before[0])
	y.must(y.Heal(ctx, id, wholeHeal(t)))
	wantCluster(2)
	for _, was := range before {
		if slices.ContainsFunc(y.vnfcs(id, masterVDU), func(v vnflcm.VnfcResourceInfo) bool { return server(v) == server(was) }) {
			t.Errorf("VNFC %s still has the server %s", was.ID, server(was))
		}
	}
	y.must(y.Terminate(ctx, id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
	y.gone(id)
	awaitFor(t, 3*time.Minute, "the machines to go", func() bool { return y.count() == 0 })
}

// externalAddress is the address of an external connection point of an instance.
func (s stackVMs) externalAddress(id, cpd string) string {
	s.t.Helper()
	inst, err := s.Get(s.t.Context(), id)
	must(s.t, err)
	for _, cp := range inst.InstantiatedVnfInfo.ExtCpInfo {
		if cp.CpdID == cpd {
			return cp.CpProtocolInfo[0].IPOverEthernet.IPAddresses[0].Addresses[0]
		}
	}
	s.t.Fatalf("the instance has no %s", cpd)
	return ""
}

// stackYard makes a yard whose machines are those of OpenStack. Nothing may be left there when the test ends.
func stackYard(t *testing.T, part string, make func(kube.Parts, *openstack.Driver) *yard) stackVMs {
	t.Helper()
	parts := needParts(t, part)
	if missing := cloud.Missing(t.Context()); missing != "" {
		t.Skip(missing)
	}
	o, driver := startCloud(t), openstack.New(openstack.Config{Allow: outbound.AllowAny, Poll: 300 * time.Millisecond})
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
