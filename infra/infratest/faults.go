package infratest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

var (
	errRepeat = errors.New("infratest: the method is repeated")
	errCancel = errors.New("infratest: the context was cancelled")
)

// repetition lets each method run again after it has succeeded, without the journal of its steps. The second run must change nothing.
func repetition(t testing.TB, s Setup) {
	t.Helper()
	for _, o := range open(t, s).operations() {
		sub(t, o.name, func(t testing.TB) {
			t.Helper()
			l := open(t, s)
			id, m := l.prepare(o), l.process()
			inParts := l.inParts(o, m, id)
			l.instead = func(ctx context.Context, _ string, do func(context.Context) error) error {
				return errors.Join(do(ctx), errRepeat)
			}
			opID, err := o.begin(l, m, id)
			l.must(err)
			l.fails(m, o.name, opID, errRepeat)
			l.instead = nil
			before := l.now(t.Context())
			l.forgetJournal()
			l.complete(m, o.name+", repeated", opID, m.Retry(t.Context(), opID))
			if diff := gocmp.Diff(before, l.now(t.Context())); diff != "" && !inParts {
				t.Errorf("%s: the repeated method has changed the VIM:\n%s", o.name, diff)
			}
			l.agree(o.name + ", repeated")
		})
	}
}

// forgetJournal removes the journals of all operations.
func (l *lab) forgetJournal() {
	l.t.Helper()
	journal, err := l.store.List(l.t.Context(), store.Query{Kind: "step"})
	l.must(err)
	l.must(l.store.Apply(l.t.Context(), store.Batch{Delete: journal}))
}

// undisturbed returns the end of an operation.
func undisturbed(t testing.TB, s Setup, o operation, change ...func(*vnflcm.Config)) outcome {
	t.Helper()
	l := open(t, s)
	id, m := l.prepare(o), l.process(change...)
	opID, err := o.begin(l, m, id)
	l.complete(m, o.name, opID, err)
	return l.outcome(m, id)
}

// disturbed runs an operation of which a part fails with want, and then retries it. The end must be that of an undisturbed run. A process
// runs the operation with the Config that change has made.
func disturbed(t testing.TB, s Setup, o operation, want error, prepare func(*lab), change ...func(*vnflcm.Config)) {
	t.Helper()
	sub(t, o.name, func(t testing.TB) {
		t.Helper()
		end := undisturbed(t, s, o)
		l := open(t, s)
		id, m := l.prepare(o), l.process(change...)
		prepare(l)
		opID, err := o.begin(l, m, id)
		l.must(err)
		l.fails(m, o.name, opID, want)
		l.instead = nil
		l.resume()
		l.complete(m, o.name+", retried", opID, m.Retry(t.Context(), opID))
		if diff := gocmp.Diff(end, l.outcome(m, id)); diff != "" {
			t.Errorf("%s: the end (+) is not that of an undisturbed run (-):\n%s", o.name, diff)
		}
		l.agree(o.name + ", retried")
	})
}

// resume ends what a test has asked of the VIM.
func (l *lab) resume() {
	if l.w.OnChange != nil {
		l.w.OnChange(nil)
	}
	if l.w.Stall != nil {
		l.w.Stall(false)
	}
}

// cancelled calls each method with a context that has ended: the method must return the cause or
// context.Canceled, which Go's own clients return, and change nothing.
func cancelled(t testing.TB, s Setup) {
	t.Helper()
	for _, o := range open(t, s).operations() {
		disturbed(t, s, o, errCancel, func(l *lab) {
			l.instead = func(ctx context.Context, method string, do func(context.Context) error) error {
				before := l.now(ctx)
				ended, cancel := context.WithCancelCause(ctx)
				cancel(errCancel)
				err := do(ended)
				if !errors.Is(err, errCancel) && !errors.Is(err, context.Canceled) {
					l.t.Errorf("%s: %s returned %v, and neither the cause of a context that had ended nor context.Canceled", o.name, method, err)
				}
				if diff := gocmp.Diff(before, l.now(ctx)); diff != "" {
					l.t.Errorf("%s: %s has changed the VIM, with a context that had ended:\n%s", o.name, method, diff)
				}
				return errors.Join(err, errCancel)
			}
		})
	}
}

// interrupted cancels each method at its first change and at its last one or, if the World does not show changes, at its first step.
func interrupted(t testing.TB, s Setup) {
	t.Helper()
	for _, o := range open(t, s).operations() {
		interruptedAt(t, s, o, 1)
		cuts, _ := watched(t, s, o)
		if n := len(cuts); n > 0 && cuts[n-1].change > 1 {
			o.name += ", last change"
			interruptedAt(t, s, o, cuts[n-1].change)
		}
	}
}

// interruptedAt cancels a method at its nth change. If it is the first, and the VIM can stall, the VIM finishes it only after the operation
// has ended.
func interruptedAt(t testing.TB, s Setup, o operation, nth int32) {
	t.Helper()
	var cancel context.CancelCauseFunc
	disturbed(t, s, o, errCancel, func(l *lab) {
		l.instead = func(ctx context.Context, _ string, do func(context.Context) error) error {
			ctx, stop := context.WithCancelCause(ctx)
			defer stop(nil)
			if l.w.Stall != nil && nth == 1 {
				l.w.Stall(true)
			}
			if l.w.OnChange == nil {
				cancel = stop
				return errors.Join(do(ctx), errCancel)
			}
			var changes atomic.Int32
			l.w.OnChange(func() error {
				if changes.Add(1) == nth {
					stop(errCancel)
				}
				return nil
			})
			return errors.Join(do(ctx), errCancel)
		}
	}, func(c *vnflcm.Config) {
		c.Intercept = func(ctx context.Context, _ vnflcm.StepInfo, next func(context.Context) error) error {
			if cancel != nil {
				cancel(errCancel)
			}
			return next(ctx)
		}
	})
}

// panicInStep has the first step of each method panic. Methods without steps are left out.
func panicInStep(t testing.TB, s Setup) {
	t.Helper()
	for _, o := range open(t, s).operations() {
		steps := &stepNames{}
		undisturbed(t, s, o, steps.record)
		if len(steps.list()) == 0 {
			continue
		}
		var once sync.Once
		disturbed(t, s, o, vnflcm.ErrProgramming, func(*lab) {}, func(c *vnflcm.Config) {
			c.Intercept = func(ctx context.Context, _ vnflcm.StepInfo, next func(context.Context) error) error {
				once.Do(func() { panic("infratest: a step panics") })
				return next(ctx)
			}
		})
	}
}

// stepNames are the names of steps.
type stepNames struct {
	mu    sync.Mutex
	names []string
}

func (n *stepNames) record(c *vnflcm.Config) {
	c.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
		n.mu.Lock()
		n.names = append(n.names, s.Name)
		n.mu.Unlock()
		return next(ctx)
	}
}

func (n *stepNames) list() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.names)
}
