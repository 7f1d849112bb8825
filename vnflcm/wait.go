package vnflcm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Wait returns the operation once nobody works on it any more: it has ended, or is in FAILED_TEMP. The error
// is why, if it did not end well; errors.Is finds its codes and, if this process ran it, errors.As whatever
// the drivers returned. ErrShutdown means that this Manager was closed before.
//
// An operation that was rolled back has ended as well: the error then is the one it was rolled back for.
func (m *Manager) Wait(ctx context.Context, opID string) (*VnfLcmOpOcc, error) {
	poll := backoff.NewExponentialBackOff()
	poll.InitialInterval, poll.MaxInterval = 20*time.Millisecond, 2*time.Second
	for {
		left, cause, err := m.waitHere(ctx, opID)
		if err != nil || left != nil {
			return nil, errors.Join(err, left, cause)
		}
		occ, err := m.Operation(ctx, opID)
		if err != nil {
			return nil, errors.Join(causeOf(ctx, err), cause)
		}
		if occ.OperationState.active() && cause != nil {
			return occ, cause // the outcome could not be written
		}
		if !occ.OperationState.active() {
			return occ, m.why(occ)
		}
		if m.isClosed() {
			return nil, ErrShutdown // it may be this process that left it
		}
		select {
		case <-ctx.Done():
			return occ, fmt.Errorf("waiting for operation %s, which is %s: %w", opID, occ.OperationState, context.Cause(ctx))
		case <-time.After(poll.NextBackOff()):
		}
	}
}

func (m *Manager) isClosed() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.closed
}

// waitHere waits for the work of this process on an operation, if there is any. left is why the operation was
// left for a resume, cause why the work ended.
func (m *Manager) waitHere(ctx context.Context, opID string) (left, cause, err error) {
	m.mu.Lock()
	r := m.runs[opID]
	m.mu.Unlock()
	if r == nil {
		return nil, nil, nil
	}
	select {
	case <-r.done:
		return r.left, r.err, nil
	case <-ctx.Done():
		return nil, nil, fmt.Errorf("waiting for operation %s: %w", opID, context.Cause(ctx))
	}
}

// why is the error of an operation that nobody works on: as this process knows it, or as it was stored.
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

// Resume takes up the operations that no living process works on: after a crash, in any process that shares
// the store. They continue where they were. It returns their ids; an operation that a process has, this one
// or another, is passed over. A record that cannot be read keeps no other operation from being resumed.
func (m *Manager) Resume(ctx context.Context) ([]string, error) {
	list, err := m.cfg.Store.List(ctx, kindOperation, "")
	if err != nil {
		return nil, err
	}
	var resumed []string
	var errs []error
	for _, stored := range list {
		var rec operationRecord
		if err := m.records.open(stored, &rec); err != nil {
			errs = append(errs, fmt.Errorf("operation %s: %w", stored.ID, err))
			continue
		}
		if !rec.Occ.OperationState.active() {
			continue
		}
		switch taken, err := m.resume(ctx, rec.Occ.ID); {
		case taken:
			resumed = append(resumed, rec.Occ.ID)
		case !errors.Is(err, ErrLeased):
			errs = append(errs, err)
		}
	}
	return resumed, errors.Join(append(errs, m.sweepLeases(ctx))...)
}

// resume continues an operation, unless a process works on it.
func (m *Manager) resume(ctx context.Context, opID string) (taken bool, err error) {
	r, other, err := m.claim(ctx, opID)
	if err != nil || other != nil {
		return false, err
	}
	err = r.load(ctx)
	if err != nil || !r.rec.Occ.OperationState.active() { // another process may have ended it meanwhile
		r.end(nil)
		return false, err
	}
	go r.work()
	return true, nil
}
