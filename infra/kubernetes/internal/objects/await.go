package objects

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/helmclient/readiness"
	"github.com/vnfkit/vnfkit/internal/retry"
)

// diagnosis is the time to find out why objects are not ready, after the wait has timed out.
const diagnosis = 15 * time.Second

// Await waits until all objects, which have been created, exist and are ready (helmclient/readiness). A Job or a custom
// resource that no longer exists has ended, unless an event says that the Job has failed. tell, unless it is nil, is called
// when the progress has changed. At the deadline of ctx, and as soon as the status of an object reports a failure, the error
// is a *NotReadyError with the objects that are not ready, the reasons of their pods, and the last warnings about them.
func (c *Client) Await(ctx context.Context, refs []Ref, tell func(helmclient.Progress)) error {
	start := time.Now()
	var last helmclient.Progress
	all := len(refs)
	for {
		objs, err := c.read(ctx, refs)
		if err == nil {
			var ended []helmclient.Object
			if refs, objs, ended = c.withoutEnded(ctx, refs, objs); ended != nil {
				return &NotReadyError{After: time.Since(start), Objects: ended, Failed: true}
			}
			var now helmclient.Progress
			if now, err = c.progress(ctx, refs, objs, false); err == nil {
				now.Ready, now.Total = now.Ready+all-len(refs), all
				if tell != nil && !reflect.DeepEqual(last, now) {
					tell(now)
				}
				last = now
			}
		}
		switch {
		case err == nil && last.Ready == all:
			return nil
		case err == nil && slices.ContainsFunc(objs, failed):
			return c.notReady(ctx, refs, start, true)
		case err != nil && ctx.Err() == nil:
			return err
		}
		if retry.Pause(ctx, pollPause) != nil {
			return c.notReady(ctx, refs, start, false)
		}
	}
}

// failed ignores running pods: a pod whose container crashes, or for which no node fits, may still become ready.
func failed(o *Object) bool {
	if o == nil || o.GroupVersionKind() == podKind && field(o, "status", "phase") != string(corev1.PodFailed) {
		return false
	}
	return readiness.Failed(o)
}

// read returns the objects in the order of refs, nil for objects that do not exist.
func (c *Client) read(ctx context.Context, refs []Ref) ([]*Object, error) {
	out := make([]*Object, len(refs))
	err := each(ctx, refs, func(ctx context.Context, i int, r Ref) (err error) {
		out[i], err = c.Get(ctx, r)
		return err
	})
	return out, err
}

// progress returns what the objects that are not ready wait for, with events and logs only if events is set.
func (c *Client) progress(ctx context.Context, refs []Ref, objs []*Object, events bool) (helmclient.Progress, error) {
	var there []Object
	var waiting []*Object
	var absent []helmclient.Object
	for i, o := range objs {
		if o == nil {
			r := refs[i]
			absent = append(absent, readiness.Missing(r.APIVersion, r.Kind, r.Namespace, r.Name))
			continue
		}
		there = append(there, *o)
		if ready, _ := readiness.State(o); !ready {
			waiting = append(waiting, o)
		}
	}
	related, err := c.related(ctx, waiting, events)
	if err != nil {
		return helmclient.Progress{}, err
	}
	p := readiness.Of(there, related)
	p.Total, p.Waiting = p.Total+len(absent), append(p.Waiting, absent...)
	return p, nil
}

// related reads what explains the state of objects: the pods of their namespaces and, if events is set, warnings and logs.
func (c *Client) related(ctx context.Context, objs []*Object, events bool) (related readiness.Related, err error) {
	if events {
		related.Logs = func(pod *Object) []string { return c.logs(ctx, pod) }
	}
	var namespaces []string
	for _, o := range objs {
		if o.GetNamespace() != "" {
			namespaces = append(namespaces, o.GetNamespace())
		}
	}
	slices.Sort(namespaces)
	for _, namespace := range slices.Compact(namespaces) {
		pods, err := c.list(ctx, podKind, namespace, metav1.ListOptions{})
		if err != nil {
			return related, err
		}
		related.Pods = append(related.Pods, pods...)
		if !events {
			continue
		}
		said, err := c.list(ctx, eventKind, namespace, metav1.ListOptions{FieldSelector: "type=Warning"})
		if err != nil {
			return related, err
		}
		related.Events = append(related.Events, said...)
		c.relatedMore(ctx, namespace, &related)
	}
	return related, nil
}

// relatedMore reads what these credentials may not be able to read.
func (c *Client) relatedMore(ctx context.Context, namespace string, related *readiness.Related) {
	for _, more := range []struct {
		kind   schema.GroupVersionKind
		fields string
		into   *[]Object
	}{
		{eventKind, "type=Normal,involvedObject.kind=PersistentVolumeClaim", &related.Events},
		{schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"}, "", &related.Between},
		{schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}, "", &related.Between},
		{claimKind, "", &related.Claims},
	} {
		if list, err := c.list(ctx, more.kind, namespace, metav1.ListOptions{FieldSelector: more.fields}); err == nil {
			*more.into = append(*more.into, list...)
		}
	}
}

// notReady returns the reasons, also after the deadline of ctx, but not if the caller cancelled ctx.
func (c *Client) notReady(ctx context.Context, refs []Ref, start time.Time, failed bool) error {
	cause := context.Cause(ctx)
	if errors.Is(ctx.Err(), context.Canceled) {
		return cause
	}
	e := &NotReadyError{After: time.Since(start), Failed: failed, Cause: cause}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), diagnosis)
	defer cancel()
	objs, err := c.read(ctx, refs)
	if err == nil {
		var p helmclient.Progress
		refs, objs, _ = c.withoutEnded(ctx, refs, objs)
		p, err = c.progress(ctx, refs, objs, true)
		e.Objects = p.Waiting
	}
	if err != nil {
		return errors.Join(e, err)
	}
	return e
}
