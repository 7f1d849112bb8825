package timeline

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// bar is a step in the picture.
type bar struct {
	vnflcm.Performed
	running, critical bool
	reason            string // why a running step waits
	lane              int
}

// row has the steps of a machine, or of the VNF as a whole.
type row struct {
	name  string
	bars  []*bar
	lanes int
}

// layout is what the picture has, without positions.
type layout struct {
	start, end time.Time
	steps      []vnflcm.Performed
	rows       []*row
	phases     []vnflcm.Performed
	attempts   []attempt
	critical   []*bar
}

// attempt is the beginning of a further attempt.
type attempt struct {
	number  int
	start   time.Time
	process string // "" if it is the process of the attempt before
}

func (c *Chart) layOut(now time.Time) *layout {
	l := &layout{start: c.Start, end: c.End, steps: c.steps()}
	bars := make([]*bar, len(l.steps))
	for i := range l.steps {
		bars[i] = &bar{Performed: l.steps[i]}
		if l.steps[i].End.IsZero() {
			bars[i].running, bars[i].reason = true, c.reasonOf(bars[i].Performed)
			l.steps[i].End = latest(now, l.steps[i].Start)
			bars[i].End = l.steps[i].End
		}
	}
	for _, i := range criticalPath(l.steps) {
		bars[i].critical = true
		l.critical = append(l.critical, bars[i])
	}
	l.bound(now)
	l.rows = rowsOf(bars)
	l.phases = slices.DeleteFunc(slices.Clone(c.Work), func(p vnflcm.Performed) bool { return p.Step != "" })
	l.attempts = attemptsOf(l.steps)
	return l
}

// bound finds when the operation began and ended. Clocks of processes differ, so steps may be before and after that.
func (l *layout) bound(now time.Time) {
	if l.end.IsZero() {
		l.end = now
	}
	for i, s := range l.steps {
		if i == 0 && (l.start.IsZero() || s.Start.Before(l.start)) {
			l.start = s.Start
		}
		l.end = latest(l.end, s.End)
	}
	if l.start.IsZero() || l.end.Before(l.start) {
		l.start = l.end
	}
}

// rowsOf sorts the steps into rows, the VNF as a whole first, then machines by name.
func rowsOf(bars []*bar) (rows []*row) {
	byMachine := map[string]*row{}
	for _, b := range bars {
		r := byMachine[b.On]
		if r == nil {
			r = &row{}
			byMachine[b.On] = r
			rows = append(rows, r)
		}
		r.name = cmp.Or(r.name, b.Host)
		if b.On != "" {
			r.name = cmp.Or(r.name, b.On)
		}
		r.add(b)
	}
	slices.SortStableFunc(rows, func(a, b *row) int { return compareNames(a.name, b.name) })
	return rows
}

// add puts a step into the first lane that is free when the step begins.
func (r *row) add(b *bar) {
	free := make([]bool, r.lanes+1)
	for i := range free {
		free[i] = true
	}
	for _, other := range r.bars {
		if other.End.After(b.Start) || other.Start.Equal(b.Start) {
			free[other.lane] = false
		}
	}
	b.lane = slices.Index(free, true)
	r.lanes = max(r.lanes, b.lane+1)
	r.bars = append(r.bars, b)
}

// compareNames orders node-2 before node-10. "" comes first.
func compareNames(a, b string) int {
	digits := func(s string) int { return len(s) - len(strings.TrimLeftFunc(s, unicode.IsDigit)) }
	for a != "" && b != "" {
		if n, m := digits(a), digits(b); n > 0 && m > 0 {
			x, y := strings.TrimLeft(a[:n], "0"), strings.TrimLeft(b[:m], "0")
			if c := cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y)); c != 0 {
				return c
			}
			a, b = a[n:], b[m:]
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

// attemptsOf returns the attempts after the first.
func attemptsOf(steps []vnflcm.Performed) (out []attempt) {
	process := map[int]string{}
	for _, s := range steps {
		if _, seen := process[s.Attempt]; seen || s.Attempt == 0 {
			continue
		}
		process[s.Attempt] = s.Process
		if s.Attempt == 1 {
			continue
		}
		a := attempt{number: s.Attempt, start: s.Start}
		if s.Process != process[s.Attempt-1] {
			a.process = s.Process
		}
		out = append(out, a)
	}
	return out
}
