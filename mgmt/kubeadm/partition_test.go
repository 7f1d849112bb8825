package kubeadm_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestPartitionedWorker: the pods of a worker that no longer answers still run. Kubernetes starts replacements as soon as
// the Node object is deleted, so the machine must be removed first.
func TestPartitionedWorker(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		begin   func(l *lab, id string) (string, error)
		workers int
	}{
		{"heal", func(l *lab, id string) (string, error) {
			return l.Heal(l.t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: l.vnfcs(id, "workerNode-1")})
		}, 2},
		{"scale in", func(l *lab, id string) (string, error) {
			return l.Scale(l.t.Context(), id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleIn, AspectID: "worker_instance"})
		}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			id := l.Instantiated("instantiate_sandbox.json", clustertest.Sized("simple", 1))
			l.RunStatefulSet(kubeadm.VIMID(id), 2)
			if err := l.World.Partition("workerNode-1"); err != nil {
				t.Fatal(err)
			}
			l.want(1, 2, 1)
			l.Must(c.begin(l, id))
			l.want(1, c.workers, 0)
			l.WantStatefulSet(kubeadm.VIMID(id), 2)
		})
	}
}

// stopper is a sandbox whose infrastructure driver can stop machines.
type stopper struct {
	*sandbox.World
	fault error

	mu      sync.Mutex
	stopped []string // names of machines
}

func (s *stopper) StopMachine(_ context.Context, _ *vnflcm.Operation, v vnflcm.VNFC) error {
	s.mu.Lock()
	s.stopped = append(s.stopped, v.Name)
	s.mu.Unlock()
	if s.fault != nil {
		return s.fault
	}
	return s.Stop(v.ResourceID)
}

// TestHealStopsMachines checks that machines of nodes that are not Ready are stopped before the infrastructure driver
// removes them, and that the heal continues if the VIM cannot stop a machine. Volumes of a machine that is off are not waited for.
func TestHealStopsMachines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		fault error
		warns bool
	}{
		{"stopped", nil, false},
		{"refused", errors.New("the compute host does not answer"), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := openLab(t, shortDetach)
			id := l.Instantiated("instantiate_sandbox.json", clustertest.Sized("complex", 1))
			l.RunStatefulSet(kubeadm.VIMID(id), 2)
			l.attach(id, "workerNode-1")
			heal := l.vnfcs(id, "masterNode-1", "workerNode-0", "workerNode-1")
			l.stop("masterNode-1")
			if err := l.World.Partition("workerNode-1"); err != nil {
				t.Fatal(err)
			}
			s := &stopper{World: l.World, fault: c.fault}
			m := l.Process(func(cfg *vnflcm.Config) { cfg.Infra = map[string]vnflcm.InfraDriver{"sandbox": s} })
			opID, err := m.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: heal})
			l.Must(opID, err, m)
			l.want(3, 2, 0)
			l.WantStatefulSet(kubeadm.VIMID(id), 2)
			slices.Sort(s.stopped)
			if diff := cmp.Diff([]string{"masterNode-1", "workerNode-1"}, s.stopped); diff != "" {
				t.Errorf("stopped:\n%s", diff)
			}
			for _, text := range []string{"could not be stopped", "removed while volumes are attached"} {
				if warned := strings.Contains(l.Log(), text); warned != c.warns {
					t.Errorf("a warning that a machine %s: %v", text, warned)
				}
			}
		})
	}
}
