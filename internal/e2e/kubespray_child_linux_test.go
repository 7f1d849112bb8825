package e2e_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store/sqlite"
)

// TestKubesprayKilled kills the process with SIGKILL while Ansible is running. Ansible continues, and the next process gets
// its result, also if Ansible has ended before the process starts.
func TestKubesprayKilled(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "vnfm.db")
	y, server := newKubesprayYard(t, func(y *yard, _ *vmhost.Spec) {
		store, err := sqlite.Open(t.Context(), file)
		must(t, err)
		t.Cleanup(func() { _ = store.Close() })
		y.store = store
	})
	server.coreOnly(t)
	socket := filepath.Join(t.TempDir(), "cloud")
	serveCloud(t, socket, y.machines)
	id, request := y.kubesprayed(server)
	request.InstantiationLevelID = "instantiation_level_1"
	job := yardJob{Store: file, Socket: socket, Packages: y.others, Instance: id}

	instantiate := job
	instantiate.Instantiate = revealed(t, request)
	y.killed(instantiate, "cluster", 3*time.Second)
	if !server.playing(t, "cluster.yml") {
		t.Error("the playbook does not go on without its caller")
	}
	y.killed(instantiate, "cluster", 2*time.Second)
	y.killed(instantiate, "routes", 0)
	y.finished(instantiate)
	if n := server.count(t, "cluster.yml"); n != 1 {
		t.Errorf("cluster.yml was run %d times", n)
	}
	y.wantNodes(id, 1, 1)
	y.wantVIM(id)

	out := job
	out.Scale = &vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"}
	y.killed(out, "scale", time.Second)
	awaitFor(t, 2*time.Minute, "the playbook to end while nobody looks", func() bool { return !server.playing(t, "scale.yml") })
	y.finished(out)
	if n := server.count(t, "scale.yml"); n != 1 {
		t.Errorf("scale.yml was run %d times", n)
	}
	y.wantNodes(id, 1, 2)

	in := job
	in.Scale = &vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleIn, AspectID: "worker_instance"}
	y.killed(in, "remove-node", time.Second)
	y.finished(in)
	if n := server.count(t, "remove-node.yml"); n != 1 {
		t.Errorf("remove-node.yml was run %d times", n)
	}
	y.wantNodes(id, 1, 1)
}

// playing reports whether a playbook is being run whose command line has this in it.
func (s *ansibleServer) playing(t testing.TB, what string) bool {
	t.Helper()
	processes, err := s.machine.Processes()
	must(t, err)
	for _, line := range processes {
		if strings.Contains(line, "/usr/bin/ansible-playbook") && strings.Contains(line, what) {
			return true
		}
	}
	return false
}

// coreOnly leaves nothing on the server but ansible-core: no collections, and so no callback that writes JSON lines.
func (s *ansibleServer) coreOnly(t testing.TB) {
	t.Helper()
	_, err := s.machine.Exec(within(t, time.Minute), "rm", "-rf", "/usr/lib/python3/dist-packages/ansible_collections")
	must(t, err)
}
