package vnflcm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm/internal/ledger"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// HookResult is the result of a hook for the caller.
type HookResult struct {
	// Published is the metadata that the driver published for machines, by VNFC.ResourceID (Operation.Publish).
	Published map[string]map[string]string `json:"published,omitempty"`
	// VIMs are the entries that the driver has put into the registry of VIMs and not removed (Operation.RegisterVIM).
	VIMs VimConnections `json:"vims,omitempty"`
}

// RunHook runs a hook of a driver for a program that has its own lifecycle management. Package hookrun makes the data from documents of
// SOL003 and says what is guaranteed. RunHook finds out Flavour, Connectivity and ManagedLinks itself, and takes Params for those of the
// request alone. before are the VNFCs when the operation began, nil to take those of its start hook. Of c, RunHook uses Store, Key,
// OldKeys, VIMs, PublicParams, Intercept, Observe, Logger and LeaseTTL.
func RunHook(ctx context.Context, c Config, driver MgmtDriver, hook Hook, data OperationData, before []VNFC) (HookResult, error) {
	op := &Operation{OperationData: data}
	do, err := hookOf(driver, hook)
	if err != nil {
		return HookResult{}, err
	}
	recs, err := c.open(ctx)
	if err != nil {
		return HookResult{}, err
	}
	h := &hookRun{config: c, records: recs, hook: hook, id: hookID(op.ID, hook), instance: op.InstanceID}
	if _, result, done, err := h.read(ctx); done || err != nil {
		return result, err
	}
	if err := h.complete(ctx, op, before); err != nil {
		return HookResult{}, err
	}
	var result HookResult
	var failed error
	l := ledger.Exclusive{Ledger: recs.Ledger, TTL: c.LeaseTTL, Log: c.Logger, Changed: func() <-chan struct{} { return nil }, Closed: func() bool { return false }}
	err = l.Do(ctx, leaseOf(h.id), func(ctx context.Context, held *ledger.Lease) error {
		own := *op // a repeated call begins with the values of the caller
		result, failed = h.run(ctx, held, driver, do, &own)
		if errors.Is(failed, errLostHook) {
			return ErrLeased
		}
		return nil
	})
	if failed == nil || errors.Is(failed, errLostHook) {
		failed = err
	}
	return result, failed
}

// hookOf finds the function for a hook. If the driver has no rollback hook, that of the inverse operation is used. A
// missing start hook does nothing: its record stores the machines, which the end hook needs. A missing hook of the
// termination does nothing, as in the operations of a Manager.
func hookOf(driver MgmtDriver, hook Hook) (func(context.Context, *Operation) error, error) {
	hooks := driver.Hooks()
	if do := hooks[hook]; do != nil {
		return do, nil
	}
	if do := hooks[hook.inverse()]; do != nil {
		return do, nil
	}
	if inverse := hook.inverse(); inverse == TerminateStart || inverse == TerminateEnd {
		return Noop, nil
	}
	if base, starts := strings.CutSuffix(string(hook.inverse()), startSuffix); starts && hooks[Hook(base+endSuffix)] != nil {
		return Noop, nil
	}
	return nil, fmt.Errorf("%w: the driver has no hook %s", ErrNotSupported, hook)
}

const (
	startSuffix, endSuffix = "_start", "_end"
	rollbackInfix          = "_rollback"
)

// inverse is the hook that a rollback hook stands for, or the hook itself.
func (h Hook) inverse() Hook {
	switch h {
	case InstantiateRollbackStart:
		return TerminateStart
	case InstantiateRollbackEnd:
		return TerminateEnd
	}
	return Hook(strings.Replace(string(h), rollbackInfix, "", 1))
}

