package kubeadm_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestBalancerFaults checks the faults of external_lb_param and of parameters that cannot be combined with it.
func TestBalancerFaults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		patch string
		want  []string
	}{
		"nothing": {`{"external_lb_param":{"ssh_cp_name":null,"nic_cp_name":null,"ssh_username":null,"ssh_password":null,"script_path":"Scripts/none.sh"}}`, []string{
			`external_lb_param.script_path: "Scripts/none.sh": the package has no such file`,
			"external_lb_param.ssh_cp_name: is required", "external_lb_param.ssh_password: is required, unless there is a ssh_private_key",
			"external_lb_param.ssh_username: is required"}},
		"connection points": {`{"external_lb_param":{"ssh_cp_name":"CP8","nic_cp_name":"CP9"}}`, []string{
			`external_lb_param.nic_cp_name: "CP9": the flavour has no such connection point; VDUs have externalLB_CP1, externalLB_CP2, masterNode_CP1, workerNode_CP2`,
			`external_lb_param.ssh_cp_name: "CP8": the flavour has no such connection point; VDUs have externalLB_CP1, externalLB_CP2, masterNode_CP1, workerNode_CP2`}},
		"NIC of a worker": {`{"external_lb_param":{"nic_cp_name":"workerNode_CP2"}}`, []string{
			`external_lb_param.nic_cp_name: "workerNode_CP2": is of VDU workerNode, but ssh_cp_name is of VDU externalLB`}},
		"a control-plane node": {`{"external_lb_param":{"ssh_cp_name":"masterNode_CP1","nic_cp_name":null}}`, []string{
			`external_lb_param.ssh_cp_name: "masterNode_CP1": is of VDU masterNode, whose machines are control-plane nodes`}},
		"a worker": {`{"external_lb_param":{"ssh_cp_name":"workerNode_CP2","nic_cp_name":null}}`, []string{
			`external_lb_param.ssh_cp_name: "workerNode_CP2": is of VDU workerNode, whose machines are workers`}},
		"the storage server": {`{"storage_server":{"ssh_cp_name":"externalLB_CP1","username":"u","password":"p","nfs_server_setup_params":[{"export_dir":"/srv/nfs","export_to":"198.18.0.0/16"}]}}`, []string{
			`external_lb_param.ssh_cp_name: "externalLB_CP1": is of VDU externalLB, whose machines are the storage server`}},
		"other endpoints": {`{"api_endpoint":"lb.example.org","script_path":"Scripts/install_external_lb.sh","master_node":{"cluster_fip_name":"x"}}`, []string{
			`api_endpoint: "lb.example.org": cannot be given beside external_lb_param, whose load balancer is the endpoint: leave one of them out`,
			`api_endpoint: "lb.example.org": has no effect with script_path: the script sets up the endpoint`,
			`master_node.cluster_fip_name: "x": has no effect with external_lb_param: the floating address of the load balancer is found without it`,
			`script_path: "Scripts/install_external_lb.sh": cannot be given beside external_lb_param: the script sets up the endpoint itself`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newBalancedLab(t)
			_, _, err := l.Begin("instantiate_sandbox.json", append(behind(t, "simple", 0), with(t, c.patch))...)
			if diff := cmp.Diff(clustertest.Under(param, c.want), mgmttest.Faults(err)); diff != "" {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
}

// TestBalancerIsNotScaled checks that the load balancer cannot be scaled, and that a warning says that cluster_cp_name has
// no effect.
func TestBalancerIsNotScaled(t *testing.T) {
	t.Parallel()
	const name = "Definitions/k8s_cluster_kubespray_df_simple.yaml"
	text, err := os.ReadFile(filepath.Join(balancerPackage, name))
	if err != nil {
		t.Fatal(err)
	}
	const deltas = "aspect: master_instance\n          deltas:\n            delta_1:\n              number_of_instances: 1\n        targets: [ "
	scaled := strings.Replace(string(text), deltas+"masterNode", deltas+"externalLB", 1)
	if scaled == string(text) {
		t.Fatal("the package is another one now")
	}
	l := openLab(t, setup{pkg: mgmttest.Package(t, balancerPackage, map[string]string{name: scaled})})
	id := l.Instantiated("instantiate_sandbox.json", append(behind(t, "simple", 0), with(t, `{"master_node":{"aspect_id":null,"cluster_cp_name":"masterNode_CP1"}}`))...)
	l.wantRoutes(id)
	if !strings.Contains(l.Log(), "cluster_cp_name has no effect with external_lb_param") {
		t.Error("nobody was told of cluster_cp_name")
	}
	_, err = l.Scale(t.Context(), id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "master_instance"})
	if diff := cmp.Diff([]string{`aspectId: "master_instance": the load balancer cannot be scaled`,
		`numberOfSteps: "1": aspect master_instance at level 1: scale level out of range (0 to 0)`}, mgmttest.Faults(err)); diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}
