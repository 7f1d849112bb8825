package kubernetes

import (
	"context"
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/vnfkit/vnfkit/infra/kubernetes/internal/objects"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// volumesKey is the state key of the PersistentVolumes of the VNF: after its releases are uninstalled, only the UIDs show which
// volumes were theirs.
const volumesKey = "kubernetes/volumes"

// storedVolumes finds the PersistentVolumes of the VNF's objects, and stores them.
func (w *work) storedVolumes(ctx context.Context) ([]objects.Ref, error) {
	var found []objects.Ref
	if err := w.op.State().Get(ctx, volumesKey, &found); err == nil || !errors.Is(err, vnflcm.ErrNotFound) {
		return found, err
	}
	refs, err := w.storedObjects(ctx)
	if err == nil {
		found, err = w.volumes(ctx, refs)
	}
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found, w.op.State().Put(ctx, volumesKey, found)
}

// volumes returns the PersistentVolumes among refs that belong to the VNF, with their UIDs. A volume that the client may not read is
// not among them.
func (w *work) volumes(ctx context.Context, refs []objects.Ref) (out []objects.Ref, err error) {
	for _, r := range refs {
		if !r.IsVolume() {
			continue
		}
		o, err := w.objects.Get(ctx, r)
		if err != nil && !apierrors.IsForbidden(err) {
			return nil, err
		}
		if o != nil && w.hasVolume(o) {
			out = append(out, objects.RefOf(o))
		}
	}
	return out, nil
}

// hasVolume reports whether a PersistentVolume belongs to the VNF: by its label, or by Helm's annotations.
func (w *work) hasVolume(o *objects.Object) bool {
	if w.helm == nil {
		return w.owner().Owns(o)
	}
	namespace, name := objects.HelmRelease(o)
	return namespace == w.design.namespace && slices.ContainsFunc(w.design.releases, func(r release) bool { return r.name == name })
}

// removeVolumes deletes these PersistentVolumes after all other objects of the VNF. A volume whose claim exists stays, because
// Kubernetes deletes it only after the claim.
func (w *work) removeVolumes(ctx context.Context, volumes []objects.Ref) error {
	var free []objects.Ref
	var left []string
	for _, r := range volumes {
		o, err := w.objects.Get(ctx, r)
		if err != nil {
			return err
		}
		if o == nil || o.GetUID() != r.UID {
			continue
		}
		stays := objects.Keeps(o)
		if !stays {
			stays, err = w.objects.Claimed(ctx, o)
		}
		switch {
		case err != nil:
			return err
		case stays:
			left = append(left, r.String())
		default:
			free = append(free, r)
		}
	}
	if err := w.leave(ctx, left); err != nil {
		return err
	}
	return w.deleteByUID(ctx, free)
}
