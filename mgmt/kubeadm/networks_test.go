package kubeadm_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestNetworkOfMachines checks that a network of a new cluster that contains machines is refused: before anything is
// created if the request assigns the addresses, otherwise before any program runs on the machines.
func TestNetworkOfMachines(t *testing.T) {
	t.Parallel()
	t.Run("requested addresses", func(t *testing.T) {
		t.Parallel()
		l := newLab(t)
		r := l.Request("instantiate_sandbox.json", clustertest.Sized("simple", 1))
		r.ExtVirtualLinks = []vnflcm.ExtVirtualLinkData{{ID: "net", ResourceID: "net", ExtCps: []vnflcm.VnfExtCpData{{CpdID: "masterNode_CP1",
			CpConfig: vnflcm.ExtCpConfigs{{CpProtocolData: []vnflcm.CpProtocolData{{LayerProtocol: "IP_OVER_ETHERNET", IPOverEthernet: &vnflcm.IPOverEthernetAddressData{
				IPAddresses: []vnflcm.IPAddressData{{Type: "IPV4", FixedAddresses: []string{"10.244.3.4"}}}}}}}}}}}}
		_, err := l.Instantiate(t.Context(), l.Created(), r)
		l.Refused(err)
		if diff := cmp.Diff(clustertest.Under(param, []string{`master_node.pod_cidr: "10.244.0.0/16": contains the address 10.244.3.4 of a machine of the VNF: choose a network that is used nowhere else`}), mgmttest.Faults(err)); diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
	})
	for _, network := range []string{"pod_cidr", "cluster_cidr"} {
		t.Run(network, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			_, opID, err := l.Begin("instantiate_sandbox.json", with(t, `{"master_node":{"`+network+`":"198.18.0.0/17"}}`))
			if err := l.Fails(opID, err); !strings.Contains(err.Error(), "master_node."+network) || !strings.Contains(err.Error(), "contains the address 198.18.") {
				t.Error(err)
			}
			for _, h := range l.World.Hosts() {
				if ran := h.Commands(); len(ran) > 0 {
					t.Errorf("%s: %q has run", h.Name(), ran[0].Argv)
				}
			}
		})
	}
}
