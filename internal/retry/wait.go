package retry

import (
	"cmp"
	"context"
)

// Watch observes waits. Its methods are called by several goroutines, and must not block.
type Watch interface {
	// Waiting is called when a wait begins, and after each attempt of the wait that has failed, with the reason. At the
	// beginning, and after Answered, attempt is 0, and reason nil.
	Waiting(w *Wait, attempt int, reason error)
	// Ended is called once when the wait is over, with success or without.
	Ended(w *Wait)
}

type watchKey struct{}

// WithWatch returns a context whose waits, by Policy.Do and Begin, are observed by w, instead of by the Watch of ctx.
func WithWatch(ctx context.Context, w Watch) context.Context {
	return context.WithValue(ctx, watchKey{}, w)
}

// WatchOf returns the Watch of ctx, nil if it has none.
func WatchOf(ctx context.Context) Watch {
	w, _ := ctx.Value(watchKey{}).(Watch)
	return w
}

// Wait is one wait, of one goroutine. It is for loops that Policy.Do does not fit.
type Wait struct {
	// For says what the wait is for: "SSH of worker-1". It may be empty.
	For string
	// Class is the class of the wait while no failed attempt has another one. Default NotReady.
	Class Class

	watch   Watch // nil: the context has none
	attempt int
}

// Begin begins a wait, which the Watch of ctx observes. The caller must call End.
func Begin(ctx context.Context, subject string) *Wait { return BeginAs(ctx, NotReady, subject) }

// BeginAs is Begin for a wait of another class than NotReady.
func BeginAs(ctx context.Context, class Class, subject string) *Wait {
	w := &Wait{For: subject, Class: cmp.Or(class, NotReady), watch: WatchOf(ctx)}
	w.report(nil)
	return w
}

// Failed notes that an attempt has failed, or has found that what the wait is for has not happened yet.
func (w *Wait) Failed(reason error) {
	w.attempt++
	w.report(reason)
}

// Answered notes that the peer answers: the reasons of failed attempts no longer hold.
func (w *Wait) Answered() {
	if w.attempt > 0 {
		w.attempt = 0
		w.report(nil)
	}
}

func (w *Wait) report(reason error) {
	if w.watch != nil {
		w.watch.Waiting(w, w.attempt, reason)
	}
}

// End ends the wait.
func (w *Wait) End() {
	if w.watch != nil {
		w.watch.Ended(w)
	}
}
