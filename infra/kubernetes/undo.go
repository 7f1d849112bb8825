package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/infra/kubernetes/internal/objects"
	"github.com/vnfkit/vnfkit/internal/kubeaccess"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// undoTime bounds the removal of one release, or of the objects of manifests, after a failed installation.
const undoTime = time.Minute

// undo uninstalls the releases of a failed installation, the last first, and returns the error with the state of their pods
// before. It has separate time limits, because that of the operation may be over. An operation that another process
// continues is not undone, nor a heal: its objects have the data of the VNF.
func (w *work) undo(ctx context.Context, err error, releases []string) error {
	if continuesElsewhere(ctx) || w.op.Kind == vnflcm.OpHeal {
		return err
	}
	refs := append(hooksIn(err), w.refsBefore(ctx, releases)...)
	errs := []error{w.withState(ctx, err, refs, func(o *objects.Object) bool {
		return slices.Contains(releases, o.GetAnnotations()["meta.helm.sh/release-name"]) || o.GetAnnotations()["helm.sh/hook"] != ""
	})}
	deletesClaims, unknown := w.deletesClaims(context.WithoutCancel(ctx))
	volumes, unread := w.volumes(context.WithoutCancel(ctx), refs)
	errs = append(errs, unknown, unread)
	for _, name := range slices.Backward(releases) {
		errs = append(errs, undoing(ctx, "release "+name+" could not be uninstalled", func(ctx context.Context) error {
			err := w.uninstallOne(ctx, name, helmclient.Uninstall{KeepClaims: !deletesClaims, KeepVolumes: !deletesClaims})
			if errors.Is(err, ErrForeignRelease) {
				return nil
			}
			return err
		}))
	}
	if !deletesClaims {
		errs = append(errs, undoing(ctx, "volumes could not be removed", func(ctx context.Context) error { return w.removeVolumes(ctx, volumes) }))
	}
	return errors.Join(errs...)
}

// refsBefore returns the objects of releases that are about to be uninstalled, without those of other clients' releases.
func (w *work) refsBefore(ctx context.Context, releases []string) (refs []objects.Ref) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
	defer cancel()
	for _, name := range releases {
		now, err := w.find(ctx, name)
		if err != nil || now == nil {
			continue
		}
		if of, err := w.refsOf(ctx, name); err == nil {
			refs = append(refs, of...)
		}
	}
	return refs
}

// undoApply removes the objects of manifests whose application failed, as undo does.
func (w *work) undoApply(ctx context.Context, err error) error {
	if continuesElsewhere(ctx) || w.op.Kind != vnflcm.OpInstantiate {
		return err
	}
	refs, unknown := w.storedObjects(context.WithoutCancel(ctx))
	if unknown != nil {
		return errors.Join(err, unknown)
	}
	err = w.withState(ctx, err, refs, func(o *objects.Object) bool { return o.GetLabels()[objects.Label] == w.op.InstanceID })
	return errors.Join(err, undoing(ctx, "the objects could not be removed", func(ctx context.Context) error {
		deletesClaims, err := w.deletesClaims(ctx)
		if err != nil {
			return err
		}
		volumes, err := w.volumes(ctx, refs)
		if err == nil {
			refs, err = w.withoutData(ctx, refs, deletesClaims)
		}
		if err == nil {
			err = w.objects.Delete(ctx, refs, objects.DeleteOptions{Owner: w.owner()})
		}
		if err != nil {
			return err
		}
		return w.removeVolumes(ctx, volumes)
	}))
}

// undoing calls do with a separate time limit.
func undoing(ctx context.Context, failed string, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), undoTime, kubeaccess.Overdue(undoTime))
	defer cancel()
	if err := do(ctx); err != nil {
		return fmt.Errorf("and %s: %w", failed, err)
	}
	return nil
}

// hooksIn returns the Jobs and pods that an error of Helm names, which are hooks.
func hooksIn(err error) (refs []objects.Ref) {
	e, ok := errors.AsType[*helmclient.NotReadyError](err)
	if !ok {
		return nil
	}
	versions := map[string]string{"Job": "batch/v1", "Pod": "v1"}
	for _, o := range e.Objects {
		if version := versions[o.Kind]; version != "" {
			refs = append(refs, objects.Ref{APIVersion: version, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name})
		}
	}
	return refs
}

// withState adds the state of this VNF's objects to an error before they are removed: the last warnings about them, and the
// last lines of their failed containers.
func (w *work) withState(ctx context.Context, err error, refs []objects.Ref, mine func(*objects.Object) bool) error {
	found, unread := w.objects.Explain(ctx, refs, mine)
	if unread != nil {
		w.op.Log.WarnContext(ctx, "the state of the objects before they are removed cannot be read", "error", unread)
	}
	hooks := hooksIn(err)
	var texts []string
	for _, o := range found {
		if slices.ContainsFunc(hooks, func(r objects.Ref) bool { return r.Kind == o.Kind && r.Name == o.Name }) {
			texts = append(texts, missingIn(err.Error(), slices.Concat(o.Pods, o.Events, o.Logs))...)
		} else if len(o.Events) > 0 || len(o.Logs) > 0 {
			texts = append(texts, o.String())
		}
	}
	if len(texts) == 0 {
		return err
	}
	return fmt.Errorf("%w; before it was undone: %s", err, strings.Join(texts, "; "))
}

// missingIn returns the texts that a text does not contain: Helm in the process has explained its hooks, the helm program
// has not.
func missingIn(text string, texts []string) []string {
	return slices.DeleteFunc(texts, func(t string) bool { return strings.Contains(text, t) })
}
