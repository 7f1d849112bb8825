package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/vnfkit/vnfkit/infra/kubernetes/internal/objects"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// maxManifest bounds a manifest of a package, in bytes.
const maxManifest = 8 << 20

// manifest reads a manifest of the package.
func manifest(files fs.FS, name string) ([]*objects.Object, error) {
	if err := isFile(files, name); err != nil {
		return nil, err
	}
	info, err := fs.Stat(files, name)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxManifest {
		return nil, fmt.Errorf("is larger than %d MiB", maxManifest>>20)
	}
	text, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, err
	}
	return objects.Parse(name, text)
}

// manifests returns the objects of the manifests, with the numbers of pods for the scale levels.
func (w *work) manifests(ctx context.Context) ([]*objects.Object, error) {
	var all []*objects.Object
	var files []string // of the objects
	for _, name := range w.design.files {
		list, err := manifest(w.design.pkg, name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all, files = append(all, list...), append(files, slices.Repeat([]string{name}, len(list))...)
	}
	err := w.objects.Place(ctx, all, w.design.namespace)
	all, unequal := objects.Distinct(all, files)
	if err := errors.Join(err, unequal); err != nil {
		return nil, err
	}
	_, err = w.size(all, objects.Refs(all))
	return all, err
}

// checkManifests refuses objects of one name that differ. Kinds are not checked: the cluster may define them later.
func (w *work) checkManifests(ctx context.Context) error {
	if _, err := w.manifests(ctx); errors.Is(err, objects.ErrUnequal) {
		return &vnflcm.ParamError{Path: "additionalParams.lcm-kubernetes-def-files", Reason: err.Error()}
	}
	return nil
}

// apply is the step that creates the objects of the manifests. It stores the list of objects before it creates the
// first one: a later operation removes exactly these. If one cannot be applied, an instantiation removes them.
func (w *work) apply(ctx context.Context) error {
	return w.readyStep(ctx, "apply-manifests", func(ctx context.Context) error {
		all, err := w.manifests(ctx)
		if err != nil {
			return err
		}
		if err := w.storeObjects(ctx, objects.Refs(all)); err != nil {
			return err
		}
		if w.op.Kind == vnflcm.OpHeal {
			ran, err := w.asRan(ctx, objects.Manifest{Objects: all, Refs: objects.Refs(all)})
			if err != nil {
				return err
			}
			all = ran.Objects
		}
		if err := w.objects.Apply(ctx, all, w.owner()); err != nil {
			return w.undoApply(ctx, err)
		}
		return nil
	})
}

func (w *work) owner() objects.Owner {
	return objects.Owner{Instance: w.op.InstanceID, Adopted: w.adopted.uids()}
}

// objectsKey is the state key of the objects of the VNF.
const objectsKey = "kubernetes/objects"

// storeObjects stores the objects of the VNF in addition to the stored ones, so that the objects of an earlier attempt stay
// known.
func (w *work) storeObjects(ctx context.Context, refs []objects.Ref) error {
	known, err := w.storedObjects(ctx)
	if err != nil {
		return err
	}
	for _, r := range refs {
		known = append(known, objects.Ref{APIVersion: r.APIVersion, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name})
	}
	return w.op.State().Put(ctx, objectsKey, unique(known))
}

func unique(refs []objects.Ref) []objects.Ref {
	seen := map[objects.Ref]bool{}
	var out []objects.Ref
	for _, r := range refs {
		if !seen[r] {
			seen[r] = true
			out = append(out, r)
		}
	}
	return out
}

// storedObjects returns the stored objects of the VNF.
func (w *work) storedObjects(ctx context.Context) ([]objects.Ref, error) {
	var refs []objects.Ref
	err := w.op.State().Get(ctx, objectsKey, &refs)
	if errors.Is(err, vnflcm.ErrNotFound) {
		err = nil
	}
	return refs, err
}

// removeObjects removes exactly the objects that were applied, without those that stay because of their data and their
// namespaces, and waits until they and their pods no longer exist.
func (w *work) removeObjects(ctx context.Context, how removal) error {
	refs, err := w.storedObjects(ctx)
	if err != nil || len(refs) == 0 {
		return err
	}
	if refs, err = w.withoutData(ctx, refs, how.deletePVC); err != nil {
		return err
	}
	o := objects.DeleteOptions{Owner: w.owner()}
	if how.force || how.grace > 0 {
		o.Grace = &how.grace
	}
	return within(ctx, how.grace+w.cfg.Gone, func(ctx context.Context) error { return w.objects.Delete(ctx, refs, o) })
}
