package helmsdk

import (
	"context"
	"errors"
	"fmt"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/kubernetes"

	"github.com/vnfkit/vnfkit/helmclient"
)

// kubeClient is Helm's, with waits that end with the context of the call and tell what they wait for, and with errors
// that are kept: Helm's actions turn some into text.
type kubeClient struct {
	*kube.Client

	call    *call
	clients kubernetes.Interface
}

// How often is looked whether objects are ready: Helm's own interval for a release, and a shorter one for hooks, of
// which there may be many in a row.
const (
	readyInterval = 2 * time.Second
	hookInterval  = 500 * time.Millisecond
)

func (c *kubeClient) Create(list kube.ResourceList) (*kube.Result, error) {
	r, err := c.Client.Create(list)
	return r, c.call.report(err)
}

func (c *kubeClient) Update(original, target kube.ResourceList, force bool) (*kube.Result, error) {
	r, err := c.Client.Update(original, target, force)
	return r, c.call.report(err)
}

func (c *kubeClient) Delete(list kube.ResourceList) (*kube.Result, []error) {
	r, errs := c.Client.Delete(list)
	_ = c.call.report(errors.Join(errs...))
	return r, errs
}

func (c *kubeClient) DeleteWithPropagationPolicy(list kube.ResourceList, policy metav1.DeletionPropagation) (*kube.Result, []error) {
	r, errs := c.Client.DeleteWithPropagationPolicy(list, policy)
	_ = c.call.report(errors.Join(errs...))
	return r, errs
}

func (c *kubeClient) Wait(list kube.ResourceList, limit time.Duration) error {
	return c.await(list, limit, false)
}

func (c *kubeClient) WaitWithJobs(list kube.ResourceList, limit time.Duration) error {
	return c.await(list, limit, true)
}

// await waits until all are ready by Helm's rules (kube.ReadyChecker). An API server that does not answer is waited
// for too: it may be restarted meanwhile.
func (c *kubeClient) await(list kube.ResourceList, limit time.Duration, jobs bool) error {
	checker := kube.NewReadyChecker(c.clients, c.Log, kube.PausedAsReady(true), kube.CheckJobs(jobs))
	var last *resource.Info
	var why error
	err := c.poll(limit, readyInterval, func(ctx context.Context) (bool, error) {
		for _, info := range list {
			ready, err := checker.IsReady(ctx, info)
			if ready && err == nil {
				continue
			}
			last, why = info, err
			if c.call.progress != nil && ctx.Err() == nil {
				c.call.progress(c.observe(ctx, list))
			}
			return false, final(err)
		}
		return true, nil
	})
	if err == nil {
		if c.call.progress != nil {
			c.call.progress(helmclient.Progress{Ready: len(list), Total: len(list)})
		}
		return nil
	}
	return c.notReady(list, last, why, err, limit)
}

// final returns errors that waiting longer does not help: the API server has answered, and it is no trouble of its own.
func final(err error) error {
	var status apierrors.APIStatus
	if err == nil || !errors.As(err, &status) && transient(err) {
		return nil
	}
	if errors.As(err, &status) && (status.Status().Code == 0 || transient(err)) {
		return nil
	}
	return err
}

// poll asks until it is so, the time is over (errTime), or the call has been ended.
func (c *kubeClient) poll(limit, interval time.Duration, done wait.ConditionWithContextFunc) error {
	until := c.call.waits()
	ctx, cancel := context.WithTimeoutCause(until, limit, errTime)
	defer cancel()
	err := wait.PollUntilContextCancel(ctx, interval, true, done)
	switch {
	case err == nil:
		return nil
	case until.Err() != nil:
		return c.call.broken(context.Cause(until))
	case ctx.Err() != nil:
		return errTime
	}
	return err
}

var errTime = errors.New("the time for it is over")

