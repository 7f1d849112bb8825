package objects

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// keepPolicy is the annotation of objects that Helm does not delete if its value is "keep". In manifests it means the same.
const keepPolicy = "helm.sh/resource-policy"

// Keeps reports whether an object says that it must not be deleted.
func Keeps(o *Object) bool { return o.GetAnnotations()[keepPolicy] == "keep" }

// Keep makes an object say that it must not be deleted. It succeeds if the object does not exist.
func (c *Client) Keep(ctx context.Context, r Ref) error {
	o, err := c.Get(ctx, r)
	if err != nil || o == nil || Keeps(o) {
		return err
	}
	return c.patch(ctx, RefOf(o), map[string]any{"annotations": map[string]any{keepPolicy: "keep"}})
}

// IsClaim reports whether an object is a PersistentVolumeClaim.
func (r Ref) IsClaim() bool { return r.gvk().GroupKind() == claimKind.GroupKind() }

// IsVolume reports whether an object is a PersistentVolume.
func (r Ref) IsVolume() bool { return r.gvk() == volumeKind }

// Claimed reports whether a PersistentVolume is bound to a claim that exists. Kubernetes deletes a volume only after its claim.
func (c *Client) Claimed(ctx context.Context, volume *Object) (bool, error) {
	name, uid := field(volume, "spec", "claimRef", "name"), field(volume, "spec", "claimRef", "uid")
	if name == "" {
		return false, nil
	}
	claim, err := c.Get(ctx, Ref{APIVersion: claimKind.Version, Kind: claimKind.Kind, Namespace: field(volume, "spec", "claimRef", "namespace"), Name: name})
	return claim != nil && (uid == "" || uid == string(claim.GetUID())), err
}

// Staying returns the objects among refs that exist and that a termination leaves, with their UIDs: claims, and objects that say
// that they must not be deleted. Objects that are deleted with their owner, and objects that the client may not read, are not
// among them.
func (c *Client) Staying(ctx context.Context, refs []Ref) ([]Ref, error) {
	found := make([]*Object, len(refs))
	err := each(ctx, refs, func(ctx context.Context, i int, r Ref) (err error) {
		found[i], err = c.Get(ctx, r)
		if apierrors.IsForbidden(err) {
			return nil
		}
		return err
	})
	var out []Ref
	for _, o := range found {
		if o != nil && len(o.GetOwnerReferences()) == 0 && (RefOf(o).IsClaim() || Keeps(o)) {
			out = append(out, RefOf(o))
		}
	}
	return out, err
}
