package kubespray_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/mgmt/kubespray"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestPartitionedWorker checks that a worker that no longer answers, whose pods still run, keeps its Node object until its
// machine has been deleted, and that remove-node.yml does not run for it.
func TestPartitionedWorker(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		begin   func(l *lab, id, worker string) (string, error)
		workers int
	}{
		{"heal", func(l *lab, id, worker string) (string, error) {
			return l.Heal(l.t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{worker}})
		}, 2},
		{"scale in", func(l *lab, id, _ string) (string, error) {
			return l.Scale(l.t.Context(), id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleIn, AspectID: "worker_instance"})
		}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			id := l.Instantiated(sample, clustertest.Sized("simple", 1))
			l.RunStatefulSet(kubespray.VIMID(id), 2)
			workers := l.vnfcs(id, "workerNode")
			newest := workers[len(workers)-1]
			if err := l.World.Partition(newest.ComputeResource.ResourceID); err != nil {
				t.Fatal(err)
			}
			l.WantNodes(1, 2, 1)
			l.Must(c.begin(l, id, newest.ID))
			l.WantNodes(1, c.workers, 0)
			l.WantStatefulSet(kubespray.VIMID(id), 2)
			if slices.ContainsFunc(l.runs(), func(argv []string) bool { return strings.HasSuffix(argv[len(argv)-1], "remove-node.yml") }) {
				t.Error("remove-node.yml has run")
			}
		})
	}
}
