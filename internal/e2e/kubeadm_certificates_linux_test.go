package e2e_test

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestKubeadmCertificates renews the certificates of a control plane with a virtual address, which are valid for half an hour, while a client
// asks the API every 100 ms.
// Afterwards every certificate that kubeadm renews ends later than before, and the cluster works.
func TestKubeadmCertificates(t *testing.T) {
	var virtual netip.Addr
	y := newYard(t, func(y *yard, _ *vmhost.Spec) {
		virtual = site.network.Reserve()
		y.infra.Shared = map[string]netip.Addr{"vip_CP": virtual}
	})
	ctx := t.Context()
	id, request := y.cluster("complex", highlyAvailable, `{"k8s_cluster_installation_param": {"certificate_validity": "30m"}}`)
	y.must(y.Instantiate(ctx, id, request))
	ends := func() map[string]time.Time {
		list, err := y.Certificates(ctx, id)
		must(t, err)
		out := map[string]time.Time{}
		for _, c := range list {
			if c.IsCA {
				continue
			}
			out[c.Machine+" "+c.Name] = c.NotAfter
		}
		return out
	}
	before := ends()

	longest := y.watchAPI(id)
	begin := time.Now()
	op, err := y.Maintain(ctx, id, vnflcm.MaintainVnfRequest{Task: vnflcm.RenewCertificates})
	must(t, err)
	if _, err := y.Wait(within(t, 20*time.Minute), op); err != nil { // twelve static pods start again, one after the other
		t.Fatal(err)
	}
	t.Logf("longest gap of the API while the certificates were renewed (%s): %s", time.Since(begin).Round(time.Second), longest().Round(10*time.Millisecond))
	after := ends()
	for name, was := range before {
		if now := after[name]; !now.After(was) && !strings.Contains(name, "kubelet") { // the kubelet renews its certificate itself
			t.Errorf("%s ended at %s and ends at %s", name, was, now)
		}
	}
	y.wantNodes(id, 3, 1)
	y.wantMembers(id)
	y.must(y.Scale(ctx, id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"}))
	y.must(y.Terminate(ctx, id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
	y.gone(id)
}
