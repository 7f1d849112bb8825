package inprocess

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vnfkit/vnfkit/helmclient"
)

// last returns the newest record of the release, nil if the release does not exist.
func (k *Call) last() (*Record, error) {
	r, err := k.helm.Last()
	if errors.Is(err, k.client.helm.ReleaseNotFound) {
		return nil, nil
	}
	return r, k.explain(err, nil)
}

// recover reads the newest record before a release is changed. If it is pending, another client works on the release,
// and recover returns an error, unless the record has been pending for longer than stale. Then recover marks it as
// failed, and marked is its state before that. The record is kept.
func (k *Call) recover(stale time.Duration) (last *Record, marked helmclient.State, err error) {
	last, err = k.last()
	if err != nil || last == nil {
		return nil, "", err
	}
	state, since := last.State, last.begun()
	if !state.Pending() {
		return last, "", nil
	}
	if stale <= 0 || time.Since(since) < stale {
		return nil, "", &helmclient.StaleError{Release: k.Name, State: state, Since: since, Busy: true}
	}
	k.Debug("release was %s since %s: marked as failed", state, since)
	why := fmt.Sprintf("marked as failed by vnfkit: %s since %s, and never finished", state, since.UTC().Format(time.RFC3339))
	if err := k.helm.Update(last, helmclient.Failed, why); err != nil {
		stuck := &helmclient.StaleError{Release: k.Name, State: state, Since: since}
		return nil, "", fmt.Errorf("%w: it could not be marked as failed: %w", stuck, k.explain(err, nil))
	}
	return last, state, nil
}

// failPending marks a revision that this call created and left pending as failed, after the call has failed. Helm
// leaves it pending if a hook of a rollback fails, and if the final record cannot be written.
func (k *Call) failPending(before int, failed error) {
	if failed == nil || errors.Is(failed, k.client.helm.ReleaseExists) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(k.ctx), recordGrace)
	defer cancel()
	again, end, err := k.client.open(ctx, k.Name, false)
	if err != nil {
		return
	}
	defer end()
	r, err := again.last()
	if err != nil || r == nil || r.Revision <= before || !r.State.Pending() || r.State == helmclient.Uninstalling {
		return
	}
	if err := again.helm.Update(r, helmclient.Failed, fmt.Sprintf("Release %q failed: %v", k.Name.Release, failed)); err != nil {
		k.Debug("revision %d stays %s: %v", r.Revision, r.State, err)
	}
}
