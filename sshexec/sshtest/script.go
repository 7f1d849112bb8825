package sshtest

import (
	"context"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Call is one expected run of a program, and its answer.
type Call struct {
	// Argv is the whole command line. Directories in the path of the program are ignored.
	Argv []string
	// Stdin is the expected input. If Stdin is "", the input is not read, because several programs of a script may share it.
	Stdin string
	// Env are variables that must have these values. Other variables are ignored.
	Env map[string]string
	// User and Dir are the expected user and working directory. "": any.
	User, Dir string

	// Stdout and Stderr are the output of the program, Code is its exit code.
	Stdout, Stderr string
	Code           int
	// Wait delays the answer until the channel is closed. nil: no delay.
	Wait <-chan struct{}
	// Do replaces Stdout, Stderr and Code. If Stdin is not "", the input has been read when Do runs.
	Do Command
}

// Script returns programs for Config.Commands that expect exactly these calls, in this order. Several hosts may share the
// programs to expect one order of calls across all hosts. A call that differs from the next expected call, or that comes after
// the last expected call, fails the test, and the program ends with code 126. At the end of the test, each expected call that
// never came fails the test. Script returns only the programs that calls name.
func Script(t testing.TB, calls ...Call) map[string]Command {
	return newScript(t, calls, false).commands()
}

// ScriptAnyOrder is Script for calls that may come in any order, for example from concurrent programs. Each call is expected
// once.
func ScriptAnyOrder(t testing.TB, calls ...Call) map[string]Command {
	return newScript(t, calls, true).commands()
}

// script holds the expected calls.
type script struct {
	t        testing.TB
	calls    []Call
	anyOrder bool

	mu   sync.Mutex
	came []bool // by call
}

func newScript(t testing.TB, calls []Call, anyOrder bool) *script {
	t.Helper()
	s := &script{t: t, calls: slices.Clone(calls), anyOrder: anyOrder, came: make([]bool, len(calls))}
	for i, call := range calls {
		if len(call.Argv) == 0 {
			t.Fatalf("sshtest: call %d of the script has no Argv", i+1)
		}
	}
	t.Cleanup(s.complete)
	return s
}

func (s *script) commands() map[string]Command {
	commands := map[string]Command{}
	for _, call := range s.calls {
		commands[path.Base(call.Argv[0])] = s.run
	}
	return commands
}

// complete fails the test for calls that never came.
func (s *script) complete() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, came := range s.came {
		if !came {
			s.t.Errorf("sshtest: call %d of the script never came: %q", i+1, s.calls[i].Argv)
		}
	}
}

func (s *script) run(ctx context.Context, p *Process) int {
	i, err := s.take(p)
	if err != nil {
		return s.wrong(p, err.Error())
	}
	call := s.calls[i]
	differences := call.differences(p)
	if call.Stdin != "" {
		input, err := io.ReadAll(p.Stdin)
		if err != nil {
			differences += fmt.Sprintf("  stdin: %v\n", err)
		} else if string(input) != call.Stdin {
			differences += "  stdin:\n" + difference(call.Stdin, string(input))
		}
	}
	if differences != "" {
		return s.wrong(p, fmt.Sprintf("call %d of the script is another one (- expected, + came):\n%s", i+1, differences))
	}
	if call.Wait != nil {
		select {
		case <-call.Wait:
		case <-ctx.Done():
			return exitKilled
		}
	}
	if call.Do != nil {
		return call.Do(ctx, p)
	}
	_, _ = io.WriteString(p.Stdout, call.Stdout)
	_, _ = io.WriteString(p.Stderr, call.Stderr)
	return call.Code
}

func (s *script) wrong(p *Process, text string) int {
	s.t.Errorf("sshtest: host %s: %s", p.Host, text)
	_, _ = fmt.Fprintf(p.Stderr, "%s: the test did not expect this\n", path.Base(p.Args[0]))
	return exitNoExec
}

// take returns the index of the call that a process matches: the next call or, with anyOrder, the first matching call that
// has not come yet.
func (s *script) take(p *Process) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := slices.Index(s.came, false)
	if next < 0 {
		return 0, fmt.Errorf("one call more than the script has: %q", p.Args)
	}
	if s.anyOrder {
		next = -1
		for i, call := range s.calls {
			if !s.came[i] && call.differences(p) == "" {
				next = i
				break
			}
		}
		if next < 0 {
			return 0, fmt.Errorf("no call of the script fits:\n%s", s.unfit(p))
		}
	}
	s.came[next] = true
	return next, nil
}

// unfit describes how each missing call differs from a process.
func (s *script) unfit(p *Process) string {
	var text strings.Builder
	for i, call := range s.calls {
		if !s.came[i] {
			fmt.Fprintf(&text, " call %d (- expected, + came):\n%s", i+1, call.differences(p))
		}
	}
	return text.String()
}

// differences describes how a process differs from the call. The input is not compared.
func (c Call) differences(p *Process) string {
	var text strings.Builder
	if path.Base(c.Argv[0]) != path.Base(p.Args[0]) || !slices.Equal(c.Argv[1:], p.Args[1:]) {
		fmt.Fprintf(&text, "  argv:\n%s", difference(quotedLines(c.Argv), quotedLines(p.Args)))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		if got := p.Env(name); got != c.Env[name] {
			fmt.Fprintf(&text, "  environment %s:\n%s", name, difference(c.Env[name], got))
		}
	}
	if c.User != "" && c.User != p.User {
		fmt.Fprintf(&text, "  user:\n%s", difference(c.User, p.User))
	}
	if c.Dir != "" && c.Dir != p.Dir {
		fmt.Fprintf(&text, "  directory:\n%s", difference(c.Dir, p.Dir))
	}
	return text.String()
}

func quotedLines(words []string) string {
	lines := make([]string, len(words))
	for i, word := range words {
		lines[i] = fmt.Sprintf("%q", word)
	}
	return strings.Join(lines, "\n")
}

// difference compares two texts by lines. It shortens the equal lines at the beginning and at the end, and prints the
// different lines between them.
func difference(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	start := 0
	for start < min(len(a), len(b)) && a[start] == b[start] {
		start++
	}
	end := 0
	for end < min(len(a), len(b))-start && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	var text strings.Builder
	show := func(mark string, lines []string) {
		for _, line := range lines {
			fmt.Fprintf(&text, "    %s %s\n", mark, line)
		}
	}
	const around = 3
	if start > around {
		show(" ", []string{"..."})
	}
	show(" ", a[max(0, start-around):start])
	show("-", a[start:len(a)-end])
	show("+", b[start:len(b)-end])
	show(" ", a[len(a)-end:min(len(a), len(a)-end+around)])
	if end > around {
		show(" ", []string{"..."})
	}
	return text.String()
}
