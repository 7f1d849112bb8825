package plan

import (
	"context"
	"errors"
	"slices"
)

// state is the state of a task while its phase runs.
type state int

const (
	waiting state = iota
	running
	succeeded
	failed
	skipped // a task before it failed, or the operation was cancelled
)

// run is a phase while it runs.
type run[E Environment] struct {
	Phase[E]
	env    E
	limit  int
	states []state
	errs   []error
	ended  chan int
}

// Run runs the tasks of the phase, at most limit at once, each task as soon as the tasks before it have succeeded. A failed
// task stops only the tasks after it. Run returns when no task runs any more. Its error joins the errors of the tasks in
// their order.
func (ph Phase[E]) Run(ctx context.Context, env E, limit int) error {
	r := &run[E]{Phase: ph, env: env, limit: limit, states: make([]state, len(ph.Tasks)), errs: make([]error, len(ph.Tasks)), ended: make(chan int)}
	for {
		for i := range r.Tasks {
			r.consider(ctx, i)
		}
		if !slices.Contains(r.states, running) {
			break
		}
		select {
		case i := <-r.ended:
			r.states[i] = succeeded
			if r.errs[i] != nil {
				r.states[i] = failed
			}
		case <-r.cancelled(ctx):
		}
	}
	err := errors.Join(r.errs...)
	if slices.Contains(r.states, skipped) && err == nil {
		err = context.Cause(ctx)
	}
	return err
}

// cancelled returns a channel that is closed when ctx ends, or nil if cancelling would change nothing: ctx has ended
// already, or no task waits.
func (r *run[E]) cancelled(ctx context.Context) <-chan struct{} {
	if ctx.Err() == nil && slices.Contains(r.states, waiting) {
		return ctx.Done()
	}
	return nil
}

// consider starts or skips task i if the task waits and can be started or must be skipped.
func (r *run[E]) consider(ctx context.Context, i int) {
	t := r.Tasks[i]
	if r.states[i] != waiting {
		return
	}
	ready, hindered := true, ctx.Err() != nil
	for _, before := range t.After {
		ready = ready && r.states[before] > running
		hindered = hindered || r.states[before] > succeeded
	}
	switch {
	case hindered && !t.Cleanup:
		r.states[i] = skipped
	case ready && r.free(t):
		r.start(ctx, i)
	}
}

// free reports whether the limit allows one more task and no running task uses the resource that t needs alone.
func (r *run[E]) free(t Task[E]) bool {
	busy := 0
	for i, s := range r.states {
		if s != running {
			continue
		}
		if busy++; t.Alone != "" && r.Tasks[i].Alone == t.Alone {
			return false
		}
	}
	return busy < r.limit
}

func (r *run[E]) start(ctx context.Context, i int) {
	t := r.Tasks[i]
	if t.Cleanup {
		ctx = context.WithoutCancel(ctx)
	}
	r.states[i] = running
	go func() {
		n := r.env.Node(t.On)
		err := t.Do(ctx, r.env, n)
		if w, able := any(r.env).(Witness); able && err != nil {
			err = w.Failed(ctx, t.Name, n, err)
		}
		r.errs[i] = err
		r.ended <- i
	}()
}
