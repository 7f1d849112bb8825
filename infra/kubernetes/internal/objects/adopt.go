package objects

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The annotations of objects of Helm releases.
const (
	releaseName      = "meta.helm.sh/release-name"
	releaseNamespace = "meta.helm.sh/release-namespace"
)

// HelmRelease returns the Helm release that an object belongs to, empty if it belongs to no release.
func HelmRelease(o *Object) (namespace, name string) {
	marks := o.GetAnnotations()
	return marks[releaseNamespace], marks[releaseName]
}

// Adopt reads objects that another program has made. It returns the objects that exist, and the names of missing objects. release is the
// Helm release that the objects belong to, as namespace/name, "" for objects of manifests. Objects of another VNF instance, of
// another release, or of a controller are ErrForeign; all are reported at once.
func (c *Client) Adopt(ctx context.Context, refs []Ref, owner Owner, release string) (found []*Object, missing []Ref, err error) {
	all, err := c.read(ctx, refs)
	if err != nil {
		return nil, nil, err
	}
	var faults []error
	for i, o := range all {
		if o == nil {
			missing = append(missing, refs[i])
			continue
		}
		if reason := foreign(o, owner, release); reason != "" {
			faults = append(faults, fmt.Errorf("kubernetes: %s %w: it %s", refs[i], ErrForeign, reason))
		}
		found = append(found, o)
	}
	return found, missing, errors.Join(faults...)
}

// foreign returns why an object belongs to another client, "" if it shows no other owner.
func foreign(o *Object, owner Owner, release string) string {
	marks := o.GetAnnotations()
	of := marks[releaseNamespace] + "/" + marks[releaseName]
	switch instance, controller := o.GetLabels()[Label], metav1.GetControllerOf(o); {
	case instance != "" && instance != owner.Instance:
		return "belongs to the VNF instance " + instance
	case marks[releaseName] != "" && of != release:
		return "belongs to the Helm release " + of
	case controller != nil:
		return "is controlled by " + controller.Kind + " " + controller.Name
	case o.GetDeletionTimestamp() != nil:
		return "is being deleted"
	}
	return ""
}

// managers are the kinds of objects of Flux that apply other objects again and again, and the beginnings of the labels by which they
// mark them.
var managers = []struct{ label, apiVersion, kind string }{
	{"helm.toolkit.fluxcd.io/", "helm.toolkit.fluxcd.io/v2", "HelmRelease"},
	{"kustomize.toolkit.fluxcd.io/", "kustomize.toolkit.fluxcd.io/v1", "Kustomization"},
}

// ManagersOf returns the objects of Flux that manage objects.
func ManagersOf(objs []*Object) (refs []Ref) {
	seen := map[Ref]bool{}
	for _, o := range objs {
		for _, m := range managers {
			labels := o.GetLabels()
			r := Ref{APIVersion: m.apiVersion, Kind: m.kind, Namespace: labels[m.label+"namespace"], Name: labels[m.label+"name"]}
			if r.Name != "" && !seen[r] {
				seen[r] = true
				refs = append(refs, r)
			}
		}
	}
	return refs
}

// Suspended reports whether an object does nothing because spec.suspend is true: a Job, a CronJob, or an object of Flux.
func Suspended(manager *Object) bool {
	spec, _ := manager.Object["spec"].(map[string]any)
	return spec["suspend"] == true
}

// HoldsOthers reports whether the removal of an object of this kind removes objects that may belong to other clients: a namespace, or the
// definition of a kind.
func (r Ref) HoldsOthers() bool {
	kind := r.gvk().GroupKind()
	return kind == crdKind || kind == namespaceKind
}
