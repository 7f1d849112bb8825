package helmsdk

import (
	"errors"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vnfkit/vnfkit/helmclient/internal/inprocess"
)

// kubeClient wraps Helm's client. Its waits end with the context of the call and report the objects they wait for. It
// stores errors, because Helm's actions keep only the text of some.
type kubeClient struct {
	*kube.Client

	call *inprocess.Call
}

// result is not nil: Helm reads the result of a failed call, too.
func result(r *kube.Result) *kube.Result {
	if r == nil {
		return &kube.Result{}
	}
	return r
}

func (c *kubeClient) Create(list kube.ResourceList) (r *kube.Result, err error) {
	err = inprocess.Recovered(func() (err error) {
		r, err = c.Client.Create(list)
		return err
	})
	return result(r), c.call.Report(err)
}

func (c *kubeClient) Update(original, target kube.ResourceList, force bool) (r *kube.Result, err error) {
	err = inprocess.Recovered(func() (err error) {
		r, err = c.Client.Update(original, target, force)
		return err
	})
	return result(r), c.call.Report(err)
}

func (c *kubeClient) Delete(list kube.ResourceList) (*kube.Result, []error) {
	return c.DeleteWithPropagationPolicy(list, metav1.DeletePropagationBackground)
}

func (c *kubeClient) DeleteWithPropagationPolicy(list kube.ResourceList, policy metav1.DeletionPropagation) (r *kube.Result, errs []error) {
	err := inprocess.Recovered(func() error {
		r, errs = c.Client.DeleteWithPropagationPolicy(list, policy)
		return nil
	})
	if err != nil {
		errs = append(errs, err)
	}
	_ = c.call.Report(errors.Join(errs...))
	return result(r), errs
}

func (c *kubeClient) Wait(list kube.ResourceList, limit time.Duration) error {
	return c.await(list, limit, false)
}

func (c *kubeClient) WaitWithJobs(list kube.ResourceList, limit time.Duration) error {
	return c.await(list, limit, true)
}

func (c *kubeClient) await(list kube.ResourceList, limit time.Duration, jobs bool) error {
	checker := kube.NewReadyChecker(c.call.Clients, c.Log, kube.PausedAsReady(true), kube.CheckJobs(jobs))
	return c.call.AwaitReady(list, limit, checker.IsReady)
}

func (c *kubeClient) WaitForDelete(list kube.ResourceList, limit time.Duration) error {
	return c.call.AwaitDeleted(list, limit)
}

func (c *kubeClient) WatchUntilReady(list kube.ResourceList, limit time.Duration) error {
	return c.call.AwaitHook(list, limit)
}
