package objects

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vnfkit/vnfkit/internal/kubeaccess"
)

// Apply creates or updates objects (server-side apply), in the order of their dependencies, and gives each the label of
// its owner, except pods of workloads. Call Place first. If an object of the same name does not belong to the owner,
// Apply returns ErrForeign before it applies anything; it waits for an object that is being deleted. Apply retries
// errors that may pass until ctx ends, which must have a deadline: an API that does not answer, a webhook that is not running, a kind that another
// object defines. It does not retry an object that the API server finds invalid or forbids. The error names the
// objects.
func (c *Client) Apply(ctx context.Context, objs []*Object, owner Owner) error {
	if err := each(ctx, objs, func(ctx context.Context, _ int, o *Object) error {
		_, err := c.ours(ctx, RefOf(o), owner)
		return err
	}); err != nil {
		return err
	}
	for _, rank := range inRanks(objs, RefOf) {
		if err := each(ctx, rank, func(ctx context.Context, _ int, o *Object) error { return c.applyOne(ctx, o, owner) }); err != nil {
			return err
		}
	}
	return nil
}

// ours returns the owner's object of that name, or an object that is being deleted and makes room for it; nil if there is
// none.
func (c *Client) ours(ctx context.Context, r Ref, owner Owner) (*Object, error) {
	there, err := c.Get(ctx, Ref{APIVersion: r.APIVersion, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name})
	if there != nil && there.GetDeletionTimestamp() == nil && !owner.Owns(there) {
		return nil, fmt.Errorf("kubernetes: %s %w: remove it, or choose another name or namespace", r, ErrForeign)
	}
	return there, err
}

// errLeaving: an object of the same name is still being deleted.
var errLeaving = errors.New("is being deleted")

// leaving is the errLeaving of an object, with what holds the object.
func leaving(o *Object) error {
	if why := holds(o); why != errLeaving.Error() {
		return fmt.Errorf("%w: %s", errLeaving, why)
	}
	return errLeaving
}

func (c *Client) applyOne(ctx context.Context, o *Object, owner Owner) error {
	o = mine(o, owner)
	r := RefOf(o)
	err := c.retry(ctx, r, mayPass, func(ctx context.Context) error {
		there, err := c.ours(ctx, r, owner)
		switch {
		case err != nil:
			return err
		case there != nil && there.GetDeletionTimestamp() != nil:
			return leaving(there)
		}
		at, err := c.at(ctx, r)
		if err != nil {
			return err
		}
		_, err = at.Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: FieldManager, Force: true})
		return c.cluster.Explain(err)
	})
	if err == nil && o.GroupVersionKind().GroupKind() == crdKind {
		err = c.established(ctx, r)
	}
	return err
}

// retry repeats a request about an object. Its errors, also those of repeated attempts, name the object.
func (c *Client) retry(ctx context.Context, r Ref, again func(error) bool, try func(context.Context) error) error {
	return c.cluster.Retry(ctx, again, func(ctx context.Context) error {
		err := try(ctx)
		if err == nil || errors.Is(err, ErrForeign) {
			return err
		}
		return fmt.Errorf("kubernetes: %s: %w", r, err)
	})
}

// mine is a copy with the owner's label, and without what only the API server may say.
func mine(o *Object, owner Owner) *Object {
	o = given(o)
	labels := o.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[Label] = owner.Instance
	o.SetLabels(labels)
	return o
}

// given is a copy without what only the API server may say.
func given(o *Object) *Object {
	o = o.DeepCopy()
	for _, name := range []string{"managedFields", "resourceVersion", "uid", "creationTimestamp", "generation", "selfLink", "deletionTimestamp", "deletionGracePeriodSeconds"} {
		unstructured.RemoveNestedField(o.Object, "metadata", name)
	}
	return o
}

// mistyped is the message of an API server, with status 500, for an applied object that does not fit its schema
// (k8s.io/apimachinery/pkg/util/managedfields).
const mistyped = "failed to create typed patch object"

// mayPass reports whether applying can help later.
func mayPass(err error) bool {
	if errors.Is(err, errLeaving) || errors.Is(err, kubeaccess.ErrNoKind) || apierrors.HasStatusCause(err, "NamespaceTerminating") {
		return true
	}
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if ok && status.ErrStatus.Code == http.StatusInternalServerError && strings.Contains(err.Error(), mistyped) {
		return false
	}
	return kubeaccess.Passing(err) || apierrors.IsConflict(err)
}

const (
	firstPause = 100 * time.Millisecond
	pollPause  = time.Second
)

// established waits until a definition is served.
func (c *Client) established(ctx context.Context, r Ref) error {
	return c.retry(ctx, r, func(err error) bool { return errors.Is(err, errNotEstablished) }, func(ctx context.Context) error {
		o, err := c.Get(ctx, r)
		if err != nil {
			return err
		}
		if o == nil || condition(o, "Established") != "True" {
			return errNotEstablished
		}
		return nil
	})
}

var errNotEstablished = errors.New("is not established")

// condition returns the status of a condition.
func condition(o *Object, kind string) string {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, each := range conditions {
		if m, ok := each.(map[string]any); ok && m["type"] == kind {
			return text(m, "status")
		}
	}
	return ""
}
