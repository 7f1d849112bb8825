package sshexec

import (
	"bytes"
	"io"
	"strings"
)

// gateBytes bounds the stored standard error before the command has begun.
const gateBytes = 64 << 10

// gate filters the standard error of the session. Until the command reports that it has begun, everything comes from
// the login shell and from sudo: the gate answers a prompt and keeps the rest for the error. Afterwards it passes all
// data through.
type gate struct {
	prompt, marker []byte
	answer         func(attempt int) // sudo asks for the attempt-th time
	begun          chan struct{}     // closed when the command has begun
	out            io.Writer

	open     bool
	held     []byte
	attempts int
	group    string // what to kill: the process group of the command as -number, or its process id
}

func newGate(inv invocation, out io.Writer, answer func(attempt int)) *gate {
	return &gate{
		prompt: []byte(inv.prompt),
		marker: []byte(inv.marker),
		answer: answer,
		begun:  make(chan struct{}),
		out:    out,
	}
}

func (g *gate) Write(p []byte) (int, error) {
	if g.open {
		return g.out.Write(p)
	}
	g.held = append(g.held, p...)
	g.answerPrompts()
	if rest, ok := g.pass(); ok {
		if _, err := g.out.Write(rest); err != nil {
			return 0, err
		}
		return len(p), nil
	}
	if drop := len(g.held) - gateBytes; drop > 0 {
		g.held = append(g.held[:0], g.held[drop:]...)
	}
	return len(p), nil
}

func (g *gate) answerPrompts() {
	for len(g.prompt) > 0 {
		i := bytes.Index(g.held, g.prompt)
		if i < 0 {
			return
		}
		g.held = append(g.held[:i], g.held[i+len(g.prompt):]...)
		g.attempts++
		g.answer(g.attempts)
	}
}

// pass looks for the line "marker pid group" and returns what follows it.
func (g *gate) pass() ([]byte, bool) {
	i := bytes.Index(g.held, g.marker)
	if i < 0 {
		return nil, false
	}
	line, rest, whole := bytes.Cut(g.held[i+len(g.marker):], []byte("\n"))
	if !whole {
		return nil, false
	}
	switch numbers := strings.Fields(string(line)); len(numbers) {
	case 2:
		g.group = "-" + numbers[1]
	case 1:
		g.group = numbers[0]
	}
	g.open, g.held = true, nil
	close(g.begun)
	return rest, true
}

func (g *gate) hasBegun() bool {
	select {
	case <-g.begun:
		return true
	default:
		return false
	}
}
