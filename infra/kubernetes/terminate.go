package kubernetes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/infra/kubernetes/internal/objects"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// removal says how pods are deleted.
type removal struct {
	grace     time.Duration // time for pods to end; 0: their own terminationGracePeriodSeconds
	force     bool          // no time at all
	deletePVC bool          // and the volume claims
}

// defaultGrace is the time for pods to end in a graceful termination whose request gives none.
const defaultGrace = 2 * time.Minute

func (w *work) removal() removal {
	r := removal{force: w.op.Terminate.TerminationType == vnflcm.TerminateForceful}
	if r.force {
		return r
	}
	r.grace = defaultGrace
	if n := w.op.Terminate.GracefulTerminationTimeout; n > 0 {
		r.grace = time.Duration(n) * time.Second
	}
	return r
}

// Terminate implements vnflcm.InfraDriver: it removes the releases, or exactly the objects that were applied, waits
// until they and their pods no longer exist, and removes the charts and repositories. A forceful termination gives pods
// no time to end; a graceful one gracefulTerminationTimeout seconds, by default 120.
//
// Volume claims contain the VNF's data and stay, unless additionalParams.delete_pvc is true: those of StatefulSets, of charts,
// of hooks and of manifests. PersistentVolumes stay while a claim is bound to them. Other objects with the annotation
// helm.sh/resource-policy: keep stay as well. The namespace is removed if it was created for the VNF and contains neither these
// nor objects of other clients. A warning of the operation names what is left.
func (d *Driver) Terminate(ctx context.Context, op *vnflcm.Operation) error {
	w, err := d.begin(ctx, op)
	if err != nil {
		return err
	}
	defer w.close()
	if err := w.warnOfManagers(ctx); err != nil {
		return err
	}
	if err := vnflcm.Do(ctx, op, "remove", "", w.removeAll); err != nil {
		return err
	}
	if err := vnflcm.Do(ctx, op, "remove-namespace", "", w.removeNamespace); err != nil {
		return err
	}
	if w.helm != nil {
		if err := vnflcm.Do(ctx, op, "forget-charts", "", w.forget); err != nil {
			return err
		}
	}
	return w.warnOfLeft(ctx)
}

func (w *work) removeAll(ctx context.Context) error {
	how := w.removal()
	var err error
	if how.deletePVC, err = w.deletesClaims(ctx); err != nil {
		return err
	}
	if w.helm != nil {
		w.keepUnfinished(ctx)
	}
	claims, err := w.claims(ctx)
	if apierrors.IsForbidden(err) && !how.deletePVC {
		w.op.Log.WarnContext(ctx, "the volume claims of StatefulSets cannot be listed: they stay", "error", err)
		err = nil
	}
	if err == nil {
		err = w.leaveData(ctx, claims, how)
	}
	if err != nil {
		return err
	}
	volumes, err := w.storedVolumes(ctx)
	if err != nil {
		return err
	}
	if w.helm != nil {
		var names []string
		for _, r := range w.design.releases {
			names = append(names, r.name)
		}
		err = w.removeReleases(ctx, names, how)
	} else {
		err = w.removeObjects(ctx, how)
	}
	if err != nil {
		return err
	}
	if how.deletePVC {
		if err := w.deleteByUID(ctx, claims); err != nil {
			return err
		}
	}
	if err := w.removeVolumes(ctx, volumes); err != nil {
		return err
	}
	return errors.Join(w.op.State().Delete(ctx, objectsKey), w.op.State().Delete(ctx, volumesKey))
}

