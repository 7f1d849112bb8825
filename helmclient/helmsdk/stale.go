package helmsdk

import (
	"context"
	"errors"
	"fmt"
	"time"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"

	"github.com/vnfkit/vnfkit/helmclient"
)

// last is the newest record of the release of the call, nil when there is none.
func (k *call) last() (*release.Release, error) {
	r, err := k.cfg.Releases.Last(k.name.Release)
	if errors.Is(err, driver.ErrReleaseNotFound) {
		return nil, nil
	}
	return r, k.explain(err, nil)
}

// recover looks at the newest record before a release is changed. One that is pending is somebody else's work: an error,
// unless it has been so for longer than stale; then it is marked as failed, and marked is what it was. Its record is kept.
func (k *call) recover(stale time.Duration) (last *release.Release, marked helmclient.State, err error) {
	last, err = k.last()
	if err != nil || last == nil {
		return nil, "", err
	}
	state, since := helmclient.State(last.Info.Status), begun(last)
	if !state.Pending() {
		return last, "", nil
	}
	if stale <= 0 || time.Since(since) < stale {
		return nil, "", &helmclient.StaleError{Release: k.name, State: state, Since: since, Busy: true}
	}
	last.SetStatus(release.StatusFailed, fmt.Sprintf("marked as failed by vnfkit: %s since %s, and never finished",
		state, since.UTC().Format(time.RFC3339)))
	k.debug("release was %s since %s: marked as failed", state, since)
	if err := k.cfg.Releases.Update(last); err != nil {
		stuck := &helmclient.StaleError{Release: k.name, State: state, Since: since}
		return nil, "", fmt.Errorf("%w: it could not be marked as failed: %w", stuck, k.explain(err, nil))
	}
	return last, state, nil
}

// begun is when the last operation on a release began.
func begun(r *release.Release) time.Time {
	if r.Info.Status == release.StatusUninstalling && r.Info.Deleted.After(r.Info.LastDeployed) {
		return r.Info.Deleted.Time
	}
	return r.Info.LastDeployed.Time
}

// settle sees to it that a revision that this call has made is not left pending when the call has failed: Helm leaves it
// so when a hook of a rollback fails, and when what it would record cannot be written at that time.
func (k *call) settle(before int, failed error) {
	if failed == nil || errors.Is(failed, driver.ErrReleaseExists) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(k.ctx), recordGrace)
	defer cancel()
	again, end, err := k.client.open(ctx, k.name, false)
	if err != nil {
		return
	}
	defer end()
	r, err := again.last()
	if err != nil || r == nil || r.Version <= before || !r.Info.Status.IsPending() {
		return
	}
	r.SetStatus(release.StatusFailed, fmt.Sprintf("Release %q failed: %v", r.Name, failed))
	if err := again.cfg.Releases.Update(r); err != nil {
		k.debug("revision %d stays %s: %v", r.Version, r.Info.Status, err)
	}
}
