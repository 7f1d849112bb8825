package progress

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// Options of a Screen.
type Options struct {
	// Interrupted ends when the user interrupts the program. Steps that fail from then on are shown as stopped, without their
	// errors. Default: it never ends.
	Interrupted context.Context //nolint:containedctx // of the program, not of a call
	// JSON writes an object per line for each event, for other programs. Titles are events of the kind "title".
	JSON bool
	// Width is the number of columns of the terminal. 0: that of the terminal that the Screen writes to; without a terminal
	// there are plain lines.
	Width int
}

// Screen shows operations. It is safe for concurrent use.
type Screen struct {
	out    io.Writer
	o      Options
	colour bool

	mu       sync.Mutex
	running  []*line // in the order in which they started
	drawn    bool    // the running steps are on the terminal
	host     int     // width of the column of hosts
	done     int     // steps of the operation
	expected int     // steps of the operation, 0 if unknown
	began    time.Time
	ticker   *time.Ticker
	closed   chan struct{}
	stopped  sync.WaitGroup
}

// line is a step that is running.
type line struct {
	event vnflcm.Event
	note  string
}

// Columns of hosts are as wide as the longest name so far, within these bounds.
const (
	narrowest = 12
	widest    = 40
)

// redrawEvery is the time between two pictures of the running steps.
const redrawEvery = 100 * time.Millisecond

// New returns a Screen on a terminal, or on anything else as plain lines. Close it.
func New(out io.Writer, o Options) *Screen {
	if o.Interrupted == nil {
		o.Interrupted = context.Background()
	}
	s := &Screen{out: out, o: o, host: narrowest, closed: make(chan struct{})}
	if f, ok := out.(*os.File); ok && o.Width == 0 && term.IsTerminal(int(f.Fd())) {
		s.o.Width, _, _ = term.GetSize(int(f.Fd())) // 0: as if it were no terminal
	}
	if s.o.JSON {
		s.o.Width = 0
	}
	s.colour = s.o.Width > 0 && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	s.ticker = time.NewTicker(redrawEvery)
	s.stopped.Go(s.tick)
	return s
}

// Close stops drawing, and removes the running steps from the terminal.
func (s *Screen) Close() {
	s.ticker.Stop()
	close(s.closed)
	s.stopped.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
}

func (s *Screen) tick() {
	interrupted := s.o.Interrupted.Done()
	for {
		select {
		case <-s.closed:
			return
		case <-interrupted:
			interrupted = nil
			s.locked(func() { s.print("interrupted: stopping", yellow) })
		case <-s.ticker.C:
			s.locked(func() {})
		}
	}
}

// locked changes the screen and draws the running steps.
func (s *Screen) locked(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	s.redraw()
}

// Title begins a part of the program.
func (s *Screen) Title(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	s.locked(func() {
		if s.o.JSON {
			s.object(object{Time: time.Now(), Kind: "title", Message: text})
			return
		}
		s.print("\n== "+text, bold)
	})
}

// Expect says how many steps the next operation has, for example the tasks of a vnflcm.Preview.
func (s *Screen) Expect(steps int) { s.locked(func() { s.expected = steps }) }

// Observe shows an event. It is for vnflcm.Config.Observe.
func (s *Screen) Observe(e vnflcm.Event) {
	s.locked(func() {
		if s.o.JSON {
			s.object(objectOf(e))
			return
		}
		s.show(e)
	})
}

func (s *Screen) show(e vnflcm.Event) {
	switch e.Kind {
	case vnflcm.OperationChanged, vnflcm.OperationTaken, vnflcm.OperationLost:
		s.operation(e)
	case vnflcm.StepStarted:
		s.running = append(s.running, &line{event: e})
	case vnflcm.StepProgress, vnflcm.StepWaiting:
		s.note(e)
	case vnflcm.StepDone:
		s.ended(e, "ok  ", green)
	case vnflcm.StepFailed:
		if s.o.Interrupted.Err() != nil {
			e.Message = ""
			s.ended(e, "stop", yellow)
			return
		}
		s.ended(e, "FAIL", red)
	case vnflcm.StepSkipped:
		s.done++
		s.print("   done before   "+s.label(e), plain)
	}
}

func (s *Screen) operation(e vnflcm.Event) {
	switch {
	case e.State == vnflcm.Starting, s.began.IsZero():
		s.began, s.done = time.Now(), 0
	case !slices.Contains([]vnflcm.OperationState{vnflcm.Processing, vnflcm.RollingBack}, e.State):
		s.expected = 0
	}
	text := fmt.Sprintf("-- %s %s", e.Operation, e.State)
	switch e.Kind {
	case vnflcm.OperationTaken:
		text = fmt.Sprintf("-- %s continues, after another process", e.Operation)
	case vnflcm.OperationLost:
		text = fmt.Sprintf("-- %s is continued by another process", e.Operation)
	}
	if e.Duration > 0 {
		text += fmt.Sprintf(" after %s, %d steps", round(e.Duration), s.done)
	}
	s.print(text, plain)
	if e.Message != "" && s.o.Interrupted.Err() == nil {
		s.print("   "+e.Message, red)
	}
}

func (s *Screen) note(e vnflcm.Event) {
	for _, l := range s.running {
		if l.event.Key() == e.Key() && l.note != e.Message {
			l.note = e.Message
			if s.o.Width == 0 {
				s.print("   "+s.label(e)+": "+e.Message, plain)
			}
		}
	}
}

