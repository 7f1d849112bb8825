package vnflcm

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vnfkit/vnfkit/internal/fanout"
	"github.com/vnfkit/vnfkit/internal/retry"
	"github.com/vnfkit/vnfkit/vnflcm/internal/ledger"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// Step is the unit of resume: a piece of an operation that must not be done twice. Code between steps runs again on
// resume and must decide the same then; data that it reads from the environment belongs in a step's result.
type Step[T any] struct {
	// Name is stored: keep it stable. Lower case letters, digits, -, _ and dots.
	Name string
	// On is the id of the VNFC that the step works on, or an id that the driver has declared (Operation.Declare), or "" for
	// the whole VNF. Never an index or an address. Name and On together are unique in a phase.
	On string
	// Rev is raised when T or its meaning changes: entries of another Rev count as not done.
	Rev int
	// Probe changes nothing. It returns true if the step is already done. Nil only if repeating Do is harmless.
	Probe func(ctx context.Context) (T, bool, error)
	// Do does it. T is stored as JSON: small, without secrets and without what expires.
	Do func(ctx context.Context) (T, error)
}

// StepInfo names a step.
type StepInfo struct {
	OperationID, Phase, Name string
	On                       string // id of the VNFC that the step works on; "": the whole VNF
	Host                     string // name of that VNFC, such as workerNode-0; "" while it has none
	// Attempt grows with each time that a process takes the operation up: after a retry, a rollback, or the death of a process.
	Attempt int
}

// Key names the step for the outside world (a detached job, a tag). It is the same after a resume, and does not contain Host.
func (i StepInfo) Key() string {
	return i.OperationID + "/" + i.Phase + "/" + i.Name + "/" + url.PathEscape(i.On)
}

// StepError is a step that failed.
type StepError struct {
	StepInfo
	Machine string // the VNFC with host name, address and id, as VNFC.Describe returns them; "": the whole VNF, or an unknown VNFC
	Err     error
}

// Error names phase, step and machine. The reason does not repeat the name of the machine at its beginning.
func (e *StepError) Error() string {
	at := e.Phase + ": " + e.Name
	if machine := e.machine(); machine != "" {
		at += " on " + machine
	}
	return at + ": " + e.withoutMachine(e.Err.Error())
}

func (e *StepError) machine() string { return cmp.Or(e.Machine, e.On) }

// withoutMachine removes the short name of the machine, with which errors of its connection begin, from a text that stands beside Host.
func (i StepInfo) withoutMachine(reason string) string {
	if i.Host == "" {
		return reason
	}
	return strings.TrimPrefix(reason, i.Host+": ")
}

func (e *StepError) Unwrap() error { return e.Err }

// Interceptor wraps every step that is not in the journal yet: for tracing, for pausing, for tests that cut
// a run short. It calls next once, or returns an error instead.
type Interceptor func(ctx context.Context, step StepInfo, next func(context.Context) error) error

// Run returns the journaled result of s if this operation has done it before. Otherwise it asks Probe and,
// if the world is not so yet, runs Do; the result is journaled even if ctx has just ended. An error is a
// *StepError. There is no undo: a closure would die with the process, so undoing is a rollback hook that
// reads the world and the journal.
//
// A step within a step, a name or On against the rules of Step, a key that comes twice in a phase, and a panic are ErrProgramming.
func Run[T any](ctx context.Context, op *Operation, s Step[T]) (T, error) {
	var result T
	info := StepInfo{OperationID: op.ID, Phase: op.phase, Name: s.Name, On: s.On, Host: op.hostOf(s.On), Attempt: op.attempt()}
	fail := func(err error) (T, error) {
		var zero T
		return zero, &StepError{StepInfo: info, Machine: op.machineOf(s.On), Err: err}
	}
	if op.steps == nil {
		return fail(fmt.Errorf("%w: Plan and Validate change nothing, so they have no steps", ErrProgramming))
	}
	if err := op.checkOn(info); err != nil {
		return fail(err)
	}
	if err := op.steps.enter(ctx, info); err != nil {
		return fail(err)
	}
	version, done := op.journaled(info, s.Rev, &result)
	if done {
		op.emit(Event{Kind: StepSkipped, StepInfo: info})
		return result, nil
	}
	start := time.Now()
	err := op.perform(ctx, info, func(ctx context.Context) error {
		found, err := s.probeOrDo(ctx, op)
		if err != nil {
			return causeOf(ctx, err)
		}
		// The caller gets the value that is read back, as it will after a resume.
		result = *new(T)
		return op.journal(context.WithoutCancel(ctx), op.performed(info, start), version, s.Rev, found, &result)
	})
	if err != nil {
		return fail(err)
	}
	return result, nil
}

