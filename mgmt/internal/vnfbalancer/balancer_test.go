package vnfbalancer_test

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/vnfbalancer"
	"github.com/vnfkit/vnfkit/vnflcm"
)

func point(cpd, fixed, floating string) vnflcm.ConnectionPoint {
	cp := vnflcm.ConnectionPoint{CPD: cpd, Fixed: []netip.Addr{netip.MustParseAddr(fixed)}}
	if floating != "" {
		cp.Floating = netip.MustParseAddr(floating)
	}
	return cp
}

// TestClientAddress: clients use a floating address if there is one, preferably of the connection point of the nodes'
// network.
func TestClientAddress(t *testing.T) {
	t.Parallel()
	ip := netip.MustParseAddr("10.0.0.7")
	for _, c := range []struct {
		want, nic string
		cps       []vnflcm.ConnectionPoint
	}{
		{"10.0.0.7", "", []vnflcm.ConnectionPoint{point("E", "10.0.0.7", "")}},
		{"203.0.113.1", "", []vnflcm.ConnectionPoint{point("E", "10.0.0.7", "203.0.113.1")}},
		{"203.0.113.2", "N", []vnflcm.ConnectionPoint{point("E", "192.0.2.7", "203.0.113.2"), point("N", "10.0.0.7", "")}},
		{"203.0.113.3", "N", []vnflcm.ConnectionPoint{point("E", "192.0.2.7", "203.0.113.9"), point("N", "10.0.0.7", "203.0.113.3")}},
		{"10.0.0.7", "N", []vnflcm.ConnectionPoint{point("E", "192.0.2.7", ""), point("N", "10.0.0.7", "")}},
	} {
		b := vnfbalancer.BalancerParam{SSHCPName: "E", NICCPName: c.nic}
		got := b.ClientAddress(mgmt.Node{VNFC: vnflcm.VNFC{CPs: c.cps}, IP: ip}).String()
		if got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	n := mgmt.Node{VNFC: vnflcm.VNFC{CPs: []vnflcm.ConnectionPoint{point("E", "192.0.2.7", "203.0.113.2"), {CPD: "none"}, point("N", "10.0.0.7", "")}}}
	if diff := cmp.Diff([]string{"203.0.113.2", "192.0.2.7", "10.0.0.7"}, vnfbalancer.Names([]mgmt.Node{n})); diff != "" {
		t.Error(diff)
	}
}
