package e2e_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// balancedPackage is the sample package with a load balancer, whose driver is kubeadm's.
func balancedPackage(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	must(t, os.CopyFS(dir, os.DirFS(kubesprayDir)))
	must(t, filepath.WalkDir(filepath.Join(dir, "Definitions"), func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(name) //nolint:gosec // a copy of the sample
		if err != nil {
			return err
		}
		return os.WriteFile(name, bytes.ReplaceAll(text, []byte(kubesprayDriver), []byte(driverName)), 0o600) //nolint:gosec // the same
	}))
	return dir
}

// TestKubeadmBehindBalancer: a cluster of kubeadm with three control-plane nodes is made through haproxy, which the script of the
// sample package installs and which follows the nodes. The load balancer is healed, and then, through it, the control-plane node that
// the cluster began with. A CNF has its services exposed there, as before when the load balancer is another machine.
func TestKubeadmBehindBalancer(t *testing.T) {
	t.Parallel()
	parts, dir := needKubeadm(t), balancedPackage(t)
	y := yardOf(t, parts, func(y *yard, _ *vmhost.Spec) {
		y.others = map[string]string{kubesprayVNFD: dir, shopVNFD: writePackage(t, shopPackage)}
		y.drivers = cnfDrivers(t)
	})
	y.balancers()
	ctx := t.Context()
	id, request := y.createdOf(kubesprayDir, kubesprayVNFD, "instantiate_sandbox.json", "complex")
	y.instances = append(y.instances, id)
	request.ExtVirtualLinks, request.InstantiationLevelID = nil, "instantiation_level_1"
	request.AdditionalParams = y.laid(request.AdditionalParams, y.testbed(),
		`{"k8s_cluster_installation_param": {"ansible": null, "script_path": null, "master_node": {"cluster_cp_name": null},
			"external_lb_param": {"script_path": "Scripts/install_external_lb.sh"}}}`)
	y.must(y.Instantiate(ctx, id, request))
	y.wantNodes(id, 3, 1)
	y.wantMembers(id)
	y.wantVIM(id)
	first := slices.MinFunc(y.vnfcs(id, masterVDU), func(a, b vnflcm.VnfcResourceInfo) int {
		return y.machines.Host(a.ComputeResource.ResourceID).Address.Compare(y.machines.Host(b.ComputeResource.ResourceID).Address)
	})
	cnf := y.exposedShop(id)

	y.must(y.Scale(ctx, id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"}))
	y.wantNodes(id, 3, 2)
	y.open(id)
	clients := y.customers(id)
	y.must(y.Scale(ctx, id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleIn, AspectID: "worker_instance"}))
	for _, c := range clients {
		c.none("scale-in")
	}
	y.wantNodes(id, 3, 1)

	balancer := y.vnfcs(id, balancerVDU)[0]
	y.kill(balancer)
	y.must(y.Heal(ctx, id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{balancer.ID}}))
	y.wantVIM(id)
	y.visited(id)

	longest := y.watchAPI(id)
	y.kill(first)
	y.must(y.Heal(ctx, id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{first.ID}}))
	t.Logf("longest gap of the API while a control-plane node was dead and was healed: %s", longest().Round(10*time.Millisecond))
	y.wantNodes(id, 3, 1)
	y.wantMembers(id)
	y.wantVIM(id)
	y.closedDown(id, cnf)

	y.must(y.Terminate(ctx, id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateGraceful, GracefulTerminationTimeout: 2}))
	y.gone(id)
}