// finishing is the key of the contexts that Finish returns.
type finishing struct{}

// Finish returns a context in which steps begin although the operation was cancelled with CancelGraceful. It is for steps that finish what
// earlier steps have begun, such as the return of a drained node to the cluster. CancelForceful ends these steps too.
func Finish(ctx context.Context) context.Context { return context.WithValue(ctx, finishing{}, true) }

func finishes(ctx context.Context) bool { return ctx.Value(finishing{}) != nil }

// Do is Run for a step without a result. on is Step.On: name and on that are swapped are ErrProgramming when the step runs. For
// machines, mgmt.Node.Do takes only the name.
func Do(ctx context.Context, op *Operation, name, on string, do func(context.Context) error) error {
	_, err := Run(ctx, op, Step[struct{}]{Name: name, On: on,
		Do: func(ctx context.Context) (struct{}, error) { return struct{}{}, do(ctx) }})
	return err
}

// probeOrDo returns the result of Probe if it finds the step done, and runs Do otherwise.
func (s Step[T]) probeOrDo(ctx context.Context, op *Operation) (T, error) {
	if s.Probe != nil {
		result, done, err := s.Probe(ctx)
		if done || err != nil {
			return result, err
		}
	}
	if err := op.claim.Hold(ctx); err != nil {
		return *new(T), err
	}
	return s.Do(ctx)
}

// perform wraps a step in the interceptor and in its events.
func (op *Operation) perform(ctx context.Context, info StepInfo, do func(context.Context) error) error {
	op.emit(Event{Kind: StepStarted, StepInfo: info})
	start := time.Now()
	ctx, end := op.watch(ctx, info)
	err := logPanic(ctx, op.Log, recovered(func() error {
		if err := op.claim.noteStep(ctx, info); err != nil {
			return err
		}
		if op.intercept != nil {
			return op.intercepted(ctx, info, do)
		}
		return do(ctx)
	}))
	end()
	e := Event{Kind: StepDone, StepInfo: info, Duration: time.Since(start)}
	if err != nil {
		e.Kind, e.Message, e.Class = StepFailed, info.withoutMachine(op.mask.applyTo(err)), cmp.Or(retry.ClassOf(err), WaitOther)
		failed := op.performed(info, start)
		failed.Failed, failed.Code = true, codeOf(err)
		op.steps.performed.add(failed)
	}
	op.emit(e)
	return err
}

// performed is a run of a step or a phase that ends now.
func (op *Operation) performed(info StepInfo, start time.Time) Performed {
	return Performed{Phase: info.Phase, Step: info.Name, On: info.On, Host: op.hostOf(info.On), Start: start.Round(0), End: time.Now().Round(0),
		Attempt: op.attempt(), Process: op.claim.Lease().ID()}
}

// intercepted holds the interceptor to its contract: a step that it passed over in silence would count as
// done.
func (op *Operation) intercepted(ctx context.Context, info StepInfo, do func(context.Context) error) error {
	var calls atomic.Int32
	err := op.intercept(ctx, info, func(ctx context.Context) error {
		if calls.Add(1) > 1 {
			return fmt.Errorf("%w: the interceptor called next twice", ErrProgramming)
		}
		return do(ctx)
	})
	if err == nil && calls.Load() == 0 {
		return fmt.Errorf("%w: the interceptor neither called next nor returned an error", ErrProgramming)
	}
	return err
}

