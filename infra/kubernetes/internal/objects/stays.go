package objects

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	return c.patch(ctx, RefOf(o), map[string]any{"metadata": map[string]any{"annotations": map[string]any{keepPolicy: "keep"}}})
}

// KeepClaim has Kubernetes leave a claim on the cluster when it deletes the StatefulSet that made the claim. By default it does, but
// whenDeleted: Delete makes the StatefulSet its owner.
func (c *Client) KeepClaim(ctx context.Context, set *Object, claim Ref) error {
	policy := map[string]any{"spec": map[string]any{"persistentVolumeClaimRetentionPolicy": map[string]any{"whenDeleted": "Retain"}}}
	if err := c.patch(ctx, RefOf(set), policy); err != nil {
		return err
	}
	o, err := c.Get(ctx, claim)
	if err != nil || o == nil {
		return err
	}
	// The controller of StatefulSets does not visit claims of pods that a scaling has removed.
	owners := slices.DeleteFunc(o.GetOwnerReferences(), func(of metav1.OwnerReference) bool { return of.UID == set.GetUID() })
	return c.patch(ctx, RefOf(o), map[string]any{"metadata": map[string]any{"ownerReferences": owners}})
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
