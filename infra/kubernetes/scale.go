package kubernetes

import (
	"context"
	"errors"
	"fmt"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// Scale implements vnflcm.InfraDriver. If the number of pods of a VDU is a value of a chart, Scale upgrades the release
// with a new value and keeps all other values, fields that depend on chance, and fields that other clients have changed. The
// workloads of other VDUs are scaled directly. Their number follows from the scale levels, unless an autoscaler sets it.
//
// Rolling back restores the values that a release had before.
func (d *Driver) Scale(ctx context.Context, op *vnflcm.Operation) error {
	w, err := d.begin(ctx, op)
	if err != nil {
		return err
	}
	defer w.close()
	if err := w.warnOfManagers(ctx); err != nil {
		return err
	}
	if err := w.markLeaving(ctx); err != nil {
		return err
	}
	if w.helm != nil {
		if err := w.upgrade(ctx); err != nil {
			return err
		}
	}
	if err := w.resize(ctx); err != nil {
		return err
	}
	return w.await(ctx)
}

// markLeaving is the step that marks the pods of the VNFCs to remove, so that controllers delete these.
func (w *work) markLeaving(ctx context.Context) error {
	if len(w.op.Change.Removed) == 0 {
		return nil
	}
	return w.readyStep(ctx, "mark-pods", func(ctx context.Context) error {
		pods, err := w.podsOf(ctx, w.op.Change.Removed)
		if err != nil || len(pods) == 0 {
			return err
		}
		return w.objects.MarkForRemoval(ctx, pods)
	})
}

// upgrade is the step that changes the values that count pods.
func (w *work) upgrade(ctx context.Context) error {
	return vnflcm.Do(ctx, w.op, "upgrade-releases", "", func(ctx context.Context) error {
		for _, r := range w.design.releases {
			counts, err := w.counts(r.name)
			if err != nil {
				return err
			}
			if len(counts) == 0 {
				continue
			}
			if err := w.changeOne(ctx, r); err != nil {
				return fmt.Errorf("release %s: %w", r.name, err)
			}
		}
		return w.keepReleases(ctx)
	})
}

func (w *work) changeOne(ctx context.Context, r release) error {
	now, err := w.find(ctx, r.name)
	if err != nil {
		return err
	}
	if now == nil {
		return fmt.Errorf("%w: heal the whole VNF to install it again", helmclient.ErrNotFound)
	}
	if w.op.RollingBack {
		was, err := w.was(ctx, r.name)
		if err != nil || was.Operation != w.op.ID {
			return err // it was not changed
		}
		return w.goBack(ctx, r, now, was)
	}
	if w.done(now) {
		return nil
	}
	request, err := w.request(ctx, r, now)
	if err == nil {
		request.Stale, err = w.recordPreviousRevision(ctx, r.name, now)
	}
	if err != nil {
		return err
	}
	return w.upgradeOne(ctx, r, request, now, false)
}

// goBack rolls a release back to the revision before the operation, once.
func (w *work) goBack(ctx context.Context, r release, now *helmclient.Release, was before) error {
	description := rollbackMark(w.op.ID)
	if now.Revision == was.Revision || now.State == helmclient.Deployed && now.Description == description {
		return nil
	}
	if now.State == helmclient.Deployed {
		request, err := w.request(ctx, r, now)
		if err == nil {
			request.Description, request.Stale = description, ownStale
			return w.undoChange(ctx, r, request, now, was)
		}
		w.op.Log.WarnContext(ctx, "fields that other clients have changed are reset: the chart cannot be had, so Helm rolls back", "release", r.name, "error", err)
	}
	return w.takeUp(ctx, func() error {
		_, err := w.helm.Rollback(ctx, helmclient.Rollback{Name: now.Name, Revision: was.Revision, Description: description,
			Wait: helmclient.Wait{Timeout: w.cfg.Hooks}, Stale: ownStale})
		return err
	})
}

// undoChange gives a release the values of the revision before the operation. Unlike Helm's rollback it keeps fields that
// other clients have changed, such as numbers of pods under an autoscaler.
func (w *work) undoChange(ctx context.Context, r release, request helmclient.Install, now *helmclient.Release, was before) error {
	var values releaseValues
	var err, err2 error
	values.before, err = w.recordedValues(ctx, r, now.Revision)
	values.after, err2 = w.recordedValues(ctx, r, was.Revision)
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	u := helmclient.Upgrade{Install: request, Reuse: helmclient.ReuseReset, MaxHistory: was.historyFrom(now)}
	return w.takeUp(ctx, func() error {
		_, err := w.helm.Upgrade(ctx, w.onlyChange(u, now.Revision, values))
		return err
	})
}
