package objects

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vnfkit/vnfkit/internal/kubeaccess"
	"github.com/vnfkit/vnfkit/internal/retry"
)

// DeleteOptions say how objects are deleted.
type DeleteOptions struct {
	Owner Owner // the owner of the objects
	// Propagation is Foreground by default: then a workload exists as long as its pods, so that a later attempt still
	// finds them.
	Propagation metav1.DeletionPropagation
	// Grace is the time for pods to end; nil: their own. It cannot extend the time of a pod that the cluster has
	// already told to end.
	Grace *time.Duration
	// Claims has the claims deleted too that StatefulSets among the objects have made, and with them the data.
	Claims bool
}

// Delete deletes objects in the reverse order of Apply, and waits until they and their pods no longer exist. It keeps
// objects that the owner does not own, unless their Ref has a UID, and objects with another UID. Deleting a definition
// deletes the objects of its kind. Objects that still exist when ctx ends are in the *StuckError.
func (c *Client) Delete(ctx context.Context, refs []Ref, o DeleteOptions) error {
	d := &deletion{Client: c, how: o, namespaces: map[string]bool{}}
	for _, r := range refs {
		if r.Namespace != "" {
			d.namespaces[r.Namespace] = true
		}
	}
	ranks := inRanks(refs, func(r Ref) Ref { return r })
	for i, rank := range slices.Backward(ranks) {
		if len(rank) > 0 {
			if err := d.rank(ctx, rank); err != nil {
				return err
			}
		}
		if i == claimRank && o.Claims {
			if err := d.claims(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// deletion is one call of Delete.
type deletion struct {
	*Client
	how        DeleteOptions
	namespaces map[string]bool // of the objects
}

// rank deletes objects that can be deleted concurrently, with their dependents, and waits.
func (d *deletion) rank(ctx context.Context, refs []Ref) error {
	going, err := d.toGo(ctx, refs)
	if err != nil || len(going) == 0 {
		return err
	}
	pods, err := d.Pods(ctx, going)
	if err != nil {
		return err
	}
	for _, r := range going {
		switch r.gvk().GroupKind() {
		case crdKind:
			err = d.resources(ctx, r)
		case statefulSetKind:
			if d.how.Claims {
				err = d.markClaims(ctx, r)
			}
		}
		if err != nil {
			return err
		}
	}
	if err := d.removeAll(ctx, going); err != nil {
		return err
	}
	var below []Ref
	for _, p := range pods {
		if p.Ref() != p.Top { // pods among the objects themselves are deleted with them
			below = append(below, p.Ref())
		}
	}
	if d.how.Grace != nil {
		if err := d.remove(ctx, below, d.how.options(d.how.Grace)); err != nil {
			return err
		}
	}
	return d.gone(ctx, append(going, below...))
}

// toGo returns the objects that exist and may be deleted, with their UIDs.
func (d *deletion) toGo(ctx context.Context, refs []Ref) ([]Ref, error) {
	there, err := d.read(ctx, refs)
	if err != nil {
		return nil, err
	}
	var going []Ref
	for i, o := range there {
		if o != nil && (refs[i].UID != "" || d.how.Owner.Owns(o)) {
			going = append(going, RefOf(o))
		}
	}
	return going, nil
}

func (h DeleteOptions) options(grace *time.Duration) metav1.DeleteOptions {
	o := metav1.DeleteOptions{}
	foreground := metav1.DeletePropagationForeground
	if o.PropagationPolicy = &foreground; h.Propagation != "" {
		o.PropagationPolicy = &h.Propagation
	}
	if grace != nil {
		seconds := int64(grace.Round(time.Second) / time.Second)
		o.GracePeriodSeconds = &seconds
	}
	return o
}

// removeAll deletes with the grace period, which only pods use.
func (d *deletion) removeAll(ctx context.Context, refs []Ref) error {
	return each(ctx, refs, func(ctx context.Context, _ int, r Ref) error {
		grace := d.how.Grace
		if r.gvk() != podKind {
			grace = nil
		}
		return d.remove(ctx, []Ref{r}, d.how.options(grace))
	})
}

// remove asks for the deletion of exactly these objects.
func (c *Client) remove(ctx context.Context, refs []Ref, o metav1.DeleteOptions) error {
	return each(ctx, refs, func(ctx context.Context, _ int, r Ref) error {
		at, err := c.at(ctx, r)
		if errors.Is(err, kubeaccess.ErrNoKind) {
			return nil
		}
		if err == nil {
			o := o
			o.Preconditions = &metav1.Preconditions{UID: &r.UID}
			err = c.cluster.Do(ctx, func(ctx context.Context) error { return at.Delete(ctx, r.Name, o) })
		}
		// A conflict: the object with that UID no longer exists, another one has its name.
		if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return nil
		}
		return fmt.Errorf("kubernetes: %s: %w", r, err)
	})
}

// resources deletes all objects of the kind that a definition defines, while the controllers that handle their
// finalizers still run.
func (d *deletion) resources(ctx context.Context, definition Ref) error {
	o, err := d.Get(ctx, definition)
	if err != nil || o == nil {
		return err
	}
	versions, _, _ := unstructured.NestedSlice(o.Object, "spec", "versions")
	for _, v := range versions {
		m, ok := v.(map[string]any)
		if !ok || m["served"] != true {
			continue
		}
		gvk := schema.GroupVersionKind{Group: field(o, "spec", "group"), Version: text(m, "name"), Kind: field(o, "spec", "names", "kind")}
		list, err := d.list(ctx, gvk, "", metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("kubernetes: %s: %w", definition, err)
		}
		var refs []Ref
		for i := range list {
			refs = append(refs, RefOf(&list[i]))
		}
		if err := d.remove(ctx, refs, d.how.options(nil)); err != nil {
			return err
		}
		return d.gone(ctx, refs) // one version shows them all
	}
	return nil
}

// gone waits until objects no longer exist, and returns what blocks the deletion of the rest. It reports after about a second
// what it waits for.
func (c *Client) gone(ctx context.Context, refs []Ref) error {
	var left []*Object
	said := ""
	for pause := firstPause; ; pause = min(2*pause, pollPause) {
		there, err := c.read(ctx, refs)
		if err == nil {
			refs, left = remaining(there)
			if len(refs) == 0 {
				return nil
			}
		} else if ctx.Err() == nil {
			return err
		}
		stuck := stuckAt(left)
		if text := stuck.Error(); pause > pollPause/2 && text != said && ctx.Err() == nil {
			c.cluster.ReportWaiting(ctx, stuck)
			said = text
		}
		if retry.Pause(ctx, pause) == nil {
			continue
		}
		if errors.Is(ctx.Err(), context.Canceled) {
			return context.Cause(ctx)
		}
		if stuck.Cause = context.Cause(ctx); len(left) == 0 { // the cluster has not answered at all
			return errors.Join(stuck.Cause, err)
		}
		return stuck
	}
}

// Held returns the objects that are being deleted, and what holds them. It takes at most 15 seconds, also after the deadline
// of ctx.
func (c *Client) Held(ctx context.Context, refs []Ref) ([]Held, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), diagnosis)
	defer cancel()
	there, err := c.read(ctx, refs)
	if err != nil {
		return nil, err
	}
	return stuckAt(slices.DeleteFunc(there, func(o *Object) bool { return o == nil || o.GetDeletionTimestamp() == nil })).Objects, nil
}

func stuckAt(left []*Object) *StuckError {
	e := &StuckError{}
	for _, o := range left {
		e.Objects = append(e.Objects, Held{RefOf(o), holds(o)})
	}
	return e
}

func remaining(there []*Object) (refs []Ref, left []*Object) {
	for _, o := range there {
		if o != nil {
			refs, left = append(refs, RefOf(o)), append(left, o)
		}
	}
	return refs, left
}