func (s *Screen) ended(e vnflcm.Event, mark string, c colour) {
	s.done++
	s.running = slices.DeleteFunc(s.running, func(l *line) bool { return l.event.Key() == e.Key() })
	text := fmt.Sprintf("   %s %8s  %s", mark, round(e.Duration), s.label(e))
	if e.Message != "" {
		text += "  " + e.Message
	}
	s.print(text, c)
}

// Table prints how operations went, whichever process ran them.
func (s *Screen) Table(operations []*vnflcm.VnfLcmOpOcc) {
	s.locked(func() {
		if s.o.JSON {
			return // every operation has had its events
		}
		s.print(fmt.Sprintf("\n%-12s %-12s %8s", "operation", "state", "time"), bold)
		for _, o := range operations {
			s.print(fmt.Sprintf("%-12s %-12s %8s", o.Operation, o.OperationState, round(o.StateEnteredTime.Sub(o.StartTime))), plain)
		}
	})
}

// label returns the columns of a step: its host, phase and name.
func (s *Screen) label(e vnflcm.Event) string {
	host := e.Host
	if host == "" && e.On != "" {
		host = e.On[:min(8, len(e.On))]
	}
	s.host = max(s.host, min(utf8.RuneCountInString(host), widest))
	return fmt.Sprintf("%-*s %s/%s", s.host, cut(host, widest), e.Phase, e.Name)
}

func round(d time.Duration) time.Duration { return d.Round(10 * time.Millisecond) }

// cut shortens a text to a number of columns.
func cut(text string, columns int) string {
	if runes := []rune(text); len(runes) > columns {
		return string(runes[:max(0, columns-1)]) + "…"
	}
	return text
}

// print writes a line above the running steps.
func (s *Screen) print(text string, c colour) {
	s.erase()
	_, _ = fmt.Fprintln(s.out, s.coloured(text, c))
}

// erase removes the running steps, of this process or of a killed one: the cursor is above them.
func (s *Screen) erase() {
	if s.o.Width > 0 {
		_, _ = io.WriteString(s.out, "\x1b[J")
	}
}

// mostRunning is how many running steps are drawn.
const mostRunning = 20

// redraw draws the running steps and the status below the cursor, and returns the cursor to where it was.
func (s *Screen) redraw() {
	if s.o.Width == 0 || len(s.running) == 0 && !s.drawn {
		return
	}
	s.drawn = len(s.running) > 0
	var text strings.Builder
	text.WriteString("\x1b[J")
	lines := 0
	add := func(format string, args ...any) {
		text.WriteString(cut(strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " "), s.o.Width-1) + "\n")
		lines++
	}
	for i, l := range s.running {
		if i == mostRunning {
			add("   … and %d more", len(s.running)-mostRunning)
			break
		}
		age := time.Since(l.event.Time)
		add("   %c    %8s  %s  %s", spinner[int(age/redrawEvery)%len(spinner)], age.Round(redrawEvery), s.label(l.event), l.note)
	}
	if s.drawn {
		add("   %s", s.status())
		fmt.Fprintf(&text, "\x1b[%dA", lines)
	}
	_, _ = io.WriteString(s.out, text.String())
}

var spinner = []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")

// status counts the steps of the operation.
func (s *Screen) status() string {
	elapsed := time.Since(s.began)
	if s.expected < s.done || s.expected == 0 {
		return fmt.Sprintf("%d steps done, %s", s.done, elapsed.Round(time.Second))
	}
	text := fmt.Sprintf("%d of %d steps done, %s", s.done, s.expected, elapsed.Round(time.Second))
	if 4*s.done >= s.expected { // before, the steps say too little
		text += fmt.Sprintf(", about %s left", (elapsed * time.Duration(s.expected-s.done) / time.Duration(s.done)).Round(time.Second))
	}
	return text
}

type colour string

// Colours of lines (ECMA-48, SGR).
const (
	plain  colour = ""
	bold   colour = "1"
	red    colour = "31"
	green  colour = "32"
	yellow colour = "33"
)

func (s *Screen) coloured(text string, c colour) string {
	if !s.colour || c == plain {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

// object is an event as JSON.
type object struct {
	Time      time.Time             `json:"time"`
	Kind      vnflcm.EventKind      `json:"kind"`
	Instance  string                `json:"vnfInstanceId,omitempty"`
	ID        string                `json:"vnfLcmOpOccId,omitempty"`
	Operation vnflcm.LcmOperation   `json:"operation,omitempty"`
	State     vnflcm.OperationState `json:"operationState,omitempty"`
	Phase     string                `json:"phase,omitempty"`
	Step      string                `json:"step,omitempty"`
	VNFC      string                `json:"vnfcInstanceId,omitempty"`
	Host      string                `json:"host,omitempty"`
	Attempt   int                   `json:"attempt,omitempty"`
	Seconds   float64               `json:"seconds,omitempty"`
	Tries     int                   `json:"tries,omitempty"`
	Message   string                `json:"message,omitempty"`
}

func objectOf(e vnflcm.Event) object {
	return object{e.Time, e.Kind, e.InstanceID, e.OperationID, e.Operation, e.State, e.Phase, e.Name, e.On, e.Host, e.Attempt, e.Duration.Seconds(), e.Tries, e.Message}
}

func (s *Screen) object(o object) { _ = json.NewEncoder(s.out).Encode(o) }
