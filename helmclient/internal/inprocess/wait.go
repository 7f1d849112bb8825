package inprocess

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/internal/retry"
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
	err := k.poll("the objects of release "+k.Name.String(), limit, readyInterval, func(ctx context.Context) (bool, error) {
		for _, info := range list {
			var ready bool
			err := Recovered(func() (err error) {
				ready, err = isReady(ctx, info)
				return err
			})
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
	if errors.Is(err, errPanic) {
		return err
	}
	var status apierrors.APIStatus
	if err == nil || !errors.As(err, &status) && transient(err) {
		return nil
	}
	if errors.As(err, &status) && (status.Status().Code == 0 || transient(err)) {
		return nil
	}
	return err
}

// poll asks for the subject until it is so, the time is over (errTime), or the call has been ended.
func (k *Call) poll(subject string, limit, interval time.Duration, done wait.ConditionWithContextFunc) error {
	waiting := retry.Begin(k.ctx, subject)
	defer waiting.End()
	until := k.waits()
	ctx, cancel := context.WithTimeoutCause(until, limit, errTime)
	defer cancel()
	err := wait.PollUntilContextCancel(ctx, interval, true, func(ctx context.Context) (now bool, err error) {
		err = Recovered(func() (err error) {
			now, err = done(ctx)
			return err
		})
		return now, err
	})
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
// also after the deadline of ctx, but not if the caller cancelled ctx. why is what the last look at the object last found.
func (k *Call) notReady(list []*resource.Info, last *resource.Info, why, err error, after time.Duration) error {
	if ended := k.ctx.Err(); ended != nil && !errors.Is(ended, context.DeadlineExceeded) && !errors.Is(err, errTime) {
		return k.Report(err)
	}
	ctx, cancel := context.WithTimeout(context.WithValue(k.grace, lastLook{}, true), recordGrace)
	defer cancel()
	out := &helmclient.NotReadyError{Release: k.Name, After: after, Objects: k.observe(ctx, list).Waiting, Failed: errors.Is(why, errFailed)}
	if len(out.Objects) == 0 && last != nil { // ready by kstatus, but not by Helm's rules, as a Job that runs
		out.Objects = []helmclient.Object{k.about(ctx, last)}
	}
	for i := range out.Objects {
		o := &out.Objects[i]
		if last == nil || why == nil || o.Name != last.Name || o.Kind != last.Mapping.GroupVersionKind.Kind {
			continue
		}
		if text := why.Error(); out.Failed || strings.Contains(text, o.Reason) {
			o.Reason = text
		} else {
			o.Reason += ": " + text
		}
		o.Events = slices.DeleteFunc(o.Events, func(text string) bool { return strings.Contains(o.Reason, text) })
	}
	if errors.Is(err, errTime) {
		return k.Report(out)
	}
	return k.Report(&waitError{out, err})
}

// waitError is a NotReadyError whose text has the reason already, and the error of the API.
type waitError struct {
	*helmclient.NotReadyError
	cause error
}

func (e *waitError) Unwrap() []error { return []error{e.NotReadyError, e.cause} }

// AwaitDeleted waits until all of the objects are deleted.
func (k *Call) AwaitDeleted(list []*resource.Info, limit time.Duration) error {
	var left []*resource.Info
	err := k.poll("the end of the objects of release "+k.Name.String(), limit, readyInterval, func(context.Context) (bool, error) {
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
		out.Objects = append(out.Objects, object(info, stillExists(info)))
	}
	return k.Report(out)
}

// stillExists says what holds an object that is to be deleted.
func stillExists(info *resource.Info) string {
	text := "still exists"
	o, err := meta.Accessor(info.Object)
	if err != nil {
		return text
	}
	if o.GetDeletionTimestamp() == nil {
		text += ": it is not being deleted"
	} else if list := o.GetFinalizers(); len(list) > 0 {
		text += ": held by the finalizers " + strings.Join(list, ", ")
	}
	return text
}

// AwaitHook waits for the Jobs and Pods among the objects of a hook to succeed, as Helm does.
func (k *Call) AwaitHook(list []*resource.Info, limit time.Duration) error {
	for _, info := range list {
		isPod := info.Mapping.GroupVersionKind.GroupKind().String() == "Pod"
		if !isPod && !IsJob(info) {
			continue
		}
		var why error
		start := time.Now()
		subject := fmt.Sprintf("the hook %s %s of release %s", info.Mapping.GroupVersionKind.Kind, info.Name, k.Name)
		err := k.poll(subject, limit, hookInterval, func(ctx context.Context) (bool, error) {
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
			after := limit
			if !errors.Is(err, errTime) {
				after = time.Since(start)
			}
			return k.notReady([]*resource.Info{info}, info, why, err, after)
		}
	}
	return nil
}

// IsJob reports whether an object is a Job of Kubernetes' own.
func IsJob(info *resource.Info) bool {
	return info.Mapping.GroupVersionKind.GroupKind().String() == "Job.batch"
}

// errFailed: a Job or pod has ended without success.
var errFailed = errors.New("it has failed")

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
			return false, fmt.Errorf("%w: %s: %s", errFailed, condition.Reason, condition.Message)
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
		return false, fmt.Errorf("%w: %s", errFailed, strings.TrimSpace(pod.Status.Reason+" "+pod.Status.Message))
	}
	return pod.Status.Phase == corev1.PodSucceeded, nil
}
