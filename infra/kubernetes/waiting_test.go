package kubernetes_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// busy is a Helm client whose first calls for each release find another operation in progress.
type busy struct {
	helmclient.Client
	calls *atomic.Int64
	until int64
}

func (b busy) Uninstall(ctx context.Context, r helmclient.Uninstall) error {
	if b.calls.Add(1) <= b.until {
		return helmclient.ErrBusy
	}
	return b.Client.Uninstall(ctx, r)
}

func TestReleaseIsTakenUp(t *testing.T) {
	t.Parallel()
	l := newLab(t, kubernetes.VimTypeV1)
	l.instantiate("simple", twoReleases)
	var calls atomic.Int64
	busyFor := func(n int64, stale time.Duration) func(*kubernetes.Config) {
		return func(c *kubernetes.Config) {
			inner := c.Helm
			c.StaleAfter = stale
			c.Helm = func(cluster *rest.Config, dir string) (helmclient.Client, error) {
				client, err := inner(cluster, dir)
				return busy{client, &calls, n}, err
			}
		}
	}
	l.Manager = l.start(busyFor(1<<60, time.Second))
	request := vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}
	op, err := l.Terminate(t.Context(), l.id, request)
	if err := l.fails(op, err); !errors.Is(err, helmclient.ErrBusy) {
		t.Error(err)
	}
	if n := calls.Load(); n < 2 {
		t.Errorf("%d calls while another Helm was at work", n)
	}
	l.Manager = l.start(busyFor(calls.Load()+3, time.Minute))
	l.must(op, l.Retry(t.Context(), op))
	if left := l.objects("shop", workloads...); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// installing is a Helm that tells which release it installs next.
type installing struct {
	helmclient.Client
	next func(release string)
}

func (i installing) Install(ctx context.Context, r helmclient.Install) (*helmclient.Release, error) {
	i.next(r.Release)
	return i.Client.Install(ctx, r)
}

// TestReleaseWaits installs the release after one with helmwait when all objects of that one are ready, and not before.
func TestReleaseWaits(t *testing.T) {
	t.Parallel()
	waiting := strings.Replace(twoReleases, `"helmreleasename": "w1",`, `"helmreleasename": "w1", "helmwait": "true",`, 1)
	for _, c := range []struct {
		name, params string
		limit        time.Duration
		installed    []string
		fails        bool
	}{
		{"ready", waiting, time.Minute, []string{"w1", "d1"}, false},
		{"never ready", strings.Replace(waiting, `"greeting=a`, `"nodeSelector.never=ready", "greeting=a`, 1), 2 * time.Second, []string{"w1"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, kubernetes.VimTypeV1)
			var installed []string
			l.Manager = l.start(func(cfg *kubernetes.Config) {
				inner := cfg.Helm
				cfg.Ready = c.limit
				cfg.Helm = func(cluster *rest.Config, dir string) (helmclient.Client, error) {
					client, err := inner(cluster, dir)
					return installing{client, func(release string) {
						installed = append(installed, release)
						if release == "d1" {
							status, _ := l.get("shop", "deployments", "web-w1").Object["status"].(map[string]any)
							if status["readyReplicas"] != int64(1) {
								t.Errorf("the database is installed beside %v", status)
							}
						}
					}}, err
				}
			})
			op, err := l.Instantiate(t.Context(), l.id, l.request("simple", c.params))
			if c.fails {
				if err := l.fails(op, err); !errors.Is(err, helmclient.ErrNotReady) || !strings.Contains(err.Error(), "release w1: ") {
					t.Error(err)
				}
				// What is not ready stays for a retry or a look, and is removed by the rollback.
				if diff := cmp.Diff([]string{"deployments/web-w1"}, l.objects("shop", "deployments", "statefulsets")); diff != "" {
					t.Error(diff)
				}
				l.rollback(op)
				if left := l.objects("shop", "deployments", "statefulsets"); len(left) > 0 {
					t.Errorf("left behind: %v", left)
				}
			} else {
				l.must(op, err)
			}
			if diff := cmp.Diff(c.installed, installed); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// upgrading is a Helm that records how many revisions upgrades keep.
type upgrading struct {
	helmclient.Client
	kept *[]int
}

func (u upgrading) Upgrade(ctx context.Context, r helmclient.Upgrade) (*helmclient.Release, error) {
	if !r.DryRun {
		*u.kept = append(*u.kept, r.MaxHistory)
	}
	return u.Client.Upgrade(ctx, r)
}

// TestHistoryIsBounded: each revision of a release is a Secret in etcd.
func TestHistoryIsBounded(t *testing.T) {
	t.Parallel()
	l := newLab(t, kubernetes.VimTypeV1)
	l.instantiate("simple", twoReleases)
	var kept []int
	l.Manager = l.start(func(cfg *kubernetes.Config) {
		inner := cfg.Helm
		cfg.Helm = func(cluster *rest.Config, dir string) (helmclient.Client, error) {
			client, err := inner(cluster, dir)
			return upgrading{client, &kept}, err
		}
	})
	l.must(l.Scale(t.Context(), l.id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "webs"}))
	l.must(l.Scale(t.Context(), l.id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleIn, AspectID: "webs"}))
	if diff := cmp.Diff([]int{10, 10}, kept); diff != "" {
		t.Error(diff)
	}
}

func TestPodsAreWaitedFor(t *testing.T) {
	t.Parallel()
	l := newLab(t, kubernetes.VimTypeV1)
	l.instantiate("simple", twoReleases)
	hold := func(finalizers string) {
		t.Helper()
		_, err := l.dynamic.Resource(resources["pods"]).Namespace("shop").Patch(t.Context(), "db-d1-0", types.MergePatchType,
			[]byte(`{"metadata": {"finalizers": `+finalizers+`}}`), metav1.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	count := func(text string) (n int) {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, e := range l.said {
			if e.Message == text {
				n++
			}
		}
		return n
	}
	hold(`["example.com/hold"]`)
	op, err := l.Terminate(t.Context(), l.id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateGraceful, GracefulTerminationTimeout: 60})
	for deadline := time.Now().Add(time.Minute); count("1 pods are still there") < 3; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the pod is not waited for")
		}
	}
	hold(`[]`)
	l.must(op, err)
}
