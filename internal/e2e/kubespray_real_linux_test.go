package e2e_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/internal/e2e/kube"
	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// realPatience bounds how long one operation with the playbooks of kubespray itself may take.
const realPatience = 40 * time.Minute

// needKubespray skips the test when the run is not about kubespray itself, or no checkout is given. It returns the root of the
// checkout, which must have no changes.
func needKubespray(t testing.TB) string {
	t.Helper()
	needPart(t, "kubespray-real")
	tree := os.Getenv("VNFKIT_KUBESPRAY")
	if tree == "" {
		t.Skip("VNFKIT_KUBESPRAY names no checkout of kubespray: tag v2.23.3 suits Debian's Ansible")
	}
	git := func(args ...string) string {
		out, err := exec.CommandContext(t.Context(), "git", append([]string{"-c", "safe.directory=*", "-C", tree}, args...)...).Output() //nolint:gosec // reads
		must(t, err)
		return string(out)
	}
	if changes := git("status", "--porcelain", "--ignored"); changes != "" {
		t.Fatalf("the checkout of kubespray has changes:\n%s", changes)
	}
	t.Logf("kubespray: commit %s", git("log", "-1", "--format=%H (%D)"))
	requireCollections(t)
	return tree
}

// recorder keeps what the playbooks of operations write.
type recorder struct {
	t    testing.TB
	name string

	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (r *recorder) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

// recap logs what the run counted for each host, or what it wrote last.
func (r *recorder) recap() {
	r.mu.Lock()
	defer r.mu.Unlock()
	text := r.text.String()
	for _, start := range []string{"PLAY RECAP", `{"_event":"v2_playbook_on_stats"`} {
		if i := strings.LastIndex(text, start); i >= 0 {
			r.t.Logf("%s: %s", r.name, text[i:])
			return
		}
	}
	r.t.Logf("%s ended without a recap:\n%s", r.name, text[max(0, len(text)-4000):])
}

// newRealYard makes machines that kubespray builds clusters on, and the Ansible server with its own playbooks.
func newRealYard(t testing.TB) (*yard, *ansibleServer) {
	t.Helper()
	tree := needKubespray(t)
	p, err := parts()
	must(t, err)
	files, err := kube.BuildKubespray(t.Context())
	must(t, err)
	repositories := serveRepositories(t, p)
	y := yardOf(t, p, func(y *yard, spec *vmhost.Spec) {
		spec.Tree, spec.Data = files.Over(p.Tree()), map[string]string{"/var/lib/containerd": files.Images()}
		spec.Files = map[string]string{sources: ""} // kubespray installs Debian packages that are there already
		y.others = map[string]string{kubesprayVNFD: kubesprayDir}
		y.patience = realPatience
		y.output = func(_ *vnflcm.Operation, playbook string) io.Writer {
			r := &recorder{t: t, name: playbook}
			t.Cleanup(r.recap)
			return r
		}
	})
	y.balancers()
	t.Cleanup(func() {
		if t.Failed() {
			y.showKubelets()
		}
	})
	variables := fmt.Sprintf("files_repo: %q\n%s", files.Files(repositories), read(t, "testdata/kubespray/vars.yml"))
	return y, y.ansibleServerWith(os.DirFS(tree), map[string]string{"inventory/sample/group_vars/k8s_cluster/zz_real.yml": variables})
}

// TestKubesprayReal has kubespray itself make a cluster behind the load balancer of the VNF. kubespray leaves its join tokens, which
// end after a day.
func TestKubesprayReal(t *testing.T) {
	y, server := newRealYard(t)
	ctx := t.Context()
	id, request := y.kubesprayed(server)
	request.InstantiationLevelID = "instantiation_level_1"
	y.must(y.Instantiate(ctx, id, request))
	y.wantReadyNodes(id, 1, 1)
	y.wantVIM(id)

	y.must(y.Terminate(ctx, id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateGraceful, GracefulTerminationTimeout: 2}))
	y.gone(id)
	server.clean(t)
}
