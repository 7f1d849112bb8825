// Package progress draws what a Manager does: a line per machine and step on a terminal, plain lines
// elsewhere.
package progress

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// Screen shows the steps under way. Give Observe to vnflcm.Config and Close it at the end.
type Screen struct {
	out   io.Writer
	width int // of the terminal; 0 when there is none

	mu      sync.Mutex
	running []*line // in the order in which they started
	drawn   int     // lines on the terminal that are redrawn
	ticker  *time.Ticker
	done    chan struct{}
}

type line struct {
	key, text, note string
	began           time.Time
}

// New returns a Screen on a file, or on anything else as plain lines.
func New(out io.Writer) *Screen {
	s := &Screen{out: out, done: make(chan struct{})}
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil {
			s.width = max(width, 40)
		}
	}
	s.ticker = time.NewTicker(100 * time.Millisecond)
	go s.tick()
	return s
}

// Close stops drawing.
func (s *Screen) Close() {
	s.ticker.Stop()
	close(s.done)
}

func (s *Screen) tick() {
	for {
		select {
		case <-s.done:
			return
		case <-s.ticker.C:
			s.mu.Lock()
			s.redraw()
			s.mu.Unlock()
		}
	}
}

// Title begins a part of the program.
func (s *Screen) Title(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.print("\n== " + fmt.Sprintf(format, args...))
}

// Observe implements what vnflcm.Config.Observe wants.
func (s *Screen) Observe(e vnflcm.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e.Kind {
	case vnflcm.OperationChanged:
		s.operation(e)
	case vnflcm.StepStarted:
		s.running = append(s.running, &line{key: e.Key(), text: label(e), began: e.Time})
	case vnflcm.StepProgress:
		for _, l := range s.running {
			if l.key == e.Key() && l.note != e.Message {
				l.note = e.Message
				if s.width == 0 {
					s.print("   " + l.text + ": " + e.Message)
				}
			}
		}
	case vnflcm.StepDone:
		s.ended(e, "ok  ")
	case vnflcm.StepFailed:
		s.ended(e, "FAIL")
	case vnflcm.StepSkipped:
		s.print("   done before  " + label(e))
	}
	s.redraw()
}

func (s *Screen) operation(e vnflcm.Event) {
	s.print(fmt.Sprintf("-- %s %s", e.Operation, e.State))
	if e.Message != "" {
		s.print("   " + e.Message)
	}
}

func (s *Screen) ended(e vnflcm.Event, mark string) {
	s.running = slices.DeleteFunc(s.running, func(l *line) bool { return l.key == e.Key() })
	text := fmt.Sprintf("   %s %7s  %s", mark, round(e.Duration), label(e))
	if e.Message != "" {
		text += "  " + e.Message
	}
	s.print(text)
}

// Table prints how the operations of an instance went, whichever process ran them.
func (s *Screen) Table(operations []*vnflcm.VnfLcmOpOcc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.print(fmt.Sprintf("\n%-12s %-12s %8s", "operation", "state", "time"))
	for _, o := range operations {
		s.print(fmt.Sprintf("%-12s %-12s %8s", o.Operation, o.OperationState, round(o.StateEnteredTime.Sub(o.StartTime))))
	}
}

func label(e vnflcm.Event) string {
	host := e.Host
	if host == "" && e.On != "" {
		host = e.On[:min(8, len(e.On))]
	}
	return fmt.Sprintf("%-16s %s/%s", host, e.Phase, e.Name)
}

func round(d time.Duration) time.Duration { return d.Round(10 * time.Millisecond) }

// print writes a line above the running ones.
func (s *Screen) print(text string) {
	s.erase()
	_, _ = fmt.Fprintln(s.out, text)
}

func (s *Screen) erase() {
	if s.drawn > 0 {
		_, _ = fmt.Fprintf(s.out, "\x1b[%dA\x1b[J", s.drawn)
		s.drawn = 0
	}
}

var spinner = []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")

func (s *Screen) redraw() {
	if s.width == 0 {
		return
	}
	s.erase()
	const most = 20
	for i, l := range s.running {
		if i == most {
			_, _ = fmt.Fprintf(s.out, "   … and %d more\n", len(s.running)-most)
			s.drawn++
			break
		}
		age := time.Since(l.began)
		text := fmt.Sprintf("   %c    %7s  %s  %s", spinner[int(age/(100*time.Millisecond))%len(spinner)], age.Round(100*time.Millisecond), l.text, l.note)
		runes := []rune(strings.ReplaceAll(text, "\n", " "))
		_, _ = fmt.Fprintln(s.out, string(runes[:min(len(runes), s.width-1)]))
		s.drawn++
	}
}
