// Package plan describes the work of a management driver as ordered tasks, and runs them. A plan can be shown before it
// runs: building a plan contacts no machine.
package plan

import (
	"context"
	"slices"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// Environment has what the tasks of a hook need. A driver makes one for each hook.
type Environment interface {
	// Node returns the machine of a task.
	Node(on Machine) mgmt.Node
	// Close ends the connections of the environment.
	Close()
}

// Witness is an Environment that explains failures.
type Witness interface {
	// Failed returns the error of a task, with what explains it. The task counts as running until Failed returns.
	Failed(ctx context.Context, task string, n mgmt.Node, err error) error
}

// Kind is a kind of task: its description in a plan, and the code that runs it.
type Kind[E Environment] struct {
	Name string // name of the step in the journal
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
	// Do does the work on a machine, which is the zero Node if the task is for the VNF as a whole.
	Do func(ctx context.Context, env E, n mgmt.Node) error
}

// Task is one piece of work on one machine.
type Task[E Environment] struct {
	Kind[E]

	On    Machine
	After Tasks
}

// Tasks are references to tasks of one phase, by position.
type Tasks []int

// Phase has the tasks of one hook.
type Phase[E Environment] struct {
	Hook  vnflcm.Hook
	Tasks []Task[E]
}

// Plan has the tasks of all hooks of one operation, in the order in which the hooks are called.
type Plan[E Environment] struct{ Phases []Phase[E] }

// Begin adds a phase. Later calls add tasks to this phase.
func (p *Plan[E]) Begin(hook vnflcm.Hook) { p.Phases = append(p.Phases, Phase[E]{Hook: hook}) }

// On adds a task on a machine to the last phase. The task runs after the tasks in after.
func (p *Plan[E]) On(m Machine, k Kind[E], after ...Tasks) Tasks {
	last := &p.Phases[len(p.Phases)-1]
	t := Task[E]{Kind: k, On: m, After: slices.Concat(after...)}
	slices.Sort(t.After)
	t.After = slices.Compact(t.After)
	last.Tasks = append(last.Tasks, t)
	return Tasks{len(last.Tasks) - 1}
}

// Once adds a task for the VNF as a whole.
func (p *Plan[E]) Once(k Kind[E], after ...Tasks) Tasks { return p.On(Machine{}, k, after...) }

// Each adds a task on each of the machines, to run concurrently.
func (p *Plan[E]) Each(machines []Machine, k Kind[E], after ...Tasks) (all Tasks) {
	for _, m := range machines {
		all = append(all, p.On(m, k, after...)...)
	}
	return all
}

// Chain adds tasks on one machine, to run one after the other, and returns the last one.
func (p *Plan[E]) Chain(m Machine, kinds []Kind[E], after ...Tasks) Tasks {
	last := slices.Concat(after...)
	for _, k := range kinds {
		last = p.On(m, k, last)
	}
	return last
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
