package sshexec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"

	"github.com/vnfkit/vnfkit/internal/mask"
)

const (
	// gateBytes limits the bytes of a stream that are stored before the command has begun.
	gateBytes = 64 << 10
	// loginBytes limits the bytes that a login shell may print to a stream before the command begins.
	loginBytes = 1 << 20
	// beginBytes is more than the longest line that frame prints, and more than the longest prompt.
	beginBytes = 256
)

// gate holds back one stream of a session until frame reports on this stream that the command has begun. Everything before
// comes from the login shell and from sudo: the gate answers a prompt and keeps the end of the rest for the error.
// Afterwards it passes all data through.
type gate struct {
	prompt, marker []byte
	answer         func(attempt int) // called when sudo asks, with the number of the question
	begun          chan struct{}     // closed when the command has begun
	out            io.Writer

	open     bool
	came     int // bytes received before the command
	held     []byte
	attempts int
	group    string // operand of kill: the process group of the command as -number, or its process id
}

// newGate returns a gate that passes data to out; nil discards the data.
func newGate(inv invocation, out io.Writer) *gate {
	if out == nil {
		out = io.Discard
	}
	return &gate{marker: []byte(inv.marker), begun: make(chan struct{}), out: out}
}

// errEndless: the login shell prints more than loginBytes and does not run the command.
var errEndless = errors.New("the login shell does not stop printing")

func (g *gate) Write(p []byte) (int, error) {
	if g.open {
		return g.out.Write(p)
	}
	g.came += len(p)
	from := max(0, len(g.held)-beginBytes) // the bytes before have been searched already
	g.held = append(g.held, p...)
	g.answerPrompts(from)
	if rest, ok := g.pass(from); ok {
		if len(rest) == 0 {
			return len(p), nil
		}
		if _, err := g.out.Write(rest); err != nil {
			return 0, err
		}
		return len(p), nil
	}
	if g.came > loginBytes {
		return 0, fmt.Errorf("%w: %w", errEndless, &LimitError{What: "bytes before the command", Limit: loginBytes})
	}
	if drop := len(g.held) - gateBytes; drop > gateBytes {
		g.held = append(g.held[:0], g.held[drop:]...)
	}
	return len(p), nil
}

// optionBefore matches the text before the prompt if the login shell prints the command line, as with set -x. In this case sudo does
// not ask, and an answer would become input of the command.
var optionBefore = regexp.MustCompile(`-p\W{1,4}$`)

func (g *gate) answerPrompts(from int) {
	for len(g.prompt) > 0 {
		i := bytes.Index(g.held[from:], g.prompt)
		if i < 0 {
			return
		}
		from += i
		after := from + len(g.prompt)
		if optionBefore.Match(g.held[max(0, from-beginBytes):from]) {
			from = after
			continue
		}
		g.held = append(g.held[:from], g.held[after:]...)
		g.attempts++
		g.answer(g.attempts)
	}
}

// begunLine matches the rest of the line after the marker if the command begins: the process id and, if it is known, the process
// group. A login shell that prints the command line, as with set -x, prints the marker with other words behind it.
var begunLine = regexp.MustCompile(`^ (\d{1,10})(?: (\d{1,10})?)?$`)

// pass searches for the line "marker pid group" and returns the bytes after it.
func (g *gate) pass(from int) ([]byte, bool) {
	for {
		i := bytes.Index(g.held[from:], g.marker)
		if i < 0 {
			return nil, false
		}
		from += i + len(g.marker)
		line, rest, whole := bytes.Cut(g.held[from:], []byte("\n"))
		if !whole {
			return nil, false
		}
		numbers := begunLine.FindSubmatch(line)
		if numbers == nil {
			continue
		}
		g.group = string(numbers[1])
		if len(numbers[2]) > 0 {
			g.group = "-" + string(numbers[2])
		}
		g.open, g.held = true, nil
		close(g.begun)
		return rest, true
	}
}

func (g *gate) hasBegun() bool {
	select {
	case <-g.begun:
		return true
	default:
		return false
	}
}

// printed returns the end, masked, of the output before the command.
func (g *gate) printed(m *mask.Masker) string {
	end := newTail(m)
	_, _ = end.Write(g.held)
	return end.String()
}
