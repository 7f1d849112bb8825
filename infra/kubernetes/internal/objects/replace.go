package objects

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/internal/kubeaccess"
	"github.com/vnfkit/vnfkit/internal/retry"
)

// ReplaceOptions say how pods are replaced.
type ReplaceOptions struct {
	Evict bool           // by evictions, which respect disruption budgets
	Grace *time.Duration // how long the pods may take to end; nil: as long as they say themselves
	// Save is called, before anything is deleted, with the bare pods in the form in which they will be created again.
	// Earlier are the pods that an earlier, interrupted attempt passed to Save: they may have been deleted already.
	Save    func(ctx context.Context, bare []*Object) error
	Earlier []*Object
}

// Replace deletes or evicts pods, waits until each no longer exists, and until their workloads have as many ready pods
// as before. It creates bare pods again from their spec. Pods that no longer exist are not an error. If a disruption
// budget blocks a pod until ctx ends, the error is a *BlockedError; if workloads do not get their pods back, it is a
// *NotReadyError.
func (c *Client) Replace(ctx context.Context, pods []Pod, o ReplaceOptions) error {
	start := time.Now()
	bare, err := c.bare(ctx, pods, o.Earlier)
	if err != nil {
		return err
	}
	if len(bare) > 0 && o.Save != nil {
		if err := o.Save(ctx, bare); err != nil {
			return err
		}
	}
	want, err := c.wanted(ctx, pods)
	if err != nil {
		return err
	}
	if err := each(ctx, pods, func(ctx context.Context, _ int, p Pod) error { return c.leave(ctx, p, o) }); err != nil {
		return err
	}
	if err := each(ctx, bare, func(ctx context.Context, _ int, pod *Object) error { return c.again(ctx, pod) }); err != nil {
		return err
	}
	return c.restored(ctx, want, Refs(bare), start)
}

// bare returns the pods without a controller, in the form in which they will be created again; for an earlier attempt,
// in their form then.
func (c *Client) bare(ctx context.Context, pods []Pod, kept []*Object) ([]*Object, error) {
	known := map[identity]*Object{}
	for _, o := range kept {
		known[RefOf(o).identity()] = o
	}
	var out []*Object
	for _, p := range pods {
		if p.Controller.Name != "" {
			continue
		}
		if o := known[p.Ref().identity()]; o != nil {
			out = append(out, o)
			continue
		}
		o, err := c.Get(ctx, p.Ref())
		if err != nil {
			return nil, err
		}
		if o != nil {
			out = append(out, fresh(o))
		}
	}
	return out, nil
}

// leave deletes or evicts a pod and waits until it no longer exists.
func (c *Client) leave(ctx context.Context, p Pod, o ReplaceOptions) error {
	options := DeleteOptions{Propagation: metav1.DeletePropagationBackground}.options(o.Grace)
	var err error
	if o.Evict {
		err = c.evict(ctx, p, options)
	} else {
		err = c.remove(ctx, []Ref{p.Ref()}, options)
	}
	if err != nil {
		return err
	}
	return c.gone(ctx, []Ref{p.Ref()})
}

// evict waits for disruption budgets.
func (c *Client) evict(ctx context.Context, p Pod, o metav1.DeleteOptions) error {
	at, err := c.at(ctx, p.Ref())
	if err != nil {
		return err
	}
	o.Preconditions = &metav1.Preconditions{UID: &p.UID}
	options := map[string]any{"preconditions": map[string]any{"uid": string(p.UID)}}
	if o.GracePeriodSeconds != nil {
		options["gracePeriodSeconds"] = *o.GracePeriodSeconds
	}
	eviction := &Object{Object: map[string]any{"apiVersion": "policy/v1", "kind": "Eviction",
		"metadata": map[string]any{"name": p.Name, "namespace": p.Namespace}, "deleteOptions": options}}
	var last error
	err = c.retry(ctx, p.Ref(), kubeaccess.Passing, func(ctx context.Context) error {
		_, err := at.Create(ctx, eviction, metav1.CreateOptions{}, "eviction")
		err = c.cluster.Explain(err)
		if status, ok := errors.AsType[*apierrors.StatusError](err); ok {
			last = status
		}
		return err
	})
	switch {
	case err == nil, apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return nil
	case apierrors.IsTooManyRequests(last) && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return &BlockedError{Pod: p.Ref(), Reason: reasonOf(last), Cause: context.Cause(ctx)}
	}
	return err
}

// reasonOf is the text of the API server, with its details: they name the disruption budget.
func reasonOf(err error) string {
	text := err.Error()
	if status, ok := errors.AsType[*apierrors.StatusError](err); ok && status.ErrStatus.Details != nil {
		for _, cause := range status.ErrStatus.Details.Causes {
			text += " " + cause.Message
		}
	}
	return text
}