// removeReleases uninstalls releases, the last first, and waits until their pods no longer exist.
func (w *work) removeReleases(ctx context.Context, names []string, how removal) error {
	pods, err := w.podsNow(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for i := len(names) - 1; i >= 0; i-- {
		w.op.Report(ctx, "uninstall release "+names[i])
		uninstall := helmclient.Uninstall{Wait: helmclient.Wait{Ready: true}, KeepClaims: !how.deletePVC, KeepVolumes: true}
		if err := w.uninstallOne(ctx, names[i], uninstall); err != nil {
			if errors.Is(err, ErrForeignRelease) {
				w.op.Log.WarnContext(ctx, "left alone", "reason", err)
				continue
			}
			errs = append(errs, fmt.Errorf("release %s: %w", names[i], err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return w.withHeld(ctx, err)
	}
	return w.podsGone(ctx, pods, how)
}

// leaveData stores which objects stay because of their data.
func (w *work) leaveData(ctx context.Context, claims []objects.Ref, how removal) error {
	refs, err := w.storedObjects(ctx)
	if err != nil {
		return err
	}
	staying, err := w.staying(ctx, slices.Concat(refs, claims), how.deletePVC)
	if err != nil {
		return err
	}
	var texts []string
	for _, r := range staying {
		texts = append(texts, r.String())
	}
	return w.leave(ctx, texts)
}

// forget removes repositories and charts.
func (w *work) forget(ctx context.Context) error {
	if err := w.forgetCharts(ctx); err != nil {
		return err
	}
	for _, name := range w.repositories() {
		if err := w.helm.RemoveRepository(ctx, name); err != nil {
			w.op.Log.WarnContext(ctx, "the repository is not removed", "repository", name, "error", err)
		}
	}
	err := w.helm.forget(ctx)
	if errors.Is(err, helmclient.ErrUnreachable) && ctx.Err() == nil { // an unreachable machine must not prevent termination
		w.op.Log.WarnContext(ctx, "charts are left on machines that cannot be reached", "error", err)
		return nil
	}
	return err
}

func (w *work) repositories() []string {
	var names []string
	for _, r := range w.design.releases {
		if r.chart.repository != nil {
			names = append(names, r.chart.repository.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// podsGone waits until pods whose workload was deleted no longer exist. Pods that exceed their time are deleted without
// further grace.
func (w *work) podsGone(ctx context.Context, pods []objects.Pod, how removal) error {
	left := slices.Clone(pods)
	if !how.force {
		if err := within(ctx, cmp.Or(how.grace, w.cfg.Gone), func(ctx context.Context) error { return w.pollGone(ctx, &left) }); err == nil || ctx.Err() != nil {
			return err
		}
	}
	none := time.Duration(0)
	return within(ctx, w.cfg.Gone, func(ctx context.Context) error {
		return w.objects.Delete(ctx, podRefs(left), objects.DeleteOptions{Owner: w.owner(), Grace: &none})
	})
}

// errStill: pods still exist.
var errStill = errors.New("pods are still there")

// pollGone removes deleted pods from the list until it is empty.
func (w *work) pollGone(ctx context.Context, left *[]objects.Pod) error {
	return w.cluster.Retry(ctx, func(err error) bool { return errors.Is(err, errStill) }, func(ctx context.Context) error {
		var still []objects.Pod
		var names []string
		for _, p := range *left {
			now, err := w.objects.Get(ctx, p.Ref())
			if err != nil {
				return err
			}
			if now != nil {
				still, names = append(still, p), append(names, p.Namespace+"/"+p.Name)
			}
		}
		if *left = still; len(still) == 0 {
			return nil
		}
		w.op.Report(ctx, fmt.Sprintf("%d pods are still there", len(still)))
		return fmt.Errorf("%w: %v", errStill, names)
	})
}

// withHeld adds to the error of a removal that timed out what holds the objects of this VNF: the helm program does not say it.
func (w *work) withHeld(ctx context.Context, err error) error {
	if !errors.Is(err, helmclient.ErrNotReady) {
		return err
	}
	refs, unknown := w.storedObjects(ctx)
	if unknown != nil {
		return errors.Join(err, unknown)
	}
	held, unread := w.objects.Held(ctx, refs)
	if unread != nil {
		return errors.Join(err, unread)
	}
	var texts []string
	for _, h := range held {
		if !strings.Contains(err.Error(), h.Reason) {
			texts = append(texts, h.String()+": "+h.Reason)
		}
	}
	if len(texts) == 0 {
		return err
	}
	return fmt.Errorf("%w; still there: %s", err, strings.Join(texts, "; "))
}
