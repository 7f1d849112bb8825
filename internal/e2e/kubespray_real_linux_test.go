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
func newRealYard(t testing.TB, change func(*yard)) (*yard, *ansibleServer) {
	t.Helper()
	tree := needKubespray(t)
	p, err := parts()
	must(t, err)
	y, variables := realYard(t, serveRepositories(t, p), change)
	return y, y.ansibleServerWith(os.DirFS(tree), variables)
}

// realYard makes machines that kubespray builds clusters on from repositories. It returns the files that kubespray's tree gets beyond
// its own.
func realYard(t testing.TB, repositories string, change func(*yard)) (y *yard, variables map[string]string) {
	t.Helper()
	p, err := parts()
	must(t, err)
	files, err := kube.BuildKubespray(t.Context())
	must(t, err)
	y = yardOf(t, p, func(y *yard, spec *vmhost.Spec) {
		spec.Tree, spec.Data = files.Over(p.Tree()), map[string]string{"/var/lib/containerd": files.Images()}
		spec.Files = map[string]string{sources: ""} // kubespray installs Debian packages that are there already
		y.others = map[string]string{kubesprayVNFD: kubesprayDir, shopVNFD: writePackage(t, shopPackage)}
		y.patience = realPatience
		y.output = func(_ *vnflcm.Operation, playbook string) io.Writer {
			r := &recorder{t: t, name: playbook}
			t.Cleanup(r.recap)
			return r
		}
		change(y)
	})
	y.balancers()
	t.Cleanup(func() {
		if t.Failed() {
			y.showMachines()
		}
	})
	text := fmt.Sprintf("files_repo: %q\n%s", files.Files(repositories), read(t, "testdata/kubespray/vars.yml"))
	return y, map[string]string{"inventory/sample/group_vars/k8s_cluster/zz_real.yml": text}
}

// realPace is how often the client of the CNF asks.
const realPace = 100 * time.Millisecond

// TestKubesprayReal takes a cluster that kubespray itself makes, behind the load balancer of the VNF, through its life. Each stage
// starts from the saved machines of the stage before, so that all machines lose their power between two stages. The process is
// killed with SIGKILL in the middle of cluster.yml and of scale.yml; the next one continues, and no playbook is started again. A
// client of a CNF asks all the time from the scaling out on. kubespray leaves its join tokens, which end after a day.
//
// A stage alone, after a run with VNFKIT_STAGES: -run 'TestKubesprayReal/heal'.
func TestKubesprayReal(t *testing.T) {
	tree := needKubespray(t)
	var before *stage
	for _, next := range []stage{
		{"instantiate", (*realCluster).instantiate},
		{"scale out", (*realCluster).scaleOut},
		{"heal", (*realCluster).heal},
		{"scale in", (*realCluster).scaleIn},
		{"terminate", (*realCluster).terminate},
	} {
		if !t.Run(next.name, func(t *testing.T) { next.run(newRealCluster(t, tree, next, before)) }) {
			return
		}
		before = &next
	}
}

func (c *realCluster) instantiate() {
	id, request := c.kubesprayed(c.server)
	c.Cluster = id
	request.InstantiationLevelID = "instantiation_level_1"
	job := c.job()
	job.Instantiate = revealed(c.t, request)
	c.killedReal(c.server, job, "cluster", "cluster.yml")
	c.wantReadyNodes(id, 1, 1)
	c.wantVIM(id)
	c.CNF = c.exposedShop(id)
	c.save()
}

func (c *realCluster) scaleOut() {
	client := c.customer(c.Cluster)
	job := c.job()
	job.Scale = &vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"}
	c.killedReal(c.server, job, "scale", "scale.yml")
	client.none("scale-out")
	c.wantReadyNodes(c.Cluster, 1, 2)
	c.open(c.Cluster)
	c.save()
}

func (c *realCluster) heal() {
	dead := c.vnfcs(c.Cluster, workerVDU)[0]
	client := c.customer(c.Cluster)
	c.kill(dead)
	c.must(c.Heal(c.t.Context(), c.Cluster, vnflcm.HealVnfRequest{VnfcInstanceID: []string{dead.ID}}))
	client.bounded("heal of a dead worker")
	c.wantReadyNodes(c.Cluster, 1, 2)
	c.open(c.Cluster)
	c.save()
}

func (c *realCluster) scaleIn() {
	client := c.customer(c.Cluster)
	c.must(c.Scale(c.t.Context(), c.Cluster, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleIn, AspectID: "worker_instance"}))
	client.none("scale-in")
	c.wantReadyNodes(c.Cluster, 1, 1)
	c.save()
}

func (c *realCluster) terminate() {
	c.closedDown(c.Cluster, c.CNF)
	c.must(c.Terminate(c.t.Context(), c.Cluster, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateGraceful, GracefulTerminationTimeout: 2}))
	c.gone(c.Cluster)
	c.server.clean(c.t)
}

// TestKubesprayRealHighlyAvailable lets kubespray itself make a cluster of three control-plane nodes and two workers behind the load
// balancer, exposes a CNF there, and ends both.
func TestKubesprayRealHighlyAvailable(t *testing.T) {
	y, server := newRealYard(t, func(y *yard) { y.drivers = cnfDrivers(t) })
	id, request := y.kubesprayedIn("complex", server)
	y.must(y.Instantiate(t.Context(), id, request))
	y.wantReadyNodes(id, 3, 2)
	y.wantVIM(id)
	y.closedDown(id, y.exposedShop(id))
	y.must(y.Terminate(t.Context(), id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
	y.gone(id)
	server.clean(t)
}

// killedReal begins an operation in a process that is killed a minute after it has started a playbook. The playbook continues, and
// the next process finishes the operation without starting the playbook again.
func (y *yard) killedReal(server *ansibleServer, j yardJob, step, playbook string) {
	y.t.Helper()
	y.killed(j, step, time.Minute)
	if !server.playing(y.t, playbook) {
		y.t.Errorf("%s does not go on without its caller", playbook)
	}
	must(y.t, bury(y.t.Context(), y.store))
	opID, err := unfinished(y.t.Context(), y.store)
	y.process = y.start(y.store)
	y.must(opID, err)
	if n := server.count(y.t, playbook); n != 1 {
		y.t.Errorf("%s was run %d times", playbook, n)
	}
}

// customer begins to use the service of the CNF through the load balancer.
func (y *yard) customer(id string) *traffic {
	y.t.Helper()
	return request(y.t, realPace, "pods anywhere", fmt.Sprintf("http://%s:%d/health", y.balancer(id), webPort), nil)
}
