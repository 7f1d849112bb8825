package kubernetes_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// busy is a Helm of which another one is at work on each release for the first calls.
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
	l.Manager = l.start(busyFor(1<<60, 300*time.Millisecond))
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
		for _, s := range l.said {
			if s == text {
				n++
			}
		}
		return n
	}
	hold(`["example.com/hold"]`)
	op, err := l.Terminate(t.Context(), l.id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateGraceful, GracefulTerminationTimeout: 60})
	for deadline := time.Now().Add(20 * time.Second); count("1 pods are still there") < 3; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the pod is not waited for")
		}
	}
	hold(`[]`)
	l.must(op, err)
}
