package e2e_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/infra/openstack"
	"github.com/vnfkit/vnfkit/internal/e2e/kube"
	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/internal/tackertest"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestTackerMgmtDriver is the life of a cluster on OpenStack whose hooks are run as Tacker does, by Tacker's own code if VNFKIT_TACKER
// names a checkout: the script of the package, which runs the program, which reads the stack and works on the machines. A worker's
// hook is killed in the middle, and the operation is retried.
func TestTackerMgmtDriver(t *testing.T) {
	pkg, data := filepath.Join(t.TempDir(), "package"), t.TempDir()
	kill := false
	y := stackYard(t, "tacker", func(parts kube.Parts, driver *openstack.Driver) *yard {
		return yardOf(t, parts, func(y *yard, _ *vmhost.Spec) {
			y.drivers = map[string]vnflcm.InfraDriver{openstack.VimTypeV2: driver}
			y.conductor = &tackertest.Conductor{Dir: pkg, Run: func(ctx context.Context, op *vnflcm.Operation, said []byte) error {
				if kill && op.Phase() == "scale_end" {
					kill = false
					return y.killedHook(op.InstanceID, said, pkg, data) //nolint:contextcheck // the test has its own
				}
				_, err := tackertest.Execute(ctx, said, "../Scripts/kubeadm.py", "VNFKIT_DATA="+data)
				return err
			}}
		})
	})
	packTackerDriver(t, pkg)
	var err error
	y.conductor.VIM, err = y.cloud.VIM("cloud", openstack.VimTypeV2)
	must(t, err)
	t.Cleanup(func() {
		if log, err := os.ReadFile(filepath.Join(data, "log")); t.Failed() && err == nil { //nolint:gosec // ours
			t.Logf("%s", log)
		}
	})
	ctx := t.Context()
	id, request := y.cluster("simple")
	y.place(&request)
	y.must(y.Instantiate(ctx, id, request))
	y.wantNodes(id, 1, 1)
	kill = true
	opID, err := y.Scale(ctx, id, scale(vnflcm.ScaleOut, 1))
	must(t, err)
	if _, err := y.Wait(ctx, opID); err == nil {
		t.Fatal("the killed hook has not failed")
	}
	must(t, y.Retry(ctx, opID))
	y.must(opID, nil)
	y.wantNodes(id, 1, 2)
	y.must(y.Heal(ctx, id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{y.vnfcs(id, workerVDU)[0].ID}}))
	y.wantNodes(id, 1, 2)
	y.must(y.Scale(ctx, id, scale(vnflcm.ScaleIn, 1)))
	y.wantNodes(id, 1, 1)
	y.wantTackerVIM(pkg, data, id)
	y.must(y.Terminate(ctx, id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
}

// packTackerDriver makes a package with the script and the program.
func packTackerDriver(t *testing.T, pkg string) {
	t.Helper()
	must(t, os.CopyFS(pkg, os.DirFS(packageDir)))
	script, err := os.ReadFile("../../examples/tacker-mgmt-driver/script.py")
	must(t, err)
	must(t, os.WriteFile(filepath.Join(pkg, "Scripts", "kubeadm.py"), script, 0o600))
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(pkg, "Scripts", "tacker-mgmt-driver"), "../../examples/tacker-mgmt-driver") //nolint:gosec // ours
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// killedHook kills the program when the new node is there and the hook is not done, as a crash of the conductor's machine does.
func (y *yard) killedHook(id string, said []byte, pkg, data string) error {
	program := exec.CommandContext(y.t.Context(), filepath.Join(pkg, "Scripts", "tacker-mgmt-driver"), "-driver", "kubeadm", "-data", data) //nolint:gosec // ours
	program.Stdin = bytes.NewReader(said)
	if err := program.Start(); err != nil {
		return err
	}
	awaitFor(y.t, 2*time.Minute, "the new node", func() bool { return strings.Count(y.kubectl(id, "get", "nodes", "-o", "name"), "node/") == 3 })
	_ = program.Process.Kill()
	return program.Wait()
}

// wantTackerVIM checks the file that Tacker's operator registers the cluster from.
func (y *yard) wantTackerVIM(pkg, data, id string) {
	y.t.Helper()
	show := exec.CommandContext(y.t.Context(), filepath.Join(pkg, "Scripts", "tacker-mgmt-driver"), "-data", data, "vim", id) //nolint:gosec // ours
	out, err := show.CombinedOutput()
	if err != nil || !strings.Contains(string(out), `"auth_url": "https://`) || !strings.Contains(string(out), "BEGIN CERTIFICATE") {
		y.t.Errorf("the VIM %s: %v", kubeadm.VIMID(id), err)
	}
}
