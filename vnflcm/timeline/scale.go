package timeline

import (
	"fmt"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// span is a time in which steps ran, or a pause. It is drawn from x to x+width.
type span struct {
	start, end time.Time
	pause      bool
	x, width   float64
}

// scale maps times to horizontal positions. Long pauses have a fixed width.
type scale struct{ spans []span }

const (
	pauseWidth = 44
	// A time without a running step is a pause if it is longer than this part of the time in which steps ran, and than
	// minPause: the steps of an operation can be short.
	pausePart = 6
	minPause  = 2 * time.Second
)

// newScale spreads the time from start to end over a width. steps are in the order of their beginning, with an end.
func newScale(steps []vnflcm.Performed, start, end time.Time, left, width float64) *scale {
	busy := busySpans(steps, start, end)
	var worked time.Duration
	for _, b := range busy {
		worked += b.end.Sub(b.start)
	}
	s := &scale{}
	add := func(from, to time.Time) {
		switch pause := to.Sub(from); {
		case pause <= 0:
		case pause > minPause && pause > worked/pausePart:
			s.spans = append(s.spans, span{start: from, end: to, pause: true})
		default:
			s.extend(from, to)
		}
	}
	at := start
	for _, b := range busy {
		add(at, b.start)
		s.extend(b.start, b.end)
		at = b.end
	}
	add(at, end)
	if len(s.spans) == 0 {
		s.spans = []span{{start: start, end: start.Add(1)}}
	}
	s.layOut(left, width)
	return s
}

// busySpans returns the times in which at least one step ran, within start and end.
func busySpans(steps []vnflcm.Performed, start, end time.Time) (busy []span) {
	for _, p := range steps {
		from, to := latest(p.Start, start), earliest(p.End, end)
		if last := len(busy) - 1; last >= 0 && !from.After(busy[last].end) {
			busy[last].end = latest(busy[last].end, to)
		} else {
			busy = append(busy, span{start: from, end: latest(from, to)})
		}
	}
	return busy
}

// extend adds a time that is drawn in proportion, to the last span if that has no pause.
func (s *scale) extend(from, to time.Time) {
	if last := len(s.spans) - 1; last >= 0 && !s.spans[last].pause {
		s.spans[last].end = to
		return
	}
	s.spans = append(s.spans, span{start: from, end: to})
}

func (s *scale) layOut(left, width float64) {
	var drawn time.Duration
	pauses := 0
	for _, p := range s.spans {
		if p.pause {
			pauses++
		} else {
			drawn += p.end.Sub(p.start)
		}
	}
	if pauses > 0 {
		width = max(width-float64(pauses)*pauseWidth, width/4)
	}
	x := left
	for i := range s.spans {
		p := &s.spans[i]
		p.x, p.width = x, pauseWidth
		if !p.pause {
			p.width = width * float64(p.end.Sub(p.start)) / float64(max(drawn, 1))
		}
		x += p.width
	}
}

// at returns the position of a time.
func (s *scale) at(t time.Time) float64 {
	for _, p := range s.spans {
		if !t.After(p.end) {
			part := float64(t.Sub(p.start)) / float64(max(p.end.Sub(p.start), 1))
			return p.x + p.width*max(part, 0)
		}
	}
	return s.right()
}

func (s *scale) right() float64 {
	last := s.spans[len(s.spans)-1]
	return last.x + last.width
}

// tick is a mark of the time axis.
type tick struct {
	x     float64
	label string
}

// ticks marks round times since the start, at least 70 units apart.
func (s *scale) ticks(start time.Time) (out []tick) {
	every := s.tickEvery(70)
	next := -1e9
	for _, p := range s.spans {
		if p.pause {
			continue
		}
		first := (p.start.Sub(start) + every - 1).Truncate(every)
		for d := max(first, 0); d <= p.end.Sub(start); d += every {
			if x := s.at(start.Add(d)); x >= next {
				out = append(out, tick{x, short(d)})
				next = x + 70
			}
		}
	}
	return out
}

// tickEvery returns the shortest round time that is drawn at least so wide.
func (s *scale) tickEvery(width float64) time.Duration {
	for _, p := range s.spans {
		if p.pause || p.width == 0 {
			continue
		}
		least := time.Duration(width / p.width * float64(p.end.Sub(p.start)))
		for unit := time.Millisecond; unit <= time.Second; unit *= 10 {
			for _, n := range []time.Duration{1, 2, 5} {
				if n*unit >= least {
					return n * unit
				}
			}
		}
		for _, round := range []time.Duration{10 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute,
			5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 6 * time.Hour} {
			if round >= least {
				return round
			}
		}
		return least.Round(time.Hour) + time.Hour
	}
	return time.Second
}

// short writes a duration for a picture: 0, 20ms, 1.25s, 3m20s, 2h.
func short(d time.Duration) string {
	switch {
	case d == 0:
		return "0"
	case d < time.Second:
		return fmt.Sprintf("%dms", max(d.Round(time.Millisecond).Milliseconds(), 1))
	case d < time.Minute:
		return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", d.Seconds()), "0"), ".") + "s"
	}
	text := d.Round(time.Second).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
