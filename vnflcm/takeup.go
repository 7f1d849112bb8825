package vnflcm

import (
	"context"
	"errors"
)

// takeUpResult is the result of an attempt to take an operation up.
type takeUpResult int

const (
	notTakenUp takeUpResult = iota
	takenUp
	waits // until this process may run the operation beside its other ones
)

// takeUp continues an operation whose claim is as read, unless its holder has shown a sign of life meanwhile, or
// another process is faster. falls: this process is to run the operation, if not now then later.
func (m *Manager) takeUp(ctx context.Context, c seenClaim, holder Record, falls bool) (takeUpResult, error) {
	stored := c.stored
	if m.waitsStill(stored) {
		return waits, nil
	}
	t, err := m.examine(ctx, c)
	if err != nil {
		return notTakenUp, err
	}
	r, err := m.reserveFor(ctx, stored, t.suspicion(m.cfg.MaxTakeovers), falls)
	if r == nil || err != nil {
		return waits, err
	}
	if err := m.seize(ctx, r, stored, holder, t); err != nil {
		r.end(nil)
		if errors.Is(err, ErrConflict) {
			err = nil
		}
		return notTakenUp, err
	}
	if err = r.read(ctx); err != nil || !r.rec.Occ.OperationState.active() {
		r.park(ctx, err)
		r.end(nil)
		return notTakenUp, err
	}
	if t.next.Convicted {
		r.end(r.enterOutcome(r.ctx, r.rec.conviction(t))) //nolint:contextcheck // the work of the run
		return notTakenUp, nil
	}
	if stored.Index.State == string(claimHeld) || stored.Version > 1 { // a process had it before
		m.cfg.Logger.InfoContext(ctx, "the operation is taken over", "operation", stored.ID, "from", holder.ID, "deaths", len(t.next.Deaths))
		m.report(OperationTaken, &r.rec.Occ)
	}
	go r.work()
	return takenUp, nil
}

// waitsStill reports whether a suspected operation cannot be taken up for the same reason as at the last look. m.watching is held.
func (m *Manager) waitsStill(claim Record) bool {
	if version, is := m.waiting[claim.ID]; !is || version != claim.Version {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.admits(claim.ID, suspected)
}

// reserveFor makes the run of an operation that no process works on. It returns nil if this process has a run of the operation, or may
// not run it beside its other operations. m.watching is held.
func (m *Manager) reserveFor(ctx context.Context, claim Record, level suspicion, falls bool) (*run, error) {
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
	r, _, err := m.reserveLocked(ctx, claim.ID)
	if err == nil {
		m.suspect(r, level)
	}
	return r, err
}

// seize transfers a claim that is as stored to a run. If holder is a process, its record must be unchanged.
func (m *Manager) seize(ctx context.Context, r *run, stored, holder Record, t takeover) error {
	r.claim.epoch, r.claim.accepted = stored.Version, stored.Index.Start
	return m.process.assert(ctx, func(self Record) error {
		b := Batch{Assert: []Record{self}}
		if holder.ID != "" {
			b.Assert = append(b.Assert, holder)
		}
		err := errors.Join(t.write(&b, r.claim), r.claim.pass(&b, claimHeld))
		if err == nil {
			err = r.claim.apply(ctx, b)
		}
		return err
	})
}

// park gives up a claim on an operation that cannot continue: it is missing, unreadable or not active. A store that
// does not answer is not a reason to park.
func (r *run) park(ctx context.Context, err error) {
	var b Batch
	switch {
	case errors.Is(err, ErrNotFound):
		r.claim.end(&b)
	case err == nil || errors.Is(err, ErrUnreadable):
		_ = r.claim.pass(&b, claimParked)
	}
	_ = r.claim.apply(ctx, b) // tried again when the claim is seen the next time
}

// isRunning reports whether this process works on the operation.
func (m *Manager) isRunning(opID string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.runs[opID] != nil
}