// complete adds what earlier hooks of the instance have left: the request that instantiated it, and the VNFCs that the operation
// began with.
func (h *hookRun) complete(ctx context.Context, op *Operation, before []VNFC) (err error) {
	if op.Initial.FlavourID == "" {
		if op.Initial, err = h.instantiation(ctx); err != nil {
			return err
		}
	}
	op.Flavour, err = op.Package.VNFD().Flavour(op.Initial.FlavourID)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInvalidRequest, err)
	}
	op.Connectivity, op.ManagedLinks = op.Initial.ExtVirtualLinks, op.Initial.ExtManagedVirtualLinks
	if op.Params, err = op.Initial.AdditionalParams.Merge(op.Params); err != nil {
		return err
	}
	if len(op.Change.Added)+len(op.Change.Removed)+len(op.Change.Replaced) > 0 {
		return nil
	}
	op.Change, err = h.change(ctx, op, before)
	return err
}

// instantiation reads the request that a hook of the instantiation had.
func (h *hookRun) instantiation(ctx context.Context) (InstantiateVnfRequest, error) {
	var request InstantiateVnfRequest
	stored, err := h.records.Store.Get(ctx, kindHookInitial, h.instance)
	if err == nil {
		err = h.records.Open(stored, &request)
	}
	if errors.Is(err, ErrNotFound) {
		err = &ParamError{Path: "initial", Reason: "is required: the store has no instantiation of the VNF instance " + h.instance}
	}
	return request, err
}

// change returns what the operation does to the VNFCs. In the start hook of a scaling only the caller knows it.
func (h *hookRun) change(ctx context.Context, op *Operation, before []VNFC) (Change, error) {
	starts := strings.HasSuffix(string(h.hook), startSuffix)
	switch {
	case op.Heal != nil && (starts || op.WholeVNF()):
		return Change{Replaced: op.HealTargets()}, nil
	case op.Terminate != nil && starts:
		return Change{Removed: op.VNFCs}, nil
	case starts && !op.RollingBack:
		return Change{}, nil
	}
	if before == nil {
		start := Hook(strings.Replace(string(h.hook), endSuffix, startSuffix, 1))
		if starts { // of a rollback
			start = Hook(strings.Replace(string(h.hook), rollbackInfix, "", 1))
		}
		var inst instanceRecord
		stored, err := h.records.Store.Get(ctx, kindHook, hookID(op.ID, start))
		if err == nil {
			err = h.records.Open(stored, &inst)
		}
		if err != nil && !errors.Is(err, ErrNotFound) {
			return Change{}, err
		}
		before = inst.Resources.VNFCs
	}
	if op.Heal != nil {
		return Change{Replaced: healed(op, before)}, nil
	}
	if starts {
		return Change{Removed: Change{}.confirm(before, op.VNFCs).Added}, nil
	}
	return Change{Added: Change{}.confirm(before, op.VNFCs).Added, Removed: Change{}.confirm(op.VNFCs, before).Added}, nil
}

// healed returns the VNFCs that the request names by id or by resource, and those whose resource has changed.
func healed(op *Operation, before []VNFC) []VNFC {
	former := map[string]string{}
	for _, v := range before {
		former[v.ID] = v.ResourceID
	}
	targets := op.HealTargets()
	return slices.DeleteFunc(slices.Clone(op.VNFCs), func(v VNFC) bool {
		was, known := former[v.ID]
		named := slices.ContainsFunc(targets, func(t VNFC) bool { return t.ID == v.ID })
		return !named && (!known || was == v.ResourceID)
	})
}

func hookID(opID string, hook Hook) string { return opID + "/" + string(hook) }

// errLostHook ends the run of a hook that another process has taken over.
var errLostHook = fmt.Errorf("%w: the hook was taken over", ErrLeased)

func leaseOf(hookID string) string { return "hook/" + hookID }

// hookRun is a hook that RunHook runs. Its record has the form of an instance's: the hook is its Holder until it is done.
type hookRun struct {
	config   Config
	records  *records
	hook     Hook
	id       string // of the record, the claim and, after "hook/", the lease
	instance string
}

