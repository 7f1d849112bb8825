package vnflcm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Wait returns the operation after the work on it has ended: it has ended, or is in FAILED_TEMP. The error is the
// reason if it did not succeed; errors.Is finds its codes and, if this process ran it, errors.As the errors of the
// drivers. ErrShutdown means that this Manager was closed before.
//
// For an operation that was rolled back, the error is the reason for which it was rolled back.
func (m *Manager) Wait(ctx context.Context, opID string) (*VnfLcmOpOcc, error) {
	poll := newPoll()
	m.startWatching(ctx)
	for {
		changed := m.changed.wait() // before the operation is read: no change is missed
		if err := m.waitHere(ctx, opID); err != nil {
			return nil, err
		}
		occ, err := m.Operation(ctx, opID)
		if err != nil {
			return nil, causeOf(ctx, err)
		}
		if !occ.OperationState.active() {
			return occ, m.why(occ)
		}
		if err := m.shutdown(); err != nil {
			return nil, err // it may be this process that left it
		}
		select {
		case <-ctx.Done():
			return occ, fmt.Errorf("waiting for operation %s, which is %s: %w", opID, occ.OperationState, context.Cause(ctx))
		case <-changed:
		case <-time.After(poll.NextBackOff()):
		}
	}
}

// newPoll returns the pauses between reads of a store that cannot report changes.
func newPoll() *backoff.ExponentialBackOff {
	poll := backoff.NewExponentialBackOff()
	poll.InitialInterval, poll.MaxInterval = 20*time.Millisecond, 2*time.Second
	return poll
}

func (m *Manager) isClosed() bool { return m.shutdown() != nil }

// shutdown returns the ErrShutdown of a Manager that is closed, or whose store has been migrated to a newer format; nil otherwise.
func (m *Manager) shutdown() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrShutdown
	}
	return m.records.Closed()
}

// waitHere waits for the work of this process on an operation, if there is any. The error says why the operation was left
// to another process, or that ctx has ended.
func (m *Manager) waitHere(ctx context.Context, opID string) error {
	m.mu.Lock()
	r := m.runs[opID]
	m.mu.Unlock()
	if r == nil {
		return nil
	}
	select {
	case <-r.done:
		if errors.Is(r.left, ErrShutdown) {
			return errors.Join(r.left, r.err)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for operation %s: %w", opID, context.Cause(ctx))
	}
}

// why returns the error of an operation that no process works on: as this process knows it, or as it was stored.
func (m *Manager) why(occ *VnfLcmOpOcc) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.outcomes.of(occ); err != nil {
		return err
	}
	if occ.Error == nil {
		return nil
	}
	return occ.Error
}
