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

func (c *kubeClient) Create(list kube.ResourceList) (*kube.Result, error) {
	r, err := c.Client.Create(list)
	return r, c.call.Report(err)
}

func (c *kubeClient) Update(original, target kube.ResourceList, force bool) (*kube.Result, error) {
	r, err := c.Client.Update(original, target, force)
	return r, c.call.Report(err)
}

func (c *kubeClient) Delete(list kube.ResourceList) (*kube.Result, []error) {
	r, errs := c.Client.Delete(list)
	_ = c.call.Report(errors.Join(errs...))
	return r, errs
}

func (c *kubeClient) DeleteWithPropagationPolicy(list kube.ResourceList, policy metav1.DeletionPropagation) (*kube.Result, []error) {
	r, errs := c.Client.DeleteWithPropagationPolicy(list, policy)
	_ = c.call.Report(errors.Join(errs...))
	return r, errs
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