// again makes a bare pod; one of that name that is there is the new one, or is leaving.
func (c *Client) again(ctx context.Context, pod *Object) error {
	at, err := c.at(ctx, RefOf(pod))
	if err != nil {
		return err
	}
	return c.retry(ctx, RefOf(pod), mayPass, func(ctx context.Context) error {
		_, err := at.Create(ctx, pod, metav1.CreateOptions{FieldManager: FieldManager})
		if !apierrors.IsAlreadyExists(err) {
			return c.cluster.Explain(err)
		}
		there, err := c.Get(ctx, RefOf(pod))
		switch {
		case err == nil && there == nil:
			return errLeaving
		case err == nil && there.GetDeletionTimestamp() != nil:
			return leaving(there)
		}
		return err
	})
}

// wanted counts, for each workload, how many ready pods to wait for: the remaining ready pods, and one for each that is
// replaced; at most as many as the workload requests or, if it requests no number, has: a deleted pod may have been
// replaced already. For Jobs, the Job controller decides whether to replace its pods.
func (c *Client) wanted(ctx context.Context, pods []Pod) (map[Ref]int, error) {
	leaving, tops := map[Ref]bool{}, map[Ref]bool{}
	want, has := map[Ref]int{}, map[Ref]int{}
	for _, p := range pods {
		leaving[p.Ref()] = true
		if p.Controller.Name != "" && p.Controller.Kind != "Job" {
			want[p.Top]++
			tops[p.Top] = true
		}
	}
	all, err := c.Pods(ctx, keys(tops))
	if err != nil {
		return nil, err
	}
	for _, p := range all {
		if !p.Leaving && !p.Finished() {
			has[p.Top]++
		}
		if p.Ready && !leaving[p.Ref()] {
			want[p.Top]++
		}
	}
	for top := range want {
		most, says, err := c.most(ctx, top)
		if err != nil {
			return nil, err
		}
		if !says {
			most = has[top]
		}
		want[top] = min(want[top], most)
	}
	return want, nil
}

func keys(m map[Ref]bool) (out []Ref) {
	for r := range m {
		out = append(out, r)
	}
	return out
}

// most returns how many pods a workload requests, if it requests a number; none if it no longer exists.
func (c *Client) most(ctx context.Context, r Ref) (n int, says bool, err error) {
	n, err = c.Replicas(ctx, r)
	if !errors.Is(err, ErrNotScalable) {
		if apierrors.IsNotFound(err) {
			return 0, true, nil
		}
		return n, true, err
	}
	o, err := c.Get(ctx, r)
	if err != nil || o == nil {
		return 0, true, err
	}
	desired, says, _ := unstructured.NestedInt64(o.Object, "status", "desiredNumberScheduled") // of a DaemonSet
	return int(desired), says, nil
}

// restored waits until workloads have their ready pods, and bare pods are ready.
func (c *Client) restored(ctx context.Context, want map[Ref]int, bare []Ref, start time.Time) error {
	tops := map[Ref]bool{}
	for top := range want {
		tops[top] = true
	}
	if len(bare) > 0 {
		if err := c.Await(ctx, bare, nil); err != nil {
			return err
		}
	}
	said := ""
	for len(want) > 0 {
		ready := map[Ref]int{}
		pods, err := c.Pods(ctx, keys(tops))
		if err != nil && ctx.Err() == nil {
			return err
		}
		for _, p := range pods {
			if p.Ready {
				ready[p.Top]++
			}
		}
		missing := missingPods(want, ready)
		if err == nil && missing == nil {
			return nil
		}
		if text := fmt.Sprint(missing); text != said && err == nil {
			c.cluster.ReportWaiting(ctx, missing)
			said = text
		}
		if retry.Pause(ctx, pollPause) != nil {
			return c.notRestored(ctx, want, ready, start)
		}
	}
	return nil
}

// missingPods is nil if all workloads have their ready pods.
func missingPods(want, ready map[Ref]int) error {
	var texts []string
	for top, n := range want {
		if ready[top] < n {
			texts = append(texts, fmt.Sprintf("%s: %d of %d pods are ready", top, ready[top], n))
		}
	}
	if texts == nil {
		return nil
	}
	slices.Sort(texts)
	return errors.New(strings.Join(texts, ", "))
}

// notRestored returns the reasons why the pods of workloads are missing.
func (c *Client) notRestored(ctx context.Context, want, ready map[Ref]int, start time.Time) error {
	var refs []Ref
	for top := range want {
		refs = append(refs, top)
	}
	err := c.notReady(ctx, refs, start, false)
	e, ok := errors.AsType[*NotReadyError](err)
	if ok && len(e.Objects) == 0 {
		for top, n := range want {
			e.Objects = append(e.Objects, helmclient.Object{APIVersion: top.APIVersion, Kind: top.Kind, Namespace: top.Namespace, Name: top.Name,
				Reason: fmt.Sprintf("%d of %d pods are ready", ready[top], n)})
		}
	}
	return err
}
