// Package plan describes the work of a management driver as tasks with an order, and runs them. A plan can be shown before it
// runs: making it contacts no machine.
package plan

import (
	"context"
	"slices"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// Machine is a machine of the VNF. The zero Machine stands for the VNF as a whole.
type Machine struct {
	ID   string // of the VNFC
	Name string // for readers
}

// Task is one thing that is done on one machine, with an environment E that the driver makes for each hook.
type Task[E any] struct {
	Name string // of the step in the journal
	On   Machine
	Why  string // what the task is for, in one sentence
	// If is the condition under which the task does something, where only its run can tell. "" is always.
	If string
	// Repeats says that the task is no step: it has no entry in the journal, and a resumed operation runs it again.
	Repeats bool
	// Cleanup says that the task runs when the tasks before it have ended, even if they failed or the operation was cancelled.
	Cleanup bool
	// Alone names a resource that one task at a time may use, such as the membership of etcd. "" is none.
	Alone string
	After Tasks
	Do    func(ctx context.Context, env E, on Machine) error
}

// Tasks refers to tasks of one phase, by their position.
type Tasks []int

// Phase has the tasks of one hook.
type Phase[E any] struct {
	Hook  vnflcm.Hook
	Tasks []Task[E]
}

// Plan is what the hooks of one operation do, in the order in which they are called.
type Plan[E any] struct{ Phases []Phase[E] }

// Begin begins the next phase.
func (p *Plan[E]) Begin(hook vnflcm.Hook) { p.Phases = append(p.Phases, Phase[E]{Hook: hook}) }

// Add adds a task to the last phase, after these other ones.
func (p *Plan[E]) Add(t Task[E], after ...Tasks) Tasks {
	last := &p.Phases[len(p.Phases)-1]
	t.After = slices.Concat(after...)
	slices.Sort(t.After)
	t.After = slices.Compact(t.After)
	last.Tasks = append(last.Tasks, t)
	return Tasks{len(last.Tasks) - 1}
}

// All refers to all tasks that the last phase has so far.
func (p *Plan[E]) All() (all Tasks) {
	for i := range p.Phases[len(p.Phases)-1].Tasks {
		all = append(all, i)
	}
	return all
}

// Of returns the phase of a hook, which has no tasks if the plan has none.
func (p *Plan[E]) Of(hook vnflcm.Hook) Phase[E] {
	i := slices.IndexFunc(p.Phases, func(ph Phase[E]) bool { return ph.Hook == hook })
	if i < 0 {
		return Phase[E]{Hook: hook}
	}
	return p.Phases[i]
}
