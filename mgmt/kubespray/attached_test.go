package kubespray_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/mgmt/cluster"
	"github.com/vnfkit/vnfkit/mgmt/kubespray"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestDrainContinues: pods that a disruption budget keeps do not stop a scale-in with drain_policy Continue, in remove-node.yml either.
func TestDrainContinues(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{driver: kubespray.Config{Timeouts: kubespray.Timeouts{Drain: 2 * time.Second}}})
	id := l.Instantiated(sample, clustertest.Sized("simple", 1))
	access, _ := l.Entry(kubespray.VIMID(id))
	code, body, err := l.Ask(access, http.MethodPost, "/apis/policy/v1/namespaces/default/poddisruptionbudgets", `{"apiVersion": "policy/v1",
		"kind": "PodDisruptionBudget", "metadata": {"name": "all"}, "spec": {"minAvailable": 2, "selector": {"matchLabels": {"app": "workload"}}}}`)
	if code != http.StatusCreated || err != nil {
		t.Fatalf("%d %s %v", code, body, err)
	}
	l.Must(l.Scale(t.Context(), id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleIn, AspectID: "worker_instance", AdditionalParams: params(t, `{"drain_policy": "Continue"}`)}))
	l.WantNodes(1, 1, 0)
}

// TestAttachedVolumes: a scale-in stops while a volume is attached to the node that leaves, unless drain_policy is Continue. A heal
// continues with a warning.
func TestAttachedVolumes(t *testing.T) {
	t.Parallel()
	scaleIn := func(policy string) func(*lab, string) (string, error) {
		return func(l *lab, id string) (string, error) {
			return l.Scale(t.Context(), id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleIn, AspectID: "worker_instance", AdditionalParams: params(t, `{"drain_policy": "`+policy+`"}`)})
		}
	}
	for name, c := range map[string]struct {
		begin func(*lab, string) (string, error)
		stops bool
	}{
		"scale-in":                {scaleIn("Fail"), true},
		"scale-in that continues": {scaleIn("Continue"), false},
		"heal": {func(l *lab, id string) (string, error) {
			return l.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{l.vnfcs(id, "workerNode")[1].ID}})
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := openLab(t, setup{driver: kubespray.Config{Timeouts: kubespray.Timeouts{Detach: 2 * time.Second}}})
			id := l.Instantiated(sample, clustertest.Sized("simple", 1))
			access, _ := l.Entry(kubespray.VIMID(id))
			for _, n := range l.World.Nodes() {
				code, body, err := l.Ask(access, http.MethodPost, "/apis/storage.k8s.io/v1/volumeattachments", `{"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment",
					"metadata": {"name": "`+n.Name+`"}, "spec": {"attacher": "d", "nodeName": "`+n.Name+`", "source": {"persistentVolumeName": "pv"}}}`)
				if code != http.StatusCreated || err != nil {
					t.Fatalf("%d %s %v", code, body, err)
				}
			}
			op, err := c.begin(l, id)
			if c.stops {
				if err := l.Fails(op, err); !errors.Is(err, cluster.ErrAttached) {
					t.Errorf("%v", err)
				}
				l.WantNodes(1, 2, 1) // it stays cordoned
				return
			}
			l.Must(op, err)
			if !strings.Contains(l.Log(), "removed while volumes are attached") {
				t.Errorf("no warning:\n%s", l.Log())
			}
		})
	}
}
