package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/infra/kubernetes/internal/objects"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// adoptedKey is the state key of what the VNF instance has adopted.
const adoptedKey = "kubernetes/adopted"

// adopted is what another program has made for the VNF. It has no label of the instance: a release gets the label with its first
// upgrade, an object of a manifest when a heal of the whole VNF applies it.
type adopted struct {
	Releases map[string]adoptedRelease `json:"releases,omitempty"` // by name
	Objects  []objects.Ref             `json:"objects,omitempty"`  // of manifests, with their UIDs
	Managers []objects.Ref             `json:"managers,omitempty"` // objects of Flux that may undo the changes of operations

	owned []string // while adopting: the UIDs of the objects that belong to the VNF alone
}

// adoptedRelease is the revision of a release that was adopted.
type adoptedRelease struct {
	Revision int       `json:"revision"`
	Updated  time.Time `json:"updated"`
}

// adoptedBy returns what the VNF instance has adopted.
func adoptedBy(ctx context.Context, op *vnflcm.Operation) (a adopted, err error) {
	err = op.State().Get(ctx, adoptedKey, &a)
	if errors.Is(err, vnflcm.ErrNotFound) {
		err = nil
	}
	return a, err
}

// isAdopted reports whether a release without a label of an instance is an adopted one. A release that another client has
// uninstalled and installed again begins with revision 1: the adopted revision is older, or has another time.
func (w *work) isAdopted(ctx context.Context, r *helmclient.Release) (bool, error) {
	was, known := w.adopted.Releases[r.Release]
	if !known || r.Labels[objects.Label] != "" || r.Revision <= was.Revision {
		return known && r.Labels[objects.Label] == "" && was.isRevision(r), nil
	}
	history, err := w.helm.History(ctx, r.Name)
	if err != nil {
		return false, err
	}
	i := slices.IndexFunc(history, func(h helmclient.Release) bool { return h.Revision == was.Revision })
	return i < 0 || was.isRevision(&history[i]), nil // Helm keeps the last revisions only
}

// isRevision reports whether r is the revision that was adopted.
func (a adoptedRelease) isRevision(r *helmclient.Release) bool {
	return r.Revision == a.Revision && r.Updated.Equal(a.Updated)
}

func (a adopted) has(r objects.Ref) bool {
	return slices.ContainsFunc(a.Objects, func(o objects.Ref) bool { o.UID = ""; return o == r })
}

func (a adopted) uids() (out []types.UID) {
	for _, r := range a.Objects {
		out = append(out, r.UID)
	}
	return out
}

// warnOfManagers warns of the objects of Flux that may undo what the operation changes in adopted objects.
func (w *work) warnOfManagers(ctx context.Context) error {
	for _, r := range w.adopted.Managers {
		now, err := w.objects.Get(ctx, r)
		if err != nil {
			return err
		}
		if now != nil && !objects.Suspended(now) {
			w.op.Warn(ctx, fightsBack(r))
		}
	}
	return nil
}

func fightsBack(manager objects.Ref) string {
	return fmt.Sprintf("%s of Flux manages objects of the VNF and may undo what operations change: suspend it", manager)
}
