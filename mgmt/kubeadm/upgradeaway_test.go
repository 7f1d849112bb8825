package kubeadm_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// unready is how often the API server is asked whether it is ready before it is.
const unready = 4

// TestUpgradeOfOnlyAPIServer: the upgrade of the only control-plane node restarts the API server, also while an operation is resumed or a task
// begins. The operation waits until the API answers.
func TestUpgradeOfOnlyAPIServer(t *testing.T) {
	t.Parallel()
	t.Run("resumed", func(t *testing.T) {
		t.Parallel()
		l := openLab(t, setup{})
		id := l.Instantiated("instantiate_sandbox.json", clustertest.Sized("simple", 1), oldVersion(t))
		opID := l.stopped(id, "node-1.36.3", "masterNode-0")
		asked := l.away()
		l.Must(opID, l.Retry(t.Context(), opID))
		l.wantAsked(asked)
	})
	for _, step := range []string{"check-versions", "check-cluster", "cordon-1.36.3", "drain-1.36.3", "kubelet-1.36.3", "node-1.36.3", "uncordon-1.36.3"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			l := openLab(t, setup{})
			id := l.Instantiated("instantiate_sandbox.json", clustertest.Sized("simple", 1), oldVersion(t))
			var asked *atomic.Int32
			m := l.Process(func(c *vnflcm.Config) {
				c.Intercept = func(ctx context.Context, s vnflcm.StepInfo, do func(context.Context) error) error {
					if s.Name == step && (s.On == "" || l.NameOf(s.On) == "masterNode-0") {
						asked = l.away()
					}
					return do(ctx)
				}
			})
			opID, err := m.Maintain(t.Context(), id, upgrading(t, toNext))
			l.Must(opID, err, m)
			l.wantAsked(asked)
		})
	}
}

// away takes etcd away from the API server of the first control-plane node, until clients have asked several times whether it is ready.
func (l *lab) away() (asked *atomic.Int32) {
	l.t.Helper()
	const manifest, kept = kubernetesDir + "manifests/etcd.yaml", kubernetesDir + "etcd.yaml"
	files := l.host("masterNode-0").FS()
	if err := files.Rename(manifest, kept); err != nil {
		l.t.Error(err)
	}
	asked = &atomic.Int32{}
	l.World.OnRequest(func(_, _, path string) {
		if path != "/readyz" || asked.Add(1) != unready {
			return
		}
		if err := files.Rename(kept, manifest); err != nil {
			l.t.Error(err)
		}
	})
	return asked
}

// wantAsked checks that the upgrade has ended, and that the API server was not ready at first.
func (l *lab) wantAsked(asked *atomic.Int32) {
	l.t.Helper()
	if asked == nil || asked.Load() < unready {
		l.t.Error("the API server was not away")
	}
	l.wantVersions(all(1, 2, "1.36.3", "3.6.8"))
}
