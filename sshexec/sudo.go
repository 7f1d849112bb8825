package sshexec

import (
	"bytes"
	"io"
	"strings"
)

// gateBytes bounds what is remembered of standard error before the command has
// begun.
const gateBytes = 64 << 10

// gate stands between the standard error of sudo and that of the command. Until
// the command says that it has begun, everything comes from sudo: a prompt is
// answered, the rest is kept for the error. Afterwards it is out of the way.
type gate struct {
	prompt, marker []byte
	answer         func(attempt int) // sudo asks for the attempt-th time
	begun          chan struct{}     // closed when the command has begun
	out            io.Writer

	open     bool
	held     []byte
	attempts int
	pid      string // of the command
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

// pass looks for the line "marker pid" and returns what follows it.
func (g *gate) pass() ([]byte, bool) {
	i := bytes.Index(g.held, g.marker)
	if i < 0 {
		return nil, false
	}
	line, rest, whole := bytes.Cut(g.held[i+len(g.marker):], []byte("\n"))
	if !whole {
		return nil, false
	}
	g.pid = strings.TrimSpace(string(line))
	g.open, g.held = true, nil
	close(g.begun)
	return rest, true
}

// killScript sends the signal $1 to the process group $3, by default that of the
// process $2, which it tells, or to the process alone where the group cannot be
// found. The name of a process, second field of its stat, may hold blanks: the
// fields are counted after it.
const killScript = `g=$3; if [ -z "$g" ] && read -r s <"/proc/$2/stat"; then s="${s##*) }"; s="${s#* * }"; g="${s%% *}"; fi; ` +
	`if [ -n "$g" ]; then echo "$g"; kill -s "$1" -- "-$g"; else kill -s "$1" "$2"; fi`