// read returns the record of the hook, nil for a hook without a record, and the result of a hook that is done.
func (h *hookRun) read(ctx context.Context) (stored *store.Record, result HookResult, done bool, err error) {
	found, err := h.records.Store.Get(ctx, kindHook, h.id)
	if errors.Is(err, ErrNotFound) {
		return nil, result, false, nil
	}
	var inst instanceRecord
	if err == nil {
		err = h.records.Open(found, &inst)
	}
	if err != nil {
		return nil, result, false, fmt.Errorf("hook %s: %w", h.id, err)
	}
	if inst.Instance.ID != h.instance {
		return nil, result, false, fmt.Errorf("%w: the hook %s is of the VNF instance %s", ErrConflict, h.id, inst.Instance.ID)
	}
	if inst.Holder != "" {
		return &found, result, false, nil
	}
	return &found, inst.hookResult(), true, nil
}

func (rec *instanceRecord) hookResult() HookResult {
	return HookResult{Published: rec.Published, VIMs: rec.Instance.VimConnectionInfo}
}

// run runs the hook, unless another process has done so before this one got the lease.
func (h *hookRun) run(ctx context.Context, held *ledger.Lease, driver MgmtDriver, do func(context.Context, *Operation) error, op *Operation) (HookResult, error) {
	ctx, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	c := &operationClaim{Claim: ledger.NewClaim(ctx, held, h.id, kindHook, lose), records: h.records}
	result, done, err := h.take(ctx, c, op)
	if err == nil && !done {
		err = logPanic(ctx, op.Log, recovered(func() error { return h.runGuarded(ctx, c, driver, do, op) }))
		if err == nil {
			result, err = h.finish(context.WithoutCancel(ctx), c)
		}
	}
	if err == nil {
		return result, nil
	}
	if errors.Is(context.Cause(ctx), ErrLeased) {
		return HookResult{}, errLostHook
	}
	if err = causeOf(ctx, err); op.mask != nil {
		err = &maskedError{text: op.mask.applyTo(err), err: err}
	}
	return HookResult{}, err
}

// runGuarded checks and runs the hook. The caller recovers its panics.
func (h *hookRun) runGuarded(ctx context.Context, c *operationClaim, driver MgmtDriver, do func(context.Context, *Operation) error, op *Operation) error {
	err := h.equip(ctx, c, driver, op)
	if err == nil && !op.RollingBack {
		err = driver.Validate(ctx, op)
	}
	if err != nil {
		return err
	}
	return op.runHook(ctx, do)
}

// take makes this process the holder of the claim on the hook, and records the resources that the hook works on, and
// the request that instantiates the VNF.
func (h *hookRun) take(ctx context.Context, c *operationClaim, op *Operation) (HookResult, bool, error) {
	stored, result, done, err := h.read(ctx)
	if done || err != nil {
		return result, done, err
	}
	held, err := h.records.Store.Get(ctx, ledger.KindClaim, h.id)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return result, false, err
	}
	c.Replace(held)
	c.Accept(time.Now())
	inst, version := &instanceRecord{Instance: VnfInstance{ID: h.instance}, Holder: h.id}, int64(0)
	if stored != nil {
		version = stored.Version
		if err := h.records.Open(*stored, inst); err != nil {
			return result, false, err
		}
	}
	if stored == nil || !strings.HasSuffix(string(h.hook), startSuffix) { // a start hook stores the state at the beginning of the operation
		inst.Resources = op.Resources
	}
	inst.Epoch = held.Version + 1
	record, err := h.records.Seal(kindHook, h.id, version, inst)
	if err != nil {
		return result, false, err
	}
	records := []store.Record{record}
	if op.Instantiate != nil {
		kept, err := h.keep(ctx, *op.Instantiate)
		if err != nil {
			return result, false, err
		}
		records = append(records, kept)
	}
	return result, false, c.Take(ctx, store.Batch{Put: records}, ledger.UnderLease)
}

// keep returns the record of the request that instantiates the VNF.
func (h *hookRun) keep(ctx context.Context, request InstantiateVnfRequest) (store.Record, error) {
	stored, err := h.records.Store.Get(ctx, kindHookInitial, h.instance)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return store.Record{}, err
	}
	return h.records.Seal(kindHookInitial, h.instance, stored.Version, request)
}

