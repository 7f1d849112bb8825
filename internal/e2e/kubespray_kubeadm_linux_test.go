package e2e_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/infra/kubernetes"
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

// TestKubeadmBehindBalancer: a cluster of kubeadm is made through haproxy, which follows its workers, and is healed. A CNF
// has its services exposed there, as before when the load balancer is another machine.
func TestKubeadmBehindBalancer(t *testing.T) {
	t.Parallel()
	parts, dir := needAnsibleServer(t), balancedPackage(t)
	y := yardOf(t, parts, func(y *yard, _ *vmhost.Spec) {
		y.others = map[string]string{kubesprayVNFD: dir, shopVNFD: writePackage(t, shopPackage)}
		y.drivers = map[string]vnflcm.InfraDriver{kubernetes.VimTypeV1: kubernetes.New(kubernetes.Config{Dir: t.TempDir(), Ready: time.Minute, Gone: time.Minute})}
	})
	y.balancers()
	ctx := t.Context()
	id, request := y.createdOf(kubesprayDir, kubesprayVNFD, "instantiate_sandbox.json", "simple")
	y.instances = append(y.instances, id)
	request.ExtVirtualLinks, request.InstantiationLevelID = nil, "instantiation_level_1"
	request.AdditionalParams = y.laid(request.AdditionalParams, testbed,
		`{"k8s_cluster_installation_param": {"ansible": null, "script_path": null, "master_node": {"cluster_cp_name": null}}}`)
	y.must(y.Instantiate(ctx, id, request))
	y.wantNodes(id, 1, 1)
	y.wantVIM(id)
	cnf := y.exposedShop(id)

	y.must(y.Scale(ctx, id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"}))
	y.wantNodes(id, 1, 2)
	y.open(id)
	clients := y.customers(id)
	y.must(y.Scale(ctx, id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleIn, AspectID: "worker_instance"}))
	for _, c := range clients {
		c.none("scale-in")
	}
	y.wantNodes(id, 1, 1)

	balancer := y.vnfcs(id, balancerVDU)[0]
	y.kill(balancer)
	y.must(y.Heal(ctx, id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{balancer.ID}}))
	y.wantVIM(id)
	y.visited(id)
	y.must(y.Scale(ctx, id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"}))
	y.wantNodes(id, 1, 2)
	y.closedDown(id, cnf)

	y.must(y.Terminate(ctx, id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateGraceful, GracefulTerminationTimeout: 2}))
	y.gone(id)
}
