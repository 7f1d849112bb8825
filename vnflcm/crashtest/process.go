package crashtest

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/storetest"
)

// Point is where in a step a process dies.
type Point string

// The points of a step. At JournalLost it dies as at BeforeJournal, and the journal of all steps before is lost too:
// the next process finds the world as it is, and no memory of what was done to it.
const (
	BeforeDo      Point = "before Do"
	InsideDo      Point = "inside Do" // when Death.Inside says so
	BeforeJournal Point = "before the journal"
	AfterJournal  Point = "after the journal"
	JournalLost   Point = "journal lost"
)

// Points are all of them, in the order in which a step comes to them.
var Points = []Point{BeforeDo, InsideDo, BeforeJournal, AfterJournal, JournalLost}

// Death says where a process dies, and how.
type Death struct {
	// Step reports whether this is the step. Of several, it dies in the first. None: it dies when Die is called.
	Step func(vnflcm.StepInfo) bool
	// Point is that in the step.
	Point Point
	// Inside watches the world while Do of the step runs: it arranges that die is called in the middle. InsideDo
	// needs it. What it returns, if that is not nil, takes the arrangement back when the step has returned.
	Inside func(s vnflcm.StepInfo, die func()) (undo func())
	// End cuts what the process holds beside its store, such as connections: steps under way shall reach nothing any
	// more. It is called once.
	End func()
}

// At returns a Death.Step that is the step of that phase and name, on the same thing.
func At(step vnflcm.StepInfo) func(vnflcm.StepInfo) bool {
	return func(s vnflcm.StepInfo) bool { return s.Phase == step.Phase && s.Name == step.Name && s.On == step.On }
}

// Process is one that dies. It serves one Manager, and one that resumes.
type Process struct {
	death Death
	fence storetest.Fence
	once  sync.Once
	gone  chan struct{}

	mu    sync.Mutex
	key   string            // of the step, once it has begun
	done  map[string]bool   // keys of the steps that are in the journal
	again []vnflcm.StepInfo // of those, the ones that the next process ran
}

// New returns a Process that lives until its Death.
func New(d Death) *Process {
	return &Process{death: d, gone: make(chan struct{}), done: map[string]bool{}}
}

// Doom makes a Manager that of the process: it changes the Config that vnflcm.New gets.
func (p *Process) Doom(c *vnflcm.Config) {
	c.Owner = cmp.Or(c.Owner, owner)
	p.fence.Store = c.Store
	c.Store = store{&p.fence, p}
	c.Intercept = around(p.intercept, c.Intercept)
}

// owner is what both processes are called unless their Config says: so the next one need not wait until the lease of the
// dead has run out.
const owner = "crashtest"

// Die ends the process at once. More than one call are one.
func (p *Process) Die() {
	p.once.Do(func() {
		p.fence.Cut(true)
		if p.death.End != nil {
			p.death.End()
		}
		close(p.gone)
	})
}

// Dead reports whether the process is dead.
func (p *Process) Dead() bool { return p.fence.IsCut() }

// Run begins an operation and returns when the process is dead and the Manager closed, or when the operation has ended
// before: Dead tells. The error is what kept it from beginning or closing; without its death, how the operation failed.
func (p *Process) Run(ctx context.Context, m *vnflcm.Manager, begin func(*vnflcm.Manager) (opID string, err error)) (opID string, err error) {
	opID, err = begin(m)
	if err != nil {
		return "", errors.Join(err, m.Close(ctx))
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, err = m.Wait(ctx, opID)
	}()
	select {
	case <-ended:
	case <-p.gone: // what is left of it need not wait for anything
	}
	closed := m.Close(ctx)
	<-ended
	if p.Dead() {
		<-p.gone  // nothing of it may end later what the next process holds
		err = nil // whatever the dying have to say
	}
	return opID, errors.Join(err, closed)
}

// intercept dies at the step, or begins to watch it.
func (p *Process) intercept(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
	if p.Dead() {
		return storetest.ErrCut
	}
	if !p.begins(s) {
		return next(ctx)
	}
	switch p.death.Point {
	case BeforeDo:
		p.Die()
		return storetest.ErrCut
	case InsideDo:
		if undo := p.death.Inside(s, p.Die); undo != nil {
			defer undo()
		}
	}
	return next(ctx)
}

// begins reports whether the step is that of the death.
func (p *Process) begins(s vnflcm.StepInfo) bool {
	if p.death.Step == nil || !p.death.Step(s) {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.key != "" {
		return false
	}
	p.key = s.Key()
	return true
}

// store is that of a process that dies when it journals the step.
type store struct {
	*storetest.Fence
	p *Process
}

// Apply implements vnflcm.Store.
func (s store) Apply(ctx context.Context, b vnflcm.Batch) error {
	var journal []string
	for _, r := range b.Put {
		if r.Kind == stepKind {
			journal = append(journal, r.ID)
		}
	}
	ours := slices.ContainsFunc(journal, s.p.isKey)
	if ours && slices.Contains([]Point{BeforeJournal, JournalLost}, s.p.death.Point) {
		s.p.Die()
	}
	err := s.Fence.Apply(ctx, b)
	if err == nil {
		s.p.journaled(journal)
	}
	if ours && s.p.death.Point == AfterJournal {
		s.p.Die()
	}
	return err
}

// stepKind is that of the records that are the journal.
const stepKind = "step"

func (p *Process) isKey(key string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.key != "" && key == p.key
}

func (p *Process) journaled(keys []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, key := range keys {
		p.done[key] = true
	}
}

// around has an interceptor run around another, which may be nil.
func around(outer, inner vnflcm.Interceptor) vnflcm.Interceptor {
	if inner == nil {
		return outer
	}
	return func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
		return outer(ctx, s, func(ctx context.Context) error { return inner(ctx, s, next) })
	}
}
