package vnflcm

import (
	"context"
	"errors"
	"fmt"

	"github.com/vnfkit/vnfkit/vnflcm/internal/ledger"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// take makes this process work on an operation whose claim is as read and that no living process works on. It returns a run that has the
// claim and has read the operation; nil if this process has a run of the operation, or may not run it beside its other ones now.
// falls: this process is to run the operation, if not now then later. ErrLeased: the holder has shown a sign of life meanwhile,
// or another process was faster.
func (m *Manager) take(ctx context.Context, c seenClaim, holder store.Record, falls bool) (*run, takeover, error) {
	if m.waitsStill(c.stored) {
		return nil, takeover{}, nil
	}
	t, err := m.examine(ctx, c)
	if err != nil {
		return nil, t, err
	}
	r, err := m.reserveFor(ctx, c.stored, t.suspicion(m.cfg.MaxTakeovers), falls)
	if r == nil || err != nil {
		return nil, t, err
	}
	if err = r.seize(ctx, c.stored, holder, t); errors.Is(err, ErrConflict) {
		err = fmt.Errorf("%w: another process was faster to take operation %s", ErrLeased, c.stored.ID)
	} else if err == nil {
		err = r.readTaken(ctx)
	}
	if err != nil {
		r.end(nil)
		return nil, t, err
	}
	return r, t, nil
}

// waitsStill reports whether a suspected operation cannot be taken up for the same reason as at the last look.
func (m *Manager) waitsStill(claim store.Record) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	version, is := m.waiting[claim.ID]
	return is && version == claim.Version && !m.admits(claim.ID, suspected)
}

// reserveFor makes the run of an operation that no process works on. It returns nil if this process has a run of the operation, or may
// not run it beside its other operations, or has reached its Limit.
func (m *Manager) reserveFor(ctx context.Context, claim store.Record, level suspicion, falls bool) (*run, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.runs[claim.ID] != nil {
		return nil, nil
	}
	if !m.admits(claim.ID, level) {
		if level == isolated && falls {
			m.await(claim.ID)
		}
		if level != unsuspected && m.waiting[claim.ID] != claim.Version {
			m.waiting[claim.ID] = claim.Version
			m.cfg.Logger.WarnContext(ctx, "the operation waits: processes have ended while they worked on it, and it may not run beside those of this process",
				"operation", claim.ID)
		}
		return nil, nil
	}
	if m.works() && len(m.runs) >= m.cfg.Limit { // this process has accepted others since it looked
		return nil, nil
	}
	r, _, err := m.reserveLocked(ctx, claim.ID)
	if err == nil {
		m.suspect(r, level)
	}
	return r, err
}

// seize transfers a claim that is as stored to a run. If holder is a process, its record must be unchanged.
func (r *run) seize(ctx context.Context, stored, holder store.Record, t takeover) error {
	r.claim.Replace(stored)
	var b store.Batch
	if holder.ID != "" {
		b.Assert = append(b.Assert, holder)
	}
	if err := t.write(&b, r.claim); err != nil {
		return err
	}
	return r.claim.Take(ctx, b, ledger.Held)
}

// readTaken reads an operation whose claim was taken. It parks the claim on an operation that cannot continue: it is missing, unreadable
// or not active. If the store does not answer, the claim is given up later.
func (r *run) readTaken(ctx context.Context) error {
	err := r.read(ctx)
	if err == nil && r.rec.Occ.OperationState.active() {
		return nil
	}
	var b store.Batch
	switch {
	case errors.Is(err, ErrNotFound):
		r.claim.End(&b)
	case err == nil:
		err = fmt.Errorf("%w: operation %s is %s", ErrLeased, r.claim.ID(), r.rec.Occ.OperationState)
		_ = r.claim.Pass(&b, ledger.Parked)
	case errors.Is(err, ErrUnreadable):
		_ = r.claim.Pass(&b, ledger.Parked)
	default:
		r.m.noteLost(r.claim)
		return err
	}
	_ = r.claim.Apply(ctx, b) // tried again when the claim is seen the next time
	return err
}

// isRunning reports whether this process works on the operation.
func (m *Manager) isRunning(opID string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.runs[opID] != nil
}
