// Package plan describes the work of a management driver as ordered tasks, and runs them. A plan can be shown before it
// runs: building a plan contacts no machine.
package plan

import (
	"context"
	"slices"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// Machine is a machine of the VNF. The zero Machine stands for the VNF as a whole.
type Machine struct {
	ID   string // id of the VNFC
	Name string // name to be read by people
}

// Task is one piece of work on one machine. E is the environment that the driver makes for each hook.
type Task[E any] struct {
	Name string // name of the step in the journal
	On   Machine
	Why  string // purpose of the task in one sentence
	// If is a condition under which the task does something, known only when the task runs. "" means always.
	If string
	// Repeats marks a task that is not a step: it has no entry in the journal, and a resumed operation runs it again.
	Repeats bool
	// Cleanup marks a task that runs after the tasks before it have ended, even if they failed or the operation was
	// cancelled.
	Cleanup bool
	// Alone names a resource that only one task at a time may use, such as the membership of etcd. "" means no resource.
	Alone string
	After Tasks
	Do    func(ctx context.Context, env E, on Machine) error
}

// Tasks are references to tasks of one phase, by position.
type Tasks []int

// Phase has the tasks of one hook.
type Phase[E any] struct {
	Hook  vnflcm.Hook
	Tasks []Task[E]
}

// Plan has the tasks of all hooks of one operation, in the order in which the hooks are called.
type Plan[E any] struct{ Phases []Phase[E] }

// Begin adds a phase. Later calls of Add add tasks to this phase.
func (p *Plan[E]) Begin(hook vnflcm.Hook) { p.Phases = append(p.Phases, Phase[E]{Hook: hook}) }

// Add adds a task to the last phase. The task runs after the tasks in after.
func (p *Plan[E]) Add(t Task[E], after ...Tasks) Tasks {
	last := &p.Phases[len(p.Phases)-1]
	t.After = slices.Concat(after...)
	slices.Sort(t.After)
	t.After = slices.Compact(t.After)
	last.Tasks = append(last.Tasks, t)
	return Tasks{len(last.Tasks) - 1}
}

// All returns references to all tasks of the last phase so far.
func (p *Plan[E]) All() (all Tasks) {
	for i := range p.Phases[len(p.Phases)-1].Tasks {
		all = append(all, i)
	}
	return all
}

// Of returns the phase of a hook. The phase has no tasks if the plan has none for the hook.
func (p *Plan[E]) Of(hook vnflcm.Hook) Phase[E] {
	i := slices.IndexFunc(p.Phases, func(ph Phase[E]) bool { return ph.Hook == hook })
	if i < 0 {
		return Phase[E]{Hook: hook}
	}
	return p.Phases[i]
}
