package infratest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/crashtest"
	"github.com/vnfkit/vnfkit/vnflcm/store/storetest"
)

// cut is where a process dies: at a point of a step, or before a change of the VIM.
type cut struct {
	step   vnflcm.StepInfo
	nth    int // of the steps with this phase and name, which begin in any order
	point  crashtest.Point
	change int32 // from 1; 0: at the step
}

// selects returns a function for crashtest.Death.
func (c cut) selects() func(vnflcm.StepInfo) bool {
	var mu sync.Mutex
	seen := 0
	return func(s vnflcm.StepInfo) bool {
		mu.Lock()
		defer mu.Unlock()
		if c.change > 0 || s.Phase != c.step.Phase || s.Name != c.step.Name {
			return false
		}
		seen++
		return seen == c.nth
	}
}

func (c cut) String() string {
	if c.change > 0 {
		return fmt.Sprintf("before change %d", c.change)
	}
	return fmt.Sprintf("%s of step %s %d", c.point, c.step.Phase+"/"+c.step.Name, c.nth)
}

// death kills the process of each operation at every step and before every change of the VIM. The next process must reach the end of an
// undisturbed run.
func death(t testing.TB, s Setup) {
	t.Helper()
	for _, o := range open(t, s).operations() {
		cuts, end := watched(t, s, o)
		if len(cuts) == 0 {
			t.Errorf("%s: the driver runs no step, and the World has no OnChange: there is no point at which the process could die", o.name)
		}
		if s.Sample || testing.Short() {
			cuts = crashtest.Sample(cuts, func(c cut) (step, name string) { return c.step.Phase + "/" + c.step.Name, c.String() })
		}
		for _, at := range cuts {
			sub(t, o.name+" "+at.String(), func(t testing.TB) {
				t.Helper()
				l, id, m := crashed(t, s, o, at)
				if diff := gocmp.Diff(end, l.outcome(m, id)); diff != "" {
					t.Errorf("%s: the process died %s: the end (+) is not that of an undisturbed run (-):\n%s", o.name, at, diff)
				}
				l.agree(fmt.Sprintf("%s: the process died %s", o.name, at))
			})
		}
	}
}

// watched runs an operation to its end. It returns where its process could die, and the end.
func watched(t testing.TB, s Setup, o operation) (cuts []cut, end outcome) {
	t.Helper()
	l, steps := open(t, s), new(crashtest.Steps)
	id, m := l.prepare(o), l.process(steps.Record)
	var changes atomic.Int32
	if l.w.OnChange != nil {
		l.w.OnChange(func() error { changes.Add(1); return nil })
	}
	opID, err := o.begin(l, m, id)
	l.complete(m, o.name, opID, err)
	if l.w.OnChange != nil {
		l.w.OnChange(nil)
	}
	seen := map[string]int{}
	for _, step := range steps.List() {
		seen[step.Phase+step.Name]++
		for _, point := range crashtest.Points {
			if point != crashtest.InsideDo {
				cuts = append(cuts, cut{step: step, nth: seen[step.Phase+step.Name], point: point})
			}
		}
	}
	for n := range changes.Load() {
		cuts = append(cuts, cut{change: n + 1})
	}
	return cuts, l.outcome(m, id)
}

// crashed runs an operation in a process that dies, and to its end in the next one.
func crashed(t testing.TB, s Setup, o operation, at cut) (l *lab, id string, next *vnflcm.Manager) {
	t.Helper()
	l = open(t, s)
	id = l.prepare(o)
	dying := crashtest.New(crashtest.Death{Point: at.point, Step: at.selects()})
	m := l.process(dying.Attach)
	if l.w.OnChange != nil {
		var changes atomic.Int32
		l.w.OnChange(func() error {
			if changes.Add(1) == at.change {
				dying.Die()
			}
			if dying.Dead() {
				return storetest.ErrCut
			}
			return nil
		})
	}
	opID, err := dying.Run(t.Context(), m, func(m *vnflcm.Manager) (string, error) { return o.begin(l, m, id) })
	l.must(err)
	if l.w.OnChange != nil {
		l.w.OnChange(nil)
	}
	next = l.process(dying.AttachNext)
	if dying.Dead() || at.change == 0 {
		if _, err := dying.Resume(t.Context(), next, opID); err != nil {
			t.Fatalf("%s: the process died %s: %v", o.name, at, err)
		}
	} // else it has made fewer changes this time
	return l, id, next
}
