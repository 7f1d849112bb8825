package inprocess

import (
	"context"
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/vnfkit/vnfkit/helmclient"
)

// How often is looked whether objects are ready: Helm's own interval for a release, and a shorter one for hooks, of
// which there may be many in a row.
const (
	readyInterval = 2 * time.Second
	hookInterval  = 500 * time.Millisecond
)

// AwaitReady waits until all objects are ready by the rules of a version of Helm. An API server that does not answer is
// waited for too: it may be restarted meanwhile.
func (k *Call) AwaitReady(list []*resource.Info, limit time.Duration, isReady func(context.Context, *resource.Info) (bool, error)) error {
	var last *resource.Info
	var why error
	err := k.poll(limit, readyInterval, func(ctx context.Context) (bool, error) {
		for _, info := range list {
			ready, err := isReady(ctx, info)
			if ready && err == nil {
				continue
			}
			last, why = info, err
			if k.progress != nil && ctx.Err() == nil {
				k.progress(k.observe(ctx, list))
			}
			return false, final(err)
		}
		return true, nil
	})
	if err == nil {
		if k.progress != nil {
			k.progress(helmclient.Progress{Ready: len(list), Total: len(list)})
		}
		return nil
	}
	return k.notReady(list, last, why, err, limit)
}

// final returns err if waiting longer cannot help: the API server answered, and the error is not an internal one.
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
func (k *Call) poll(limit, interval time.Duration, done wait.ConditionWithContextFunc) error {
	until := k.waits()
	ctx, cancel := context.WithTimeoutCause(until, limit, errTime)
	defer cancel()
	err := wait.PollUntilContextCancel(ctx, interval, true, done)
	switch {
	case err == nil:
		return nil
	case until.Err() != nil:
		return k.broken(context.Cause(until))
	case ctx.Err() != nil:
		return errTime
	}
	return err
}

var errTime = errors.New("the time for it is over")

// notReady returns the error of a wait: the objects that are not ready, and the reasons. It asks the cluster once more,
// also after the deadline of ctx, but not if the caller cancelled ctx.
func (k *Call) notReady(list []*resource.Info, last *resource.Info, why, err error, after time.Duration) error {
	if ended := k.ctx.Err(); ended != nil && !errors.Is(ended, context.DeadlineExceeded) && !errors.Is(err, errTime) {
		return k.Report(err)
	}
	ctx, cancel := context.WithTimeout(context.WithValue(k.grace, lastLook{}, true), recordGrace)
	defer cancel()
	out := &helmclient.NotReadyError{Release: k.Name, After: after, Objects: k.observe(ctx, list).Waiting}
	if len(out.Objects) == 0 && last != nil {
		out.Objects = []helmclient.Object{object(last, "is not ready by Helm's rules")}
	}
	for i := range out.Objects {
		if last != nil && why != nil && out.Objects[i].Name == last.Name && out.Objects[i].Kind == last.Mapping.GroupVersionKind.Kind {
			out.Objects[i].Reason += ": " + why.Error()
		}
	}
	if errors.Is(err, errTime) {
		return k.Report(out)
	}
	return k.Report(fmt.Errorf("%w: %w", out, err))
}

// AwaitDeleted waits until all of the objects are deleted.
func (k *Call) AwaitDeleted(list []*resource.Info, limit time.Duration) error {
	var left []*resource.Info
	err := k.poll(limit, readyInterval, func(context.Context) (bool, error) {
		left = nil
		for _, info := range list {
			if err := info.Get(); !apierrors.IsNotFound(err) {
				left = append(left, info)
				if final(err) != nil {
					return false, err
				}
			}
		}
		if k.progress != nil {
			p := helmclient.Progress{Ready: len(list) - len(left), Total: len(list)}
			for _, info := range left {
				p.Waiting = append(p.Waiting, object(info, "still exists"))
			}
			k.progress(p)
		}
		return len(left) == 0, nil
	})
	if err == nil || !errors.Is(err, errTime) && !errors.Is(err, context.DeadlineExceeded) {
		return k.Report(err)
	}
	out := &helmclient.NotReadyError{Release: k.Name, After: limit}
	for _, info := range left {
		out.Objects = append(out.Objects, object(info, "still exists"))
	}
	return k.Report(out)
}

// AwaitHook waits for the Jobs and Pods among the objects of a hook to succeed, as Helm does.
func (k *Call) AwaitHook(list []*resource.Info, limit time.Duration) error {
	for _, info := range list {
		isPod := info.Mapping.GroupVersionKind.GroupKind().String() == "Pod"
		if !isPod && !IsJob(info) {
			continue
		}
		var why error
		err := k.poll(limit, hookInterval, func(ctx context.Context) (bool, error) {
			var done bool
			var err error
			if isPod {
				done, err = k.podSucceeded(ctx, info)
			} else {
				done, err = k.JobComplete(ctx, info)
			}
			why = err
			return done, final(err)
		})
		if err != nil {
			return k.notReady([]*resource.Info{info}, info, why, err, limit)
		}
	}
	return nil
}

// IsJob reports whether an object is a Job of Kubernetes' own.
func IsJob(info *resource.Info) bool {
	return info.Mapping.GroupVersionKind.GroupKind().String() == "Job.batch"
}

// JobComplete reports whether a Job has ended well; that it has failed is an error.
func (k *Call) JobComplete(ctx context.Context, info *resource.Info) (bool, error) {
	job, err := k.Clients.BatchV1().Jobs(info.Namespace).Get(ctx, info.Name, metav1.GetOptions{})
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

func (k *Call) podSucceeded(ctx context.Context, info *resource.Info) (bool, error) {
	pod, err := k.Clients.CoreV1().Pods(info.Namespace).Get(ctx, info.Name, metav1.GetOptions{})
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
