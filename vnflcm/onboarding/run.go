package onboarding

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// Run checks and fetches packages until ctx ends or the Manager is closed. A process checks what it has received. One of the processes that
// call Run also works on what other processes have left, and removes files that no package has: when it begins, and every hour.
func (r *Repository) Run(ctx context.Context) error {
	m, err := r.attached()
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	w := &worker{Repository: r, room: make(chan struct{}, r.Parallel)}
	w.tasks.Go(func() { w.takeDue(ctx) })
	err = m.Exclusively(ctx, "vnf-packages", w.takeLeft)
	stop()
	w.tasks.Wait()
	return err
}

// worker works on packages in this process.
type worker struct {
	*Repository
	room  chan struct{} // has an item for each package that is worked on
	tasks sync.WaitGroup
}

// wake has Run of this process work on a package.
func (r *Repository) wake(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.due[id] = true
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// takeDue works on the packages that this process has received.
func (w *worker) takeDue(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.changed:
		}
		w.mu.Lock()
		due := slices.Sorted(maps.Keys(w.due))
		clear(w.due)
		w.mu.Unlock()
		for _, id := range due {
			select {
			case <-ctx.Done():
				return
			case w.room <- struct{}{}:
			}
			w.tasks.Go(func() {
				defer func() { <-w.room }()
				w.take(ctx, id, func(ctx context.Context) error { return w.advance(ctx, id) })
			})
		}
	}
}

// take does work on a package in one of all processes, unless this process works on it already.
func (w *worker) take(ctx context.Context, id string, work func(context.Context) error) {
	if !w.claim(id) {
		return
	}
	defer w.unclaim(id)
	err := w.exclusively(ctx, id, work)
	if err != nil && ctx.Err() == nil && !errors.Is(err, vnflcm.ErrShutdown) {
		w.Logger.WarnContext(ctx, "a VNF package cannot be worked on now", "package", id, "error", err)
	}
}

func (r *Repository) claim(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.working[id] {
		return false
	}
	r.working[id] = true
	return true
}

func (r *Repository) unclaim(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.working, id)
}

// Intervals of the process that looks after what other processes have left.
const (
	lookEvery  = time.Second
	sweepEvery = time.Hour
)

// takeLeft works on packages that no process works on, and removes files that no package has.
func (w *worker) takeLeft(ctx context.Context) error {
	var tasks sync.WaitGroup
	defer tasks.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	sweep := time.NewTimer(0)
	defer sweep.Stop()
	for {
		if err := w.takeWorks(ctx, &tasks); err != nil && ctx.Err() == nil {
			w.Logger.WarnContext(ctx, "the VNF packages cannot be read now", "error", err)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(lookEvery):
		case <-sweep.C:
			if err := w.sweep(ctx); err != nil && ctx.Err() == nil {
				w.Logger.WarnContext(ctx, "files that no VNF package has cannot be removed now", "error", err)
			}
			sweep.Reset(sweepEvery)
		}
	}
}

// takeWorks waits for the lease of each package that is worked on: it becomes free when the work or its process has ended.
func (w *worker) takeWorks(ctx context.Context, tasks *sync.WaitGroup) error {
	m, err := w.attached()
	if err != nil {
		return err
	}
	list, err := m.Documents(worksIn).List(ctx, "", 0)
	for _, d := range list {
		tasks.Go(func() {
			w.take(ctx, d.ID, func(ctx context.Context) error {
				select {
				case w.room <- struct{}{}:
				default: // looked at again later
					return nil
				}
				defer func() { <-w.room }()
				return w.advance(ctx, d.ID)
			})
		})
	}
	return err
}

// maxBegun is how often a fetch or a check begins: if its processes have ended so often, the package is the likely reason.
const maxBegun = 3

// advance works on a package whose lease this process has, until it is ONBOARDED or ERROR.
func (r *Repository) advance(ctx context.Context, id string) error {
	p, err := r.read(ctx, id)
	if errors.Is(err, vnflcm.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	switch {
	case p.Info.OnboardingState == Uploading && p.Source == nil:
		return r.failAt(ctx, p, FailureDetails{Title: "The upload was interrupted.", Status: http.StatusInternalServerError,
			Detail: "the process that received the content has ended, upload it again"})
	case p.Info.OnboardingState == Uploading:
		if err := r.fetch(ctx, p); err != nil {
			return err
		}
		return r.process(ctx, id)
	case p.Info.OnboardingState == Processing:
		return r.process(ctx, id)
	}
	return nil
}

// failAt makes a package ERROR if its state and its attempt are as they were read.
func (r *Repository) failAt(ctx context.Context, was *entry, why FailureDetails) error {
	return ignoreSuperseded(r.fail(ctx, was.id, why, func(p *entry) bool {
		return p.Info.OnboardingState == was.Info.OnboardingState && p.Attempt == was.Attempt && p.Content == was.Content
	}))
}

// ignoreSuperseded returns nil if the work was not needed any more.
func ignoreSuperseded(err error) error {
	if errors.Is(err, errSuperseded) || errors.Is(err, vnflcm.ErrNotFound) {
		return nil
	}
	return err
}

// start counts the beginning of a fetch or a check. With tooOften the package is ERROR.
func (r *Repository) start(ctx context.Context, id string, attempt string, state State) (p *entry, err error) {
	p, err = r.change(ctx, id, func(p *entry) ([]vnflcm.DocumentWrite, error) {
		if p.Info.OnboardingState != state {
			return nil, errSuperseded
		}
		p.Begun++
		p.Attempt = attempt
		return nil, nil
	})
	if err != nil || p.Begun <= maxBegun {
		return p, err
	}
	return nil, errors.Join(errSuperseded, r.failAt(ctx, p, FailureDetails{Title: "The process ended.", Status: http.StatusInternalServerError,
		Detail: fmt.Sprintf("%d processes have ended while they worked on the package", maxBegun)}))
}