// notReady is the error of a wait: what is not ready, and why. The cluster is asked for it once more, also when the
// deadline of ctx has come; whoever cancels does not want to know.
func (c *kubeClient) notReady(list kube.ResourceList, last *resource.Info, why, err error, after time.Duration) error {
	if ended := c.call.ctx.Err(); ended != nil && !errors.Is(ended, context.DeadlineExceeded) && !errors.Is(err, errTime) {
		return c.call.report(err)
	}
	ctx, cancel := context.WithTimeout(context.WithValue(c.call.grace, lastLook{}, true), recordGrace)
	defer cancel()
	out := &helmclient.NotReadyError{Release: c.call.name, After: after, Objects: c.observe(ctx, list).Waiting}
	if len(out.Objects) == 0 && last != nil {
		out.Objects = []helmclient.Object{object(last, "is not ready by Helm's rules")}
	}
	for i := range out.Objects {
		if last != nil && why != nil && out.Objects[i].Name == last.Name && out.Objects[i].Kind == last.Mapping.GroupVersionKind.Kind {
			out.Objects[i].Reason += ": " + why.Error()
		}
	}
	if errors.Is(err, errTime) {
		return c.call.report(out)
	}
	return c.call.report(fmt.Errorf("%w: %w", out, err))
}

// WaitForDelete waits until none exists any more.
func (c *kubeClient) WaitForDelete(list kube.ResourceList, limit time.Duration) error {
	var left kube.ResourceList
	err := c.poll(limit, readyInterval, func(context.Context) (bool, error) {
		left = nil
		for _, info := range list {
			if err := info.Get(); !apierrors.IsNotFound(err) {
				left = append(left, info)
				if final(err) != nil {
					return false, err
				}
			}
		}
		if c.call.progress != nil {
			p := helmclient.Progress{Ready: len(list) - len(left), Total: len(list)}
			for _, info := range left {
				p.Waiting = append(p.Waiting, object(info, "still exists"))
			}
			c.call.progress(p)
		}
		return len(left) == 0, nil
	})
	if err == nil || !errors.Is(err, errTime) && !errors.Is(err, context.DeadlineExceeded) {
		return c.call.report(err)
	}
	out := &helmclient.NotReadyError{Release: c.call.name, After: limit}
	for _, info := range left {
		out.Objects = append(out.Objects, object(info, "still exists"))
	}
	return c.call.report(out)
}

// WatchUntilReady waits for the Jobs and Pods among the objects of a hook to succeed, as Helm does.
func (c *kubeClient) WatchUntilReady(list kube.ResourceList, limit time.Duration) error {
	for _, info := range list {
		kind := info.Mapping.GroupVersionKind.GroupKind().String()
		if kind != "Job.batch" && kind != "Pod" {
			continue
		}
		var why error
		err := c.poll(limit, hookInterval, func(ctx context.Context) (bool, error) {
			var done bool
			var err error
			if kind == "Pod" {
				done, err = c.podSucceeded(ctx, info)
			} else {
				done, err = c.jobComplete(ctx, info)
			}
			why = err
			return done, final(err)
		})
		if err != nil {
			return c.notReady(kube.ResourceList{info}, info, why, err, limit)
		}
	}
	return nil
}

func (c *kubeClient) jobComplete(ctx context.Context, info *resource.Info) (bool, error) {
	job, err := c.clients.BatchV1().Jobs(info.Namespace).Get(ctx, info.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return true, nil // it deletes itself when it is done (ttlSecondsAfterFinished)
	}
	if err != nil {
		return false, err
	}
	for _, condition := range job.Status.Conditions {
		switch {
		case condition.Status != corev1.ConditionTrue:
		case condition.Type == batchv1.JobComplete:
			return true, nil
		case condition.Type == batchv1.JobFailed:
			return false, fmt.Errorf("job %s has failed: %s: %s", info.Name, condition.Reason, condition.Message)
		}
	}
	return false, nil
}

func (c *kubeClient) podSucceeded(ctx context.Context, info *resource.Info) (bool, error) {
	pod, err := c.clients.CoreV1().Pods(info.Namespace).Get(ctx, info.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	if pod.Status.Phase == corev1.PodFailed {
		return false, fmt.Errorf("pod %s has failed: %s %s", info.Name, pod.Status.Reason, pod.Status.Message)
	}
	return pod.Status.Phase == corev1.PodSucceeded, nil
}
