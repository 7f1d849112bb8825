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
	w := &worker{Repository: r, checks: make(room, r.Parallel), fetches: map[string]room{}}
	w.tasks.Go(func() { w.takeDue(ctx) })
	err = m.Exclusively(ctx, "vnf-packages", w.takeLeft)
	stop()
	w.tasks.Wait()
	return err
}

// worker works on packages in this process.
type worker struct {
	*Repository
	checks room // for packages that are checked
	tasks  sync.WaitGroup

	guard   sync.Mutex
	fetches map[string]room // for packages that are fetched, by tenant: a slow server that a tenant names delays no other tenant
}

// room has an item for each package that is worked on.
type room chan struct{}

// isWorkedOn reports whether a package is being received or checked.
func (p *entry) isWorkedOn() bool {
	return p.Info.OnboardingState == Uploading || p.Info.OnboardingState == Processing
}

// roomFor returns the room that work on a package needs, nil for none.
func (w *worker) roomFor(p *entry) room {
	switch {
	case p.Info.OnboardingState == Processing:
		return w.checks
	case p.Info.OnboardingState != Uploading || p.Source == nil:
		return nil
	}
	w.guard.Lock()
	defer w.guard.Unlock()
	if w.fetches[p.Tenant] == nil {
		w.fetches[p.Tenant] = make(room, w.Parallel)
	}
	return w.fetches[p.Tenant]
}

// enter takes an item of the room, and returns false if the context has ended.
func (r room) enter(ctx context.Context) bool {
	if r == nil {
		return true
	}
	select {
	case <-ctx.Done():
		return false
	case r <- struct{}{}:
		return true
	}
}

// tryEnter takes an item of the room, and returns false if the room is full.
func (r room) tryEnter() bool {
	if r == nil {
		return true
	}
	select {
	case r <- struct{}{}:
		return true
	default:
		return false
	}
}

func (r room) leave() {
	if r != nil {
		<-r
	}
}

func (r room) isFull() bool { return r != nil && len(r) == cap(r) }

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

// takeAwoken returns the packages that wake has named since the last call.
func (r *Repository) takeAwoken() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	due := slices.Sorted(maps.Keys(r.due))
	clear(r.due)
	return due
}

// takeDue works on the packages that this process has received.
func (w *worker) takeDue(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.changed:
		}
		for _, id := range w.takeAwoken() {
			w.tasks.Go(func() { w.report(ctx, id, w.takeReceived(ctx, id)) })
		}
	}
}

// takeReceived works on a package that this process has received, once there is room. takeLeft does it if it fails.
func (w *worker) takeReceived(ctx context.Context, id string) error {
	if !w.claim(id) {
		return nil
	}
	defer w.unclaim(id)
	p, err := w.read(ctx, id)
	if err != nil || !p.isWorkedOn() {
		return ignoreSuperseded(err)
	}
	place := w.roomFor(p)
	if !place.enter(ctx) {
		return nil
	}
	defer place.leave()
	return w.exclusively(ctx, id, func(ctx context.Context) error { return w.advance(ctx, id) })
}

// takeOne works on a package that no process works on, if there is room.
func (w *worker) takeOne(ctx context.Context, id string) error {
	if !w.claim(id) {
		return nil
	}
	defer w.unclaim(id)
	if p, err := w.read(ctx, id); err != nil || !p.isWorkedOn() || w.roomFor(p).isFull() { // looked at again later
		return ignoreSuperseded(err)
	}
	return w.exclusively(ctx, id, func(ctx context.Context) error {
		p, err := w.read(ctx, id)
		if err != nil {
			return ignoreSuperseded(err)
		}
		place := w.roomFor(p)
		if !place.tryEnter() {
			return nil
		}
		defer place.leave()
		return w.advance(ctx, id)
	})
}

// report logs why a package cannot be worked on.
func (w *worker) report(ctx context.Context, id string, err error) {
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
		tasks.Go(func() { w.report(ctx, d.ID, w.takeOne(ctx, d.ID)) })
	}
	return err
}

// maxBegun is how often a fetch or a check begins: if its processes have ended so often, the package is the likely reason.
const maxBegun = 3

// advance works on a package whose lease this process has, until it is ONBOARDED or ERROR.
func (w *worker) advance(ctx context.Context, id string) error {
	p, err := w.read(ctx, id)
	if errors.Is(err, vnflcm.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	switch {
	case p.Info.OnboardingState == Uploading && p.Source == nil:
		return w.failAt(ctx, p, FailureDetails{Title: "The upload was interrupted.", Status: http.StatusInternalServerError,
			Detail: "the process that received the content has ended, upload it again"})
	case p.Info.OnboardingState == Uploading:
		if err := w.fetch(ctx, p); err != nil {
			return err
		}
		if !w.checks.enter(ctx) {
			return context.Cause(ctx)
		}
		defer w.checks.leave()
		return w.process(ctx, id)
	case p.Info.OnboardingState == Processing:
		return w.process(ctx, id)
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
