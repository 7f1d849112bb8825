package objects

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vnfkit/vnfkit/internal/kubeaccess"
)

// Finding is the reason why the cluster would refuse an object.
type Finding struct {
	Ref
	Reason error
}

// Rehearse asks the API server by dry runs whether it accepts objects: objects of the kinds that Clear removes, and objects that
// do not exist, as new objects, and other objects as changes. It changes nothing. Call Place first.
//
// Answers that the removal of the objects ends are no findings: an exceeded quota, a name that exists, an immutable field, a
// webhook among the objects that does not answer, and a kind that a definition among the objects defines. Nor is a
// webhook that does not support dry runs. An owner has its label on the objects; an object of another owner is a finding.
func (c *Client) Rehearse(ctx context.Context, objs []*Object, owner Owner) ([]Finding, error) {
	made, own := kindsMadeBy(objs), webhooksIn(objs)
	return findings(ctx, objs, func(ctx context.Context, o *Object) (answer, err error) {
		err = c.rehearseOne(ctx, o, owner)
		if _, defined := made[o.GroupVersionKind()]; defined && (errors.Is(err, kubeaccess.ErrNoKind) || apierrors.IsNotFound(err)) {
			return nil, nil
		}
		if refuses(err, own) {
			return err, nil
		}
		return nil, unanswered(err)
	})
}

// findings asks about each object, and returns the answers that are reasons.
func findings(ctx context.Context, objs []*Object, ask func(context.Context, *Object) (answer, err error)) (out []Finding, err error) {
	answers := make([]error, len(objs))
	err = each(ctx, objs, func(ctx context.Context, i int, o *Object) (err error) {
		answers[i], err = ask(ctx, o)
		return err
	})
	for i, answer := range answers {
		if answer != nil {
			out = append(out, Finding{RefOf(objs[i]), answer})
		}
	}
	return out, err
}

// RehearseApply asks the API server by dry runs whether Apply can apply objects. Objects whose kind or namespace a definition or a Namespace
// among the objects makes are not asked for unless they exist.
func (c *Client) RehearseApply(ctx context.Context, objs []*Object, owner Owner) ([]Finding, error) {
	return findings(ctx, objs, func(ctx context.Context, o *Object) (answer, err error) {
		there, err := c.ours(ctx, RefOf(o), owner)
		if err == nil && there != nil {
			err = c.rehearseChange(ctx, mine(o, owner))
		}
		if errors.Is(err, ErrForeign) || refuses(err, nil) || isInvalid(err) {
			return err, nil
		}
		return nil, unanswered(err)
	})
}

// RehearseFixed asks the API server by dry runs whether objects that exist would change fields that cannot be changed. Other answers, and objects
// that do not exist, are no findings. A Reason names the fields and quotes no values.
func (c *Client) RehearseFixed(ctx context.Context, objs []*Object) ([]Finding, error) {
	return findings(ctx, objs, func(ctx context.Context, o *Object) (answer, err error) {
		there, err := c.Get(ctx, RefOf(o))
		if err == nil && there != nil && there.GetDeletionTimestamp() == nil {
			err = c.rehearseChange(ctx, given(o))
		}
		if errors.Is(err, kubeaccess.ErrNoKind) {
			return nil, nil // a definition that is applied before makes it
		}
		return fixedFields(err), unanswered(err)
	})
}

// fixedFields returns an error with the fields of an object that cannot be changed, nil if the answer is another one.
func fixedFields(err error) error {
	status, answered := errors.AsType[*apierrors.StatusError](err)
	if !answered || !apierrors.IsInvalid(status) || status.ErrStatus.Details == nil {
		return nil
	}
	var faults []string
	for _, c := range status.ErrStatus.Details.Causes {
		if isFixed(c) {
			reason := c.Message[strings.LastIndex(c.Message, ": ")+1:] // the value stands before the last colon
			faults = append(faults, c.Field+": "+strings.TrimSpace(reason))
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return errors.New(strings.Join(faults, "; "))
}

// rehearseChange asks the API server by a dry run whether it applies an object.
func (c *Client) rehearseChange(ctx context.Context, o *Object) error {
	at, err := c.at(ctx, RefOf(o))
	if err != nil {
		return err
	}
	return c.cluster.Retry(ctx, passing, func(ctx context.Context) error {
		_, err := at.Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: FieldManager, Force: true, DryRun: []string{metav1.DryRunAll}})
		return c.cluster.Explain(err)
	})
}