// equip sets the unexported fields of op.
func (h *hookRun) equip(ctx context.Context, c *operationClaim, driver MgmtDriver, op *Operation) error {
	op.phase, op.state, op.occurrence = string(h.hook), Processing, op.Kind
	op.records, op.claim, op.vims, op.running = h.records, c, h.config.VIMs, &running{}
	op.intercept, op.observe = h.config.Intercept, h.config.Observe
	op.mask = newMasker(op.secrets(h.config.PublicParams, driver))
	op.Log = maskedLogger(h.config.Logger.With("operation", op.ID, "instance", op.InstanceID), op.mask)
	mayBegin := func(ctx context.Context) error {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		return c.Hold(ctx)
	}
	journal, err := h.records.Store.List(ctx, store.Query{Kind: kindStep, Prefix: h.id + "/"})
	op.steps = &stepGuard{seen: map[string]bool{}, mayBegin: mayBegin, performed: &performance{}, journal: map[string]store.Record{}}
	for _, entry := range journal {
		op.steps.journal[entry.ID] = entry
	}
	return err
}

// runHook runs the hook between the events of a phase.
func (op *Operation) runHook(ctx context.Context, do func(context.Context, *Operation) error) error {
	info, start := StepInfo{OperationID: op.ID, Phase: op.phase}, time.Now()
	op.emit(Event{Kind: PhaseStarted, StepInfo: info})
	ctx, end := op.watch(ctx, info)
	defer end()
	if err := do(ctx, op); err != nil {
		return err
	}
	op.emit(Event{Kind: PhaseDone, StepInfo: info, Duration: time.Since(start)})
	return nil
}

// finish records that the hook is done, and removes data that only the run needed. The last hook of an instance removes
// the state of the drivers, as the end of a termination does.
func (h *hookRun) finish(ctx context.Context, c *operationClaim) (result HookResult, err error) {
	err = c.Update(ctx, func(ctx context.Context, b *store.Batch) error {
		err := c.changeInstance(ctx, b, h.id, func(i *instanceRecord) {
			if i.Holder = ""; !strings.HasSuffix(string(h.hook), startSuffix) {
				i.Resources = Resources{}
			}
			result = i.hookResult()
		})
		c.End(b)
		err = errors.Join(err, h.records.DropAll(ctx, b, kindStep, h.id+"/"))
		if h.hook == TerminateEnd || h.hook == InstantiateRollbackEnd {
			err = errors.Join(err, h.records.forgetHooks(ctx, b, h.instance, h.id))
		}
		return err
	})
	return result, err
}

// ForgetHooks removes what RunHook has kept of a VNF instance. Call it by hookrun.Runner.Forget.
func ForgetHooks(ctx context.Context, c Config, instanceID string) error {
	recs, err := c.open(ctx)
	if err != nil {
		return err
	}
	return recs.Update(ctx, func(ctx context.Context, b *store.Batch) error { return recs.forgetHooks(ctx, b, instanceID, "") })
}

// forgetHooks adds to b that the state of an instance and its hooks are removed, except the hook with the id except. Hooks that cannot
// be read stay, because they may be of another instance.
func (r *records) forgetHooks(ctx context.Context, b *store.Batch, instanceID, except string) error {
	err := errors.Join(r.DropAll(ctx, b, kindState, instanceID+"/"), r.Drop(ctx, b, kindHookInitial, instanceID))
	return errors.Join(err, r.EachPage(ctx, store.Query{Kind: kindHook}, func(list []store.Record) error {
		var errs []error
		for _, stored := range list {
			var inst instanceRecord
			if r.Open(stored, &inst) != nil || inst.Instance.ID != instanceID || stored.ID == except {
				continue
			}
			b.Delete = append(b.Delete, stored)
			errs = append(errs, r.DropAll(ctx, b, kindStep, stored.ID+"/"), r.Drop(ctx, b, ledger.KindClaim, stored.ID), r.Drop(ctx, b, ledger.KindLease, leaseOf(stored.ID)))
		}
		return errors.Join(errs...)
	}))
}
