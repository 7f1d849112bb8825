package plan

import (
	"slices"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// Preview returns the tasks in the form that Manager.Preview returns.
func (p *Plan[E]) Preview() (out []vnflcm.PlannedTask) {
	for _, ph := range p.Phases {
		offset := len(out)
		for i, t := range ph.Tasks {
			shown := vnflcm.PlannedTask{Phase: string(ph.Hook), Name: t.Name, On: t.On.ID, Machine: t.On.Name, Why: t.Why, If: t.If, Alone: t.Alone, Repeats: t.Repeats}
			for _, before := range ph.direct(i) {
				shown.After = append(shown.After, offset+before)
			}
			out = append(out, shown)
		}
	}
	return out
}

// direct returns the tasks that come immediately before task i: those of After that do not come before another task of
// After.
func (ph Phase[E]) direct(i int) (out Tasks) {
	after := ph.Tasks[i].After
	implied := map[int]bool{} // tasks that come before a task of after
	for _, before := range after {
		ph.before(before, implied)
	}
	return slices.DeleteFunc(slices.Clone(after), func(t int) bool { return implied[t] })
}

// before adds to seen the tasks that come before task i.
func (ph Phase[E]) before(i int, seen map[int]bool) {
	for _, t := range ph.Tasks[i].After {
		if !seen[t] {
			seen[t] = true
			ph.before(t, seen)
		}
	}
}
