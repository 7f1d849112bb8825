package kubeadm_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/mgmt/cluster"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// shortDrain gives pods little time, but enough for a busy machine to delete one.
var shortDrain = setup{driver: kubeadm.Config{Timeouts: kubeadm.Timeouts{Drain: 2 * time.Second}}}

// guarded creates a cluster of two workers with a disruption budget that lets no pod be evicted.
func (l *lab) guarded() (id string) {
	l.t.Helper()
	id = l.Instantiated("instantiate_sandbox.json", clustertest.Sized("simple", 1))
	access, _ := l.Entry(kubeadm.VIMID(id))
	code, body, err := l.Ask(access, http.MethodPost, "/apis/policy/v1/namespaces/default/poddisruptionbudgets", `{"apiVersion": "policy/v1",
		"kind": "PodDisruptionBudget", "metadata": {"name": "all"}, "spec": {"minAvailable": 2, "selector": {"matchLabels": {"app": "workload"}}}}`)
	if code != http.StatusCreated || err != nil {
		l.t.Fatalf("%d %s %v", code, body, err)
	}
	return id
}

// TestDrainPolicy: a disruption budget forbids a scale-in. drain_policy of the request decides what happens.
func TestDrainPolicy(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"", "Fail", "Delete", "Continue"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			l := openLab(t, shortDrain)
			id := l.guarded()
			request := vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleIn, AspectID: "worker_instance"}
			if policy != "" {
				request.AdditionalParams = params(t, `{"drain_policy": "`+policy+`"}`)
			}
			op, err := l.Scale(t.Context(), id, request)
			if policy == "Delete" || policy == "Continue" {
				l.Must(op, err)
				l.want(1, 1, 0)
				return
			}
			if err := l.Fails(op, err); !strings.Contains(err.Error(), "disruption budget all needs 2 healthy pods") {
				t.Errorf("%v", err)
			}
		})
	}
}

// attach attaches a volume to the node on a machine. Nothing detaches the volume.
func (l *lab) attach(id, machine string) {
	l.t.Helper()
	for _, n := range l.World.Nodes() {
		if l.World.Host(n.Machine).Name() != machine {
			continue
		}
		access, _ := l.Entry(kubeadm.VIMID(id))
		code, body, err := l.Ask(access, http.MethodPost, "/apis/storage.k8s.io/v1/volumeattachments", `{"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment",
			"metadata": {"name": "csi-`+n.Name+`"}, "spec": {"attacher": "d", "nodeName": "`+n.Name+`", "source": {"persistentVolumeName": "pv-`+n.Name+`"}}}`)
		if code != http.StatusCreated || err != nil {
			l.t.Fatalf("%d %s %v", code, body, err)
		}
		return
	}
	l.t.Fatalf("no node on %s", machine)
}

// shortDetach gives volumes little time.
var shortDetach = setup{driver: kubeadm.Config{Timeouts: kubeadm.Timeouts{Detach: 2 * time.Second}}}

// TestAttachedVolumes: a scale-in stops while a volume is attached to the node that leaves, unless drain_policy is Continue, and
// continues after the volume is detached. A heal continues with a warning.
func TestAttachedVolumes(t *testing.T) {
	t.Parallel()
	scaleIn := func(policy string) func(*lab, string) (string, error) {
		return func(l *lab, id string) (string, error) {
			return l.Scale(t.Context(), id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleIn, AspectID: "worker_instance", AdditionalParams: params(t, `{"drain_policy": "`+policy+`"}`)})
		}
	}
	heal := func(machine string) func(*lab, string) (string, error) {
		return func(l *lab, id string) (string, error) {
			return l.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: l.vnfcs(id, machine)})
		}
	}
	for _, c := range []struct {
		name    string
		machine string
		begin   func(*lab, string) (string, error)
		stops   bool
	}{
		{"scale-in", "workerNode-1", scaleIn("Fail"), true},
		{"scale-in that deletes pods", "workerNode-1", scaleIn("Delete"), true},
		{"scale-in that continues", "workerNode-1", scaleIn("Continue"), false},
		{"heal of a worker", "workerNode-0", heal("workerNode-0"), false},
		{"heal of a control-plane node", "masterNode-1", heal("masterNode-1"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := openLab(t, shortDetach)
			id := l.Instantiated("instantiate_sandbox.json", clustertest.Sized("complex", 1))
			l.attach(id, c.machine)
			op, err := c.begin(l, id)
			if !c.stops {
				l.Must(op, err)
				if log := l.Log(); !strings.Contains(log, "removed while volumes are attached") || !strings.Contains(log, "pv-") {
					t.Errorf("no warning names the volume:\n%s", log)
				}
				return
			}
			if err := l.Fails(op, err); !errors.Is(err, cluster.ErrAttached) || !strings.Contains(err.Error(), "(VolumeAttachment csi-worker-") || !strings.Contains(err.Error(), "drain_policy") {
				t.Errorf("%v", err)
			}
			l.want(3, 2, 1) // it stays cordoned
			l.detachAll(id)
			l.Must(op, l.Retry(t.Context(), op))
			l.want(3, 1, 0)
		})
	}
}

// detachAll removes every VolumeAttachment.
func (l *lab) detachAll(id string) {
	l.t.Helper()
	access, _ := l.Entry(kubeadm.VIMID(id))
	if code, body, err := l.Ask(access, http.MethodDelete, "/apis/storage.k8s.io/v1/volumeattachments", ""); code != http.StatusOK || err != nil {
		l.t.Fatalf("%d %s %v", code, body, err)
	}
}

// TestGracefulTermination checks that pods get exactly the time to end that the request allows.
func TestGracefulTermination(t *testing.T) {
	t.Parallel()
	l := openLab(t, shortDrain)
	id := l.guarded()
	l.Must(l.Terminate(t.Context(), id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateGraceful, GracefulTerminationTimeout: 3}))
	l.want(0, 0, 0)
	if log := l.Log(); strings.Count(log, "not every pod could be moved") != 2 {
		t.Errorf("two workers keep a pod each:\n%s", log)
	}
}
