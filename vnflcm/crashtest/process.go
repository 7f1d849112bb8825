package crashtest

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
	"github.com/vnfkit/vnfkit/vnflcm/store/storetest"
)

// Point is where in a step a process dies.
type Point string

// The points of a step. At JournalLost the process dies as at BeforeJournal, and the journal of all steps before is
// lost too: the next process has to find out by probes what was done.
const (
	BeforeDo      Point = "before Do"
	InsideDo      Point = "inside Do" // when Death.Inside says so
	BeforeJournal Point = "before the journal"
	AfterJournal  Point = "after the journal"
	JournalLost   Point = "journal lost"
)

// Points lists all points, in the order in which a step reaches them.
var Points = []Point{BeforeDo, InsideDo, BeforeJournal, AfterJournal, JournalLost}

// Death says where a process dies, and how.
type Death struct {
	// Step selects the step. If it selects several, the process dies in the first. Nil: the process dies when Die is
	// called.
	Step func(vnflcm.StepInfo) bool
	// Point is the point in the step.
	Point Point
	// PointIn returns the point in a step, "" for a step that the process survives. It replaces Step and Point: the process dies in the
	// first step that has a point. Nil: Step and Point decide.
	PointIn func(vnflcm.StepInfo) Point
	// After is a process that has died: this process resumes its operation, so that several processes die one after the other. Attach
	// does what AttachNext of After does, and Run reports what Resume of After would report, but for the end of the operation. Nil: this
	// process begins the operation.
	After *Process
	// Inside prepares the death while Do of the step runs: it arranges that die is called during Do. InsideDo needs it.
	// If it returns a function, that is called when the step has returned.
	Inside func(s vnflcm.StepInfo, die func()) (undo func())
	// End cuts the resources that the process has beside its store, such as connections: running steps must not reach
	// anything any more. It is called once.
	End func()
}

// At returns a function for Death.Step that selects the step with the Phase and Name of the argument on the same VNFC.
// VNFCs are the same if they have the same id (On) or the same name (Host): ids differ from run to run, and names need
// not. infra/sandbox names VNFCs by VDU and index, such as workerNode-0, so a step that was recorded in one run is found in
// the next, and a test can also write the step itself:
//
//	crashtest.At(vnflcm.StepInfo{Phase: "instantiate_end", Name: "join", Host: "workerNode-0"})
//
// Without On and Host the step is one of the whole VNF.
func At(step vnflcm.StepInfo) func(vnflcm.StepInfo) bool {
	return func(s vnflcm.StepInfo) bool {
		return s.Phase == step.Phase && s.Name == step.Name && (s.On == step.On || s.Host != "" && s.Host == step.Host)
	}
}

// Process is a simulated process that dies. It serves one Manager, and a second one that resumes.
type Process struct {
	death     Death
	fence     storetest.Fence
	processes names // of the Manager that dies
	once      sync.Once
	gone      chan struct{}

	mu    sync.Mutex
	key   string            // of the step, once it has begun
	point Point             // in that step
	seen  []vnflcm.StepInfo // steps that have begun
	done  map[string]bool   // keys of the steps that are in the journal
	rerun []vnflcm.StepInfo // of those, the ones that the next process ran
	lost  error             // why the journal could not be removed
}

// New returns a Process that lives until its Death.
func New(d Death) *Process {
	return &Process{death: d, processes: names{ids: map[string]bool{}}, gone: make(chan struct{}), done: map[string]bool{}}
}

// Attach connects a Manager to the process by its Config, before vnflcm.New: the Manager dies with the process.
func (p *Process) Attach(c *vnflcm.Config) {
	if p.death.After != nil {
		p.death.After.AttachNext(c)
	}
	p.fence.Store = c.Store
	c.Store = db{&p.fence, p}
	c.Intercept = around(p.intercept, c.Intercept)
}

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
// before: Dead reports which. The error is a failure to begin or close the operation or, if the process did not die,
// the failure of the operation.
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
	case <-p.gone: // the rest of it need not wait
	}
	closed := m.Close(ctx)
	<-ended
	if p.Dead() {
		<-p.gone  // so that it cannot later end resources of the next process
		err = nil // errors of a dying process do not matter
	}
	if p.death.After != nil {
		err = errors.Join(err, p.death.After.repeated())
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
	switch p.at() {
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

// begins reports whether the process is to die in this step.
func (p *Process) begins(s vnflcm.StepInfo) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = append(p.seen, s)
	if p.key != "" {
		return false
	}
	point := p.death.pointIn(s)
	if point == "" {
		return false
	}
	p.key, p.point = s.Key(), point
	return true
}

// pointIn returns where in a step the process dies, "" if it survives the step.
func (d Death) pointIn(s vnflcm.StepInfo) Point {
	switch {
	case d.PointIn != nil:
		return d.PointIn(s)
	case d.Step != nil && d.Step(s):
		return d.Point
	}
	return ""
}

// at returns the point at which the process dies.
func (p *Process) at() Point {
	p.mu.Lock()
	defer p.mu.Unlock()
	return cmp.Or(p.point, p.death.Point)
}

// store is the store of a process that dies when it journals the step.
type db struct {
	*storetest.Fence
	p *Process
}

// Apply implements store.Store.
func (s db) Apply(ctx context.Context, b store.Batch) error {
	var journal []string
	for _, r := range b.Put {
		if r.Kind == stepKind {
			journal = append(journal, r.ID)
		}
	}
	ours := slices.ContainsFunc(journal, s.p.isKey)
	if ours && slices.Contains([]Point{BeforeJournal, JournalLost}, s.p.at()) {
		s.p.Die()
	}
	s.p.processes.add(b.Put)
	err := s.Fence.Apply(ctx, b)
	if err == nil {
		s.p.journaled(journal)
	}
	if ours && s.p.at() == AfterJournal {
		s.p.Die()
	}
	return err
}

// stepKind is the kind of the records of the journal.
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
