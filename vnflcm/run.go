package vnflcm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/vnfkit/vnfkit/tosca"
)

// run is an operation at work in this process.
type run struct {
	m       *Manager
	ctx     context.Context //nolint:containedctx // the life of the run, not of a call
	rec     *operationRecord
	version int64
	lease   *lease
	mask    *masker
	cancel  context.CancelCauseFunc
	done    chan struct{}
	err     error // why it ended other than well; set before done is closed
	left    error // why the operation was left as it is, for a resume: ErrShutdown or ErrLeased; set like err

	mu       sync.Mutex
	stopping error // a cancel was asked for: no further step starts
	starting bool  // nothing is touched yet, so that a cancel interrupts at once
}

// claim makes this process's one run of an operation. If there is one already, that is returned as other.
func (m *Manager) claim(ctx context.Context, opID string) (r, other *run, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, nil, ErrShutdown
	}
	if other := m.runs[opID]; other != nil {
		return nil, other, nil
	}
	r = &run{m: m, done: make(chan struct{}), mask: newMasker(nil),
		lease: &lease{records: m.records, opID: opID, owner: m.cfg.Owner, ttl: m.cfg.LeaseTTL}}
	// The work outlives the request that started it; Close, Cancel and a lost lease end it.
	r.ctx, r.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	m.runs[opID] = r
	return r, nil, nil
}

// load takes the lease and reads the operation.
func (r *run) load(ctx context.Context) (err error) {
	if err = r.lease.acquire(ctx); err == nil {
		r.rec, r.version, err = r.m.operation(ctx, r.lease.opID)
	}
	return err
}

// work drives the operation to its end, or as far as it gets.
func (r *run) work() {
	beating, stopBeating := context.WithCancel(r.ctx)
	var beat sync.WaitGroup
	beat.Go(func() { r.lease.keep(beating, r.checkCancel, r.cancel) })
	r.setStarting(r.rec.Occ.OperationState == Starting)
	r.checkCancel(r.ctx)
	err := r.execute(r.ctx)
	stopBeating()
	beat.Wait()
	r.end(r.settle(r.ctx, err))
}

// end gives the operation back: whoever waits for it is told why the work ended.
func (r *run) end(err error) {
	r.lease.release(context.WithoutCancel(r.ctx))
	r.err = err
	r.cancel(nil)
	r.m.mu.Lock()
	delete(r.m.runs, r.lease.opID)
	if r.rec != nil {
		r.m.outcomes.keep(outcome{opID: r.lease.opID, at: r.rec.Occ.StateEnteredTime, err: err})
	}
	r.m.mu.Unlock()
	close(r.done)
}

func (r *run) execute(ctx context.Context) error {
	if r.rec.finished() {
		return nil // the process that did it died before it wrote down the end
	}
	inst, _, err := r.m.instance(ctx, r.rec.Occ.VnfInstanceID)
	if err != nil {
		return err
	}
	if inst.Holder != r.rec.Occ.ID {
		return errUnlocked
	}
	pkg, err := r.m.openPackage(ctx, inst)
	if err != nil {
		return err
	}
	defer closePackage(pkg)
	if r.rec.Occ.OperationState == Starting {
		err := r.begin(ctx, pkg, inst)
		r.setStarting(false)
		if err != nil {
			return err
		}
	}
	for _, p := range r.rec.phases() {
		if slices.Contains(r.rec.Done, p.name) {
			continue
		}
		if err := r.stopped(); err != nil {
			return err
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := r.runPhase(ctx, pkg, p); err != nil {
			return err
		}
	}
	return nil
}

// errUnlocked ends an operation that never came to lock its instance, or has unlocked it already.
var errUnlocked = fmt.Errorf("%w: the operation does not hold the lock of its instance", ErrConflict)

// finished reports whether all phases are done.
func (rec *operationRecord) finished() bool {
	return !slices.ContainsFunc(rec.phases(), func(p phase) bool { return !slices.Contains(rec.Done, p.name) })
}

// begin asks for the grant and enters PROCESSING.
func (r *run) begin(ctx context.Context, pkg *tosca.Package, inst *instanceRecord) error {
	s, err := r.m.session(ctx, pkg, inst, r.rec, "grant")
	if err != nil {
		return err
	}
	r.mask = s.op.mask // errors of the Granter may quote secrets too
	if err := r.grant(ctx, inst); err != nil {
		return err
	}
	if err := r.stopped(); err != nil {
		return err
	}
	// Whether it was written must be known: from here on a cancel no longer leads to ROLLED_BACK.
	return r.enter(context.WithoutCancel(ctx), Processing)
}

func (r *run) grant(ctx context.Context, inst *instanceRecord) error {
	if r.m.cfg.Granter == nil || r.rec.Grant != nil {
		return nil
	}
	request := GrantRequest{VnfInstanceID: inst.Instance.ID, VnfLcmOpOccID: r.rec.Occ.ID, VnfdID: inst.Instance.VnfdID,
		FlavourID: inst.Initial.FlavourID, Operation: r.rec.Occ.Operation,
		AddResources:    definitions("add", r.rec.Planned.Added),
		UpdateResources: definitions("update", r.rec.Planned.Replaced),
		RemoveResources: definitions("remove", r.rec.Planned.Removed),
	}
	grant, err := r.m.cfg.Granter.Grant(ctx, request)
	if err != nil {
		return fmt.Errorf("grant: %w", causeOf(ctx, err))
	}
	if grant == nil {
		return errors.New("grant: the Granter returned neither a grant nor an error")
	}
	r.rec.Grant, r.rec.Occ.GrantID = grant, grant.ID
	return r.save(context.WithoutCancel(ctx))
}

func definitions(verb string, vnfcs []VNFC) []ResourceDefinition {
	var out []ResourceDefinition
	for i, v := range vnfcs {
		d := ResourceDefinition{ID: fmt.Sprintf("%s-%s-%d", verb, v.VDU, i), Type: "COMPUTE", VduID: v.VDU, VnfcID: v.ID}
		if v.ResourceID != "" {
			d.ResourceID = &ResourceHandle{ResourceID: v.ResourceID}
		}
		out = append(out, d)
	}
	return out
}

// save writes the operation. Nobody else does while the lease is held.
func (r *run) save(ctx context.Context) error {
	if err := r.lease.valid(); err != nil {
		return err
	}
	version, err := r.m.records.put(ctx, kindOperation, r.rec.Occ.ID, r.version, r.rec)
	r.version = version
	return err
}

func (r *run) stopped() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stopping
}

// stop ends the work on request.
func (r *run) stop(mode CancelMode) {
	r.mu.Lock()
	r.stopping = ErrCancelled
	now := mode == CancelForceful || r.starting
	r.mu.Unlock()
	if now {
		r.cancel(ErrCancelled)
	}
}

func (r *run) setStarting(starting bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.starting = starting
}

// checkCancel looks for a cancel that another process wrote down.
func (r *run) checkCancel(ctx context.Context) {
	var cancel cancelRequest
	if _, err := r.m.records.get(ctx, kindCancel, r.rec.Occ.ID, &cancel); err == nil {
		r.stop(cancel.Mode)
	}
}