// journalEntry is the body of a step record.
type journalEntry struct {
	Rev       int             `json:"rev"`
	Result    json.RawMessage `json:"result"`
	Performed Performed       `json:"performed"`
}

// journaled reads the result of a step into into. An entry of another revision, or one that cannot be read, counts as
// not done. version is the version of the entry, 0 without an entry.
func (op *Operation) journaled(info StepInfo, rev int, into any) (version int64, done bool) {
	stored, found := op.steps.journal[info.Key()]
	if !found {
		return 0, false
	}
	var e journalEntry
	err := op.records.Open(stored, &e)
	return stored.Version, err == nil && e.Rev == rev && json.Unmarshal(e.Result, into) == nil
}

// journal writes the result of a step and proves at once that it can be read back.
func (op *Operation) journal(ctx context.Context, done Performed, version int64, rev int, result, back any) error {
	raw, err := json.Marshal(result)
	if err != nil {
		return fmt.Errorf("%w: the result cannot be stored: %w", ErrProgramming, err)
	}
	if clear, err := RevealJSON(result); err != nil || !bytes.Equal(clear, raw) {
		return errors.Join(fmt.Errorf("%w: the result holds a secret", ErrProgramming), err)
	}
	if err := json.Unmarshal(raw, back); err != nil {
		return fmt.Errorf("%w: the result cannot be read back: %w", ErrProgramming, err)
	}
	info := StepInfo{OperationID: op.ID, Phase: done.Phase, Name: done.Step, On: done.On}
	entry := ledger.Slot{Kind: kindStep, ID: info.Key(), Version: version}
	err = op.update(ctx, func(ctx context.Context, b *store.Batch) error {
		return op.records.Fill(ctx, b, &entry, journalEntry{Rev: rev, Result: raw, Performed: done})
	})
	op.steps.performed.journaled(done, err)
	if err == nil {
		op.claim.progressed()
	}
	return err
}

// stepGuard holds a driver to the rules of Run within one phase.
type stepGuard struct {
	mu        sync.Mutex
	seen      map[string]bool
	declared  []string                    // by Operation.Declare
	hosts     map[string]string           // host names that the driver has given, by VNFC
	mayBegin  func(context.Context) error // says why no further step may begin
	journal   map[string]store.Record     // of the phase, when it began
	performed *performance
	keeping   sync.Mutex // while evidence is stored
}

var stepName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]*$`)

func (g *stepGuard) enter(ctx context.Context, info StepInfo) error {
	if outer := stepOf(ctx); outer != nil {
		return fmt.Errorf("%w: it runs within the step %s, and steps are not nested", ErrProgramming, outer.info.Name)
	}
	if !stepName.MatchString(info.Name) {
		return fmt.Errorf("%w: the name %q is not made of lower case letters, digits, -, _ and dots, with a letter or digit first", ErrProgramming, info.Name)
	}
	if err := ledger.Storable("id", info.Key()); err != nil { // its result could not be journaled
		return err
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if err := g.mayBegin(ctx); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.seen[info.Key()] {
		return fmt.Errorf("%w: the key %s comes twice in a phase, and a resume could not tell the two steps apart", ErrProgramming, info.Key())
	}
	g.seen[info.Key()] = true
	return nil
}

// Each calls fn for all items, at most limit at once (limit < 1: all at once), waits for them and joins
// their errors in the order of the items. A panic of fn is the error ErrProgramming of its item. Once ctx has ended no further item is
// started.
func Each[E any](ctx context.Context, limit int, items []E, fn func(context.Context, E) error) error {
	return fanout.Each(ctx, len(items), limit, func(i int) error {
		return recovered(func() error { return fn(ctx, items[i]) })
	})
}
