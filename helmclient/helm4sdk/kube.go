package helm4sdk

import (
	"context"
	"errors"
	"fmt"
	"time"

	"helm.sh/helm/v4/pkg/kube"
	releasev1 "helm.sh/helm/v4/pkg/release/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/vnfkit/vnfkit/helmclient/internal/inprocess"
	"github.com/vnfkit/vnfkit/helmclient/readiness"
)

// kubeClient wraps Helm's client. Its waits end with the context of the call and report the objects they wait for. It
// stores errors, because Helm's actions keep only the text of some.
type kubeClient struct {
	*kube.Client

	call       *inprocess.Call
	postRender *postRender
}

// result is not nil: Helm reads the result of a failed call, too.
func result(r *kube.Result) *kube.Result {
	if r == nil {
		return &kube.Result{}
	}
	return r
}

func (c *kubeClient) Create(list kube.ResourceList, options ...kube.ClientCreateOption) (r *kube.Result, err error) {
	err = inprocess.Recovered(func() (err error) {
		r, err = c.Client.Create(list, options...)
		return err
	})
	return result(r), c.call.Report(err)
}

func (c *kubeClient) Update(original, target kube.ResourceList, options ...kube.ClientUpdateOption) (r *kube.Result, err error) {
	err = inprocess.Recovered(func() (err error) {
		r, err = c.Client.Update(original, target, options...)
		return err
	})
	return result(r), c.call.Report(err)
}

func (c *kubeClient) Delete(list kube.ResourceList, policy metav1.DeletionPropagation) (r *kube.Result, errs []error) {
	err := inprocess.Recovered(func() error {
		r, errs = c.Client.Delete(list, policy)
		return nil
	})
	if err != nil {
		errs = append(errs, err)
	}
	_ = c.call.Report(errors.Join(errs...))
	return result(r), errs
}

func (c *kubeClient) GetWaiter(s kube.WaitStrategy) (kube.Waiter, error) {
	return c.GetWaiterWithOptions(s)
}

func (c *kubeClient) GetWaiterWithOptions(s kube.WaitStrategy, _ ...kube.WaitOption) (kube.Waiter, error) {
	return &waiter{call: c.call, onlyHooks: s == kube.HookOnlyStrategy}, nil
}

// waiter implements kube.Waiter.
type waiter struct {
	call      *inprocess.Call
	onlyHooks bool
}

func (w *waiter) Wait(list kube.ResourceList, limit time.Duration) error {
	if w.onlyHooks {
		return nil
	}
	return w.call.AwaitReady(list, limit, w.isReady)
}

func (w *waiter) WaitWithJobs(list kube.ResourceList, limit time.Duration) error {
	if w.onlyHooks {
		return nil
	}
	return w.call.AwaitReady(list, limit, func(ctx context.Context, info *resource.Info) (bool, error) {
		if inprocess.IsJob(info) {
			return w.call.JobComplete(ctx, info)
		}
		return w.isReady(ctx, info)
	})
}

// isReady follows the rules of Helm's kube.StatusWatcherStrategy: those of kstatus, and a paused Deployment counts as
// ready.
func (w *waiter) isReady(ctx context.Context, info *resource.Info) (bool, error) {
	o, err := w.call.Dynamic.Resource(info.Mapping.Resource).Namespace(info.Namespace).Get(ctx, info.Name, metav1.GetOptions{})
	if err != nil {
		return false, err
	}
	if paused, _, _ := unstructured.NestedBool(o.Object, "spec", "paused"); paused && o.GetKind() == "Deployment" {
		return true, nil
	}
	ready, reason := readiness.State(o)
	if readiness.Failed(o) {
		return false, fmt.Errorf("%s %s has failed: %s", o.GetKind(), o.GetName(), reason)
	}
	return ready, nil
}

// WaitForDelete always waits for hooks: a hook that ran before is deleted before it is created again, and Helm would
// mistake the old one for the new one.
func (w *waiter) WaitForDelete(list kube.ResourceList, limit time.Duration) error {
	if w.onlyHooks {
		list = list.Filter(isHook)
	}
	return w.call.AwaitDeleted(list, limit)
}

func isHook(info *resource.Info) bool {
	annotations, err := meta.NewAccessor().Annotations(info.Object)
	return err == nil && annotations[releasev1.HookAnnotation] != ""
}

func (w *waiter) WatchUntilReady(list kube.ResourceList, limit time.Duration) error {
	return w.call.AwaitHook(list, limit)
}
