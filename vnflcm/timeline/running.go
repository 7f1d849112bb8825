package timeline

import (
	"cmp"
	"slices"
	"sync"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// Running knows the steps that are running in this process, which the history does not have yet. Its zero value is ready for
// use, by several goroutines. Pass its Observe to vnflcm.Config.Observe.
type Running struct {
	mu    sync.Mutex
	steps map[string]map[string]vnflcm.Performed // by operation and by key of the step
}

// Observe notes the steps that an event reports. Set it as vnflcm.Config.Observe.
func (r *Running) Observe(e vnflcm.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch e.Kind {
	case vnflcm.StepStarted:
		if r.steps == nil {
			r.steps = map[string]map[string]vnflcm.Performed{}
		}
		if r.steps[e.OperationID] == nil {
			r.steps[e.OperationID] = map[string]vnflcm.Performed{}
		}
		r.steps[e.OperationID][e.Key()] = vnflcm.Performed{Phase: e.Phase, Step: e.Name, On: e.On, Host: e.Host, Start: e.Time}
	case vnflcm.StepDone, vnflcm.StepFailed:
		delete(r.steps[e.OperationID], e.Key())
		if len(r.steps[e.OperationID]) == 0 {
			delete(r.steps, e.OperationID)
		}
	}
}

// Steps returns the steps of an operation that are running in this process, in the order of their beginning, for
// Chart.AddRunning. Their End is zero.
func (r *Running) Steps(opID string) []vnflcm.Performed {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []vnflcm.Performed
	for _, step := range r.steps[opID] {
		out = append(out, step)
	}
	slices.SortFunc(out, func(a, b vnflcm.Performed) int {
		return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(a.Phase, b.Phase), cmp.Compare(a.Step, b.Step), cmp.Compare(a.On, b.On))
	})
	return out
}
