package e2e_test

import (
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestKubeadmScaleControlPlane scales the control plane at a virtual address from one node to three and back. A client writes every 10 ms, and
// every write that is acknowledged can be read afterwards. The Service answers every request. The node with the virtual address leaves.
func TestKubeadmScaleControlPlane(t *testing.T) {
	y := yardOf(t, needParts(t, "kubeadm-restore"), func(y *yard, _ *vmhost.Spec) {
		y.infra.Shared = map[string]netip.Addr{"vip_CP": site.network.Reserve()}
	})
	id, request := y.cluster("complex", highlyAvailable)
	y.must(y.Instantiate(t.Context(), id, withOneMaster(request)))
	y.scaledControlPlane(id, func() {
		first := y.vnfcs(id, masterVDU)[0]
		address := y.infra.Shared["vip_CP"].String()
		holder := y.holder(id, address)
		if holder.ID == first.ID {
			_, err := y.on(holder, "systemctl", "restart", "keepalived")
			must(t, err)
		}
		awaitFor(t, time.Minute, "another node with the virtual address", func() bool {
			out, err := y.on(holder, "ip", "-o", "addr")
			return err == nil && !strings.Contains(out, " "+address+"/")
		})
		t.Logf("%s has the virtual address before nodes leave", y.holder(id, address).ID)
	})
	y.gone(id)
}

// TestKubeadmScaleControlPlaneBehindBalancer is the same behind the load balancer of the VNF.
func TestKubeadmScaleControlPlaneBehindBalancer(t *testing.T) {
	parts, dir := needParts(t, "kubeadm-restore"), balancedPackage(t)
	const flavour = "Definitions/k8s_cluster_kubespray_df_complex.yaml"
	text, err := os.ReadFile(filepath.Join(dir, flavour))
	must(t, err)
	scalable := strings.NewReplacer("max_scale_level: 0", "max_scale_level: 1", "min_number_of_instances: 3", "min_number_of_instances: 1",
		"initial_delta:\n            number_of_instances: 3", "initial_delta:\n            number_of_instances: 1", "master_instance:\n                  scale_level: 0", "master_instance:\n                  scale_level: 1",
		"aspect: master_instance\n          deltas:\n            delta_1:\n              number_of_instances: 1", "aspect: master_instance\n          deltas:\n            delta_1:\n              number_of_instances: 2")
	must(t, os.WriteFile(filepath.Join(dir, flavour), []byte(scalable.Replace(string(text))), 0o600))
	y := yardOf(t, parts, func(y *yard, _ *vmhost.Spec) { y.others = map[string]string{kubesprayVNFD: dir} })
	y.balancers()
	id, request := y.createdOf(kubesprayDir, kubesprayVNFD, "instantiate_sandbox.json", "complex")
	y.instances = append(y.instances, id)
	request.ExtVirtualLinks = nil
	request.AdditionalParams = y.laid(request.AdditionalParams, y.testbed(),
		`{"k8s_cluster_installation_param": {"ansible": null, "script_path": null, "master_node": {"cluster_cp_name": null},
			"external_lb_param": {"script_path": "Scripts/install_external_lb.sh"}}}`)
	y.must(y.Instantiate(t.Context(), id, withOneMaster(request)))
	y.scaledControlPlane(id, func() {})
	y.gone(id)
}

// withOneMaster returns the request for one control-plane node and two workers.
func withOneMaster(r vnflcm.InstantiateVnfRequest) vnflcm.InstantiateVnfRequest {
	r.InstantiationLevelID = ""
	r.TargetScaleLevelInfo = []vnflcm.ScaleInfo{{AspectID: "master_instance"}, {AspectID: "worker_instance", ScaleLevel: 1}}
	return r
}

// scaledControlPlane scales out and in under load. between is called before nodes leave, without load.
func (y *yard) scaledControlPlane(id string, between func()) {
	t, ctx := y.t, y.t.Context()
	t.Helper()
	y.wantNodes(id, 1, 2)
	y.loaded(id)
	for _, kind := range []vnflcm.ScaleType{vnflcm.ScaleOut, vnflcm.ScaleIn} {
		writes := y.write(id)
		awaitFor(t, time.Minute, "writes", func() bool { there, err := writes.there(); return err == nil && len(there) > 20 })
		service := y.asked(id)
		begin, number := time.Now(), map[vnflcm.ScaleType]int{vnflcm.ScaleOut: 3, vnflcm.ScaleIn: 1}[kind]
		y.must(y.Scale(ctx, id, vnflcm.ScaleVnfRequest{Type: kind, AspectID: "master_instance"}))
		t.Logf("%s to %d control-plane nodes took %s", kind, number, time.Since(begin).Round(time.Second))
		service.none(string(kind))
		writes.end(string(kind))
		y.wantNodes(id, number, 2)
		y.wantMembers(id)
		if code, err := y.viaVIM(id, "/readyz"); err != nil || code != http.StatusOK {
			t.Errorf("the API answers clients of the VIM with %d, %v", code, err)
		}
		if kind == vnflcm.ScaleOut {
			between()
		}
	}
	y.wantClaimed(id)
	y.must(y.Terminate(ctx, id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
}