// isInvalid reports whether the API server has found an object invalid, also because of a field that cannot be changed.
func isInvalid(err error) bool {
	status, answered := errors.AsType[*apierrors.StatusError](err)
	return answered && apierrors.IsInvalid(status)
}

// rehearseOne returns the answer of the API server to one object.
func (c *Client) rehearseOne(ctx context.Context, o *Object, owner Owner) error {
	r := Ref{APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName()}
	at, err := c.at(ctx, r)
	if err != nil {
		return err
	}
	get, o := c.Get, given(o)
	if owner.Instance != "" {
		get = func(ctx context.Context, r Ref) (*Object, error) { return c.ours(ctx, r, owner) }
		o = mine(o, owner)
	}
	there, err := get(ctx, r)
	if err != nil && !apierrors.IsForbidden(err) {
		return err
	}
	return c.cluster.Retry(ctx, passing, func(ctx context.Context) error {
		var err error
		if there == nil || r.Cleared() {
			_, err = at.Create(ctx, o, metav1.CreateOptions{FieldManager: FieldManager, DryRun: []string{metav1.DryRunAll}})
		} else {
			_, err = at.Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: FieldManager, Force: true, DryRun: []string{metav1.DryRunAll}})
		}
		return c.cluster.Explain(err)
	})
}

// refuses reports whether an answer says that the API server does not accept an object. own are the names of webhooks that the
// removal ends.
func refuses(err error, own []string) bool {
	if errors.Is(err, kubeaccess.ErrNoKind) || errors.Is(err, ErrForeign) {
		return true
	}
	status, answered := errors.AsType[*apierrors.StatusError](err)
	if !answered || passing(err) || errors.Is(err, kubeaccess.ErrAuth) {
		return false
	}
	text := status.Error()
	named := func(webhook string) bool { return strings.Contains(text, fmt.Sprintf("webhook %q", webhook)) }
	return !apierrors.IsAlreadyExists(err) && !apierrors.IsConflict(err) && !onlyImmutable(status) && !slices.ContainsFunc(own, named) &&
		!strings.Contains(text, "exceeded quota") && !strings.Contains(text, "does not support dry run")
}

// unanswered returns an error that is no answer of the API server to an object.
func unanswered(err error) error {
	if _, answered := errors.AsType[*apierrors.StatusError](err); answered && !passing(err) && !errors.Is(err, kubeaccess.ErrAuth) {
		return nil
	}
	return err
}

// passing reports whether asking again can help. A webhook that cannot be called
// (k8s.io/apiserver/pkg/admission/plugin/webhook/errors) is the answer.
func passing(err error) bool {
	return kubeaccess.Passing(err) && !strings.Contains(err.Error(), "failed calling webhook") && !strings.Contains(err.Error(), mistyped)
}

// onlyImmutable reports whether all faults of an object are changes of fields that cannot be changed.
func onlyImmutable(status *apierrors.StatusError) bool {
	if !apierrors.IsInvalid(status) || status.ErrStatus.Details == nil || len(status.ErrStatus.Details.Causes) == 0 {
		return false
	}
	return !slices.ContainsFunc(status.ErrStatus.Details.Causes, func(c metav1.StatusCause) bool { return !isFixed(c) })
}

// fixed are messages about fields that cannot be changed (k8s.io/kubernetes/pkg/apis: validation of apps, batch, core, rbac and storage).
var fixed = []string{"immutable", "updates to statefulset spec", "may not change once set", "can not be unset", "cannot change roleRef", "updates to parameters are forbidden"}

// isFixed reports whether a fault of an object is the change of a field that cannot be changed.
func isFixed(c metav1.StatusCause) bool {
	return slices.ContainsFunc(fixed, func(message string) bool { return strings.Contains(c.Message, message) })
}

// webhooksIn returns the names of the webhooks that objects configure.
func webhooksIn(objs []*Object) (names []string) {
	for _, o := range objs {
		list, _, _ := unstructured.NestedSlice(o.Object, "webhooks")
		for _, w := range list {
			if name, ok := entry(w, "name").(string); ok && strings.HasSuffix(o.GetKind(), "WebhookConfiguration") {
				names = append(names, name)
			}
		}
	}
	return names
}
