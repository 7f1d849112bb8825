package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/infra/kubernetes/internal/objects"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// loss is data that ends with an object.
type loss struct {
	of  objects.Ref
	set *objects.Object // of a claim: the StatefulSet with which Kubernetes deletes it
	vnflcm.DataLoss
}

// pruneName is the name of an object in additionalParams.prune.
func pruneName(r objects.Ref) string {
	return strings.Join(slices.DeleteFunc([]string{r.Kind, r.Namespace, r.Name}, func(part string) bool { return part == "" }), "/")
}

func lossOf(r objects.Ref, with ...string) loss {
	r.UID = ""
	return loss{of: r, DataLoss: vnflcm.DataLoss{Resource: r.String(), With: with, Consent: vnflcm.AllowPrune, Name: pruneName(r)}}
}

// losses returns the data that ends when objects are deleted: claims and volumes, definitions and namespaces with what they hold, and objects
// that say that they must not be deleted.
func (w *work) losses(ctx context.Context, gone []objects.Ref) (out []loss, err error) {
	for _, r := range gone {
		o, err := w.objects.Get(ctx, r)
		if err != nil {
			return nil, err
		}
		switch {
		case o == nil:
		case r.Kind == "Namespace" && r.HoldsOthers():
			found, err := w.inside(ctx, r.Name)
			if err != nil {
				return nil, err
			}
			out = append(out, lossOf(r, found.left...))
		case r.HoldsOthers():
			n, kind, err := w.objects.Instances(ctx, o)
			if err != nil {
				return nil, err
			}
			out = append(out, lossOf(r, fmt.Sprintf("%d objects of kind %s", n, kind)))
		case r.IsClaim(), r.IsVolume(), objects.Keeps(o):
			out = append(out, lossOf(r))
		case r.Kind == "StatefulSet":
			claims, err := w.claimsThatEnd(ctx, o)
			if err != nil {
				return nil, err
			}
			out = append(out, claims...)
		}
	}
	return out, nil
}

// claimsThatEnd returns the claims that Kubernetes deletes with a StatefulSet.
func (w *work) claimsThatEnd(ctx context.Context, set *objects.Object) (out []loss, err error) {
	if policy, _, _ := unstructured.NestedString(set.Object, "spec", "persistentVolumeClaimRetentionPolicy", "whenDeleted"); policy != "Delete" {
		return nil, nil
	}
	claims, err := w.claimsOf(ctx, set)
	for _, r := range claims {
		l := lossOf(r)
		l.set = set
		out = append(out, l)
	}
	return out, err
}

// consents are the objects that the request allows to delete.
func (w *work) consents() []string {
	var p vnflcm.PackageChangeOptions
	if _, err := w.op.ChangeVnfPkg.AdditionalParams.Decode(&p); err != nil {
		return nil
	}
	return p.Prune
}

// checkGone refuses the end of data that the request does not allow. The Manager has asked before: since then the cluster or a chart of a
// repository may have changed.
func (w *work) checkGone(ctx context.Context, had, after objects.Manifest) error {
	list, err := w.losses(ctx, without(had.Refs, after.Refs))
	if err != nil {
		return err
	}
	var faults []error
	for _, l := range list {
		if !slices.Contains(w.consents(), l.Name) {
			faults = append(faults, &vnflcm.ParamError{Path: "additionalParams." + string(l.Consent), Reason: "must name " + l.Name + ", which would be deleted: nothing of this unit was changed"})
		}
	}
	return errors.Join(faults...)
}

// prune deletes objects that a release no longer has, that Helm leaves on the cluster, and that the request allows to delete.
func (w *work) prune(ctx context.Context, gone []objects.Ref, release string) error {
	var refs []objects.Ref
	for _, r := range gone {
		if !slices.Contains(w.consents(), pruneName(r)) {
			continue
		}
		o, err := w.objects.Get(ctx, r)
		if err != nil {
			return err
		}
		if o == nil {
			continue
		}
		if namespace, name := objects.HelmRelease(o); namespace == w.design.namespace && name == release {
			refs = append(refs, objects.RefOf(o))
		}
	}
	return w.deleteByUID(ctx, refs)
}

// keepData returns the objects with data among refs, which only the software has from which the VNF returns. They stay on the cluster: an
// upgrade by Helm leaves them because of their annotation, and Kubernetes leaves claims when it deletes their StatefulSet.
func (w *work) keepData(ctx context.Context, refs []objects.Ref) (kept []helmclient.Object, err error) {
	list, err := w.losses(ctx, refs)
	if err != nil {
		return nil, err
	}
	var texts []string
	for _, l := range list {
		if err := w.objects.Keep(ctx, l.of); err != nil {
			return nil, err
		}
		texts = append(texts, l.of.String())
		kept = append(kept, helmclient.Object{APIVersion: l.of.APIVersion, Kind: l.of.Kind, Namespace: l.of.Namespace, Name: l.of.Name})
	}
	return kept, errors.Join(w.keepClaims(ctx, list), w.leave(ctx, texts))
}

// keepClaims has Kubernetes leave claims when it deletes their StatefulSets, and warns of all data that stays.
func (w *work) keepClaims(ctx context.Context, list []loss) error {
	for _, l := range list {
		if l.set != nil {
			if err := w.objects.KeepClaim(ctx, l.set, l.of); err != nil {
				return err
			}
		}
		w.op.Warn(ctx, l.of.String()+" stays: only the package that the VNF returns from has it")
	}
	return nil
}

// leaveStaying notes for the termination the claims that stay when StatefulSets are deleted, and other objects that stay.
func (w *work) leaveStaying(ctx context.Context, gone []objects.Ref) error {
	claims, err := w.objects.Claims(ctx, gone)
	if err != nil {
		return err
	}
	staying, err := w.objects.Staying(ctx, gone)
	if err != nil {
		return err
	}
	var texts []string
	for _, r := range slices.Concat(claims, staying) {
		if w.op.RollingBack || !slices.Contains(w.consents(), pruneName(r)) {
			texts = append(texts, r.String())
		}
	}
	return w.leave(ctx, texts)
}
