package vnflcm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/vnfkit/vnfkit/tosca"
)

// Runner starts operations outside of the Manager, such as in a workflow engine, which then calls RunPhase.
type Runner interface {
	// Start starts the work on an operation that is accepted, retried or rolled back. It returns at once. It may be called
	// again for the same operation, by other processes too, and then does nothing while the operation is under way. When
	// Start fails, or the process dies before it, a Manager with a Runner calls Start again after its LeaseTTL.
	Start(ctx context.Context, operationID string) error
}

// RunPhase runs one phase of an operation and returns the name of the next phase. An operation has the phases PhaseBegin,
// those of its hooks and drivers in their order, and PhaseEnd. With phase "", RunPhase runs the phase that is due. If next
// is "", no phase is left: the operation has ended or is in FAILED_TEMP, and err is the reason if it did not succeed.
//
// RunPhase does not run a completed phase again, so the caller may repeat a call at any time. While another process runs a
// phase of the operation, RunPhase returns ErrLeased; it continues the phase after that process has shown no sign of life
// for its LeaseTTL. ErrLeased and ErrShutdown (ctx has ended, or the Manager is closed) leave the operation unchanged: run
// the same phase again later. ErrState reports that another phase is due.
func (m *Manager) RunPhase(ctx context.Context, operationID, phase string) (next string, err error) {
	if m.cfg.Runner == nil {
		return "", fmt.Errorf("%w: RunPhase needs a Manager with a Runner", ErrProgramming)
	}
	ended := func() error { return fmt.Errorf("%w: %w", ErrShutdown, context.Cause(ctx)) }
	if ctx.Err() != nil {
		return phase, ended()
	}
	r, other, err := m.reserve(ctx, operationID)
	if err != nil {
		return "", err
	}
	if other != nil {
		return phase, fmt.Errorf("%w: this process is running a phase of operation %s", ErrLeased, operationID)
	}
	stop := context.AfterFunc(ctx, func() { r.cancel(ended()) })
	defer stop()
	next, err = r.single(r.ctx, phase) //nolint:contextcheck // ends with ctx, and for the causes of the run
	r.end(err)
	return next, err
}

// single runs one phase, if it is due.
func (r *run) single(ctx context.Context, phase string) (next string, err error) {
	if err := r.read(ctx); err != nil {
		return phase, causeOf(ctx, err)
	}
	switch due := r.rec.due(); {
	case r.rec.Occ.OperationState.Final() || r.rec.Occ.OperationState == FailedTemp:
		return "", r.m.why(r.m.occurrence(r.rec))
	case slices.Contains(r.rec.Done, phase) || phase == PhaseBegin && due != PhaseBegin:
		return due, nil
	case phase != "" && phase != due:
		return due, fmt.Errorf("%w: phase %q of operation %s is due, not %q", ErrState, due, r.rec.Occ.ID, phase)
	}
	if err := errors.Join(r.seize(ctx), r.read(ctx)); err != nil { // as the process before has left it
		return phase, causeOf(ctx, err)
	}
	r.start()
	return r.runDue(ctx, phase)
}

// seize takes the claim, from another process only if that has shown no sign of life for its TTL.
func (r *run) seize(ctx context.Context) error {
	stored, err := r.m.cfg.Store.Get(ctx, kindClaim, r.claim.opID)
	if err != nil {
		return fmt.Errorf("claim of operation %s: %w", r.claim.opID, err)
	}
	c := seenClaim{stored: stored}
	if c.err = r.m.records.open(stored, &c.held); c.err != nil && r.m.records.keys.keyOf(stored) == nil {
		return unreadableRecord(stored, c.err) // of a process with another key, which may live
	}
	processes, err := r.m.cfg.Store.List(ctx, Query{Kind: kindProcess})
	if err != nil {
		return err
	}
	r.m.watching.Lock()
	holder, free := r.m.isFree(c, processes)
	r.m.watching.Unlock()
	if !free {
		return fmt.Errorf("%w: process %q has operation %s", ErrLeased, c.held.Process, r.claim.opID)
	}
	err = r.m.seize(ctx, r, stored, holder)
	if errors.Is(err, ErrConflict) {
		return fmt.Errorf("%w: another process was faster", ErrLeased)
	}
	if err == nil && c.held.State != claimFree {
		r.m.report(OperationTaken, &r.rec.Occ)
	}
	return err
}

// runDue runs the phase that is due now. If the caller wants another phase, another process was faster.
func (r *run) runDue(ctx context.Context, phase string) (next string, err error) {
	due := r.rec.due()
	if phase != "" && phase != due {
		r.giveUp(context.WithoutCancel(ctx))
		return due, nil
	}
	if due != PhaseEnd {
		err = r.withPackage(ctx, func(pkg *tosca.Package, inst *instanceRecord) error { return r.perform(ctx, pkg, inst, due) })
	}
	if err == nil && due != PhaseEnd {
		err = r.save(context.WithoutCancel(ctx), func(_ context.Context, b *Batch) error { return r.claim.pass(b, claimFree) })
		if err == nil {
			return r.rec.due(), nil
		}
	}
	if err = r.enterOutcome(ctx, err); r.left != nil {
		return phase, err
	}
	return "", err
}

// startElsewhere calls the Runner. watchRunner repeats a failed call.
func (m *Manager) startElsewhere(ctx context.Context, opID string) {
	if err := m.cfg.Runner.Start(ctx, opID); err != nil {
		m.cfg.Logger.WarnContext(ctx, "the Runner cannot start an operation now", "operation", opID, "error", err)
	}
}

// watchRunner starts operations again that no process has worked on for a while, until ctx ends.
func (m *Manager) watchRunner(ctx context.Context) {
	every := time.NewTicker(watchEvery(m.cfg.LeaseTTL))
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		if err := m.restart(ctx); err != nil && ctx.Err() == nil {
			m.cfg.Logger.WarnContext(ctx, "operations that the Runner has not started cannot be found", "error", err)
		}
	}
}

func (m *Manager) restart(ctx context.Context) error {
	m.watching.Lock()
	defer m.watching.Unlock()
	claims, err := m.claims(ctx, claimFree, claimHeld)
	if err != nil {
		return err
	}
	processes, err := m.cfg.Store.List(ctx, Query{Kind: kindProcess})
	if err != nil {
		return err
	}
	m.forgetSightings(claims, processes)
	for _, c := range claims {
		if _, free := m.isFree(c, processes); free && !m.isRunning(c.stored.ID) && m.seen.stoodStill(c.stored, m.cfg.LeaseTTL) {
			delete(m.seen, c.stored.key())
			m.startElsewhere(ctx, c.stored.ID)
		}
	}
	return nil
}
