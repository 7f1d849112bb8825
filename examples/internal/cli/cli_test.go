package cli

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		commands, args []string
		words          []string
		code           int
		says           string
	}{
		"nothing":          {nil, nil, nil, 0, ""},
		"help":             {nil, []string{"-h"}, nil, 0, ""},
		"unknown flag":     {nil, []string{"-x"}, nil, Usage, "flag provided but not defined: -x"},
		"bad value":        {nil, []string{"-n=x"}, nil, Usage, `invalid value "x" for flag -n`},
		"unknown word":     {nil, []string{"frob"}, nil, Usage, `unknown word "frob"`},
		"command":          {[]string{"up", "down"}, []string{"-n=2", "up", "x"}, []string{"up", "x"}, 0, ""},
		"flags after it":   {[]string{"up", "down"}, []string{"up", "-n", "2", "x", "-b", "-", "-n=3"}, []string{"up", "x", "-"}, 0, ""},
		"help after it":    {[]string{"up", "down"}, []string{"up", "-h"}, nil, 0, ""},
		"unknown after it": {[]string{"up", "down"}, []string{"up", "-x"}, nil, Usage, "flag provided but not defined: -x (words after -- are no flags)"},
		"no value":         {[]string{"up", "down"}, []string{"up", "-n"}, nil, Usage, "flag needs an argument: -n"},
		"bad value after":  {[]string{"up", "down"}, []string{"up", "-n=x"}, nil, Usage, `invalid value "x" for flag -n`},
		"negative numbers": {[]string{"up", "down"}, []string{"up", "-2", "-n", "-3", "-b", "-4"}, []string{"up", "-2", "-4"}, 0, ""},
		"words after --":   {[]string{"up", "down"}, []string{"up", "-b", "--", "-x", "--", "-n"}, []string{"up", "-x", "--", "-n"}, 0, ""},
		"no command":       {[]string{"up", "down"}, nil, nil, Usage, "a command is missing: up, down"},
		"unknown command":  {[]string{"up", "down"}, []string{"upp"}, nil, Usage, `unknown command "upp": the commands are up, down`},
		"help of commands": {[]string{"up"}, []string{"--help"}, nil, 0, ""},
	} {
		p := New("toy", "Toy plays.\n\n\ttoy up   begin\n", c.commands...)
		p.Flags.Int("n", 1, "a number")
		p.Flags.Bool("b", false, "a switch")
		var help, out bytes.Buffer
		words, err := p.Parse(c.args, &help)
		if diff := cmp.Diff(c.words, words); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if got := code(t.Context(), p.Name, err, &out); got != c.code || !strings.Contains(out.String(), c.says) {
			t.Errorf("%s: code %d, %q", name, got, out.String())
		}
		if asked := errors.Is(err, flag.ErrHelp); asked != strings.Contains(help.String(), "toy up   begin") || asked != strings.Contains(help.String(), "a number (default 1)") ||
			asked != strings.Contains(help.String(), "Exit codes: 0") {
			t.Errorf("%s: help %q", name, help.String())
		}
	}
}

// TestBare checks a program that also runs without a command.
func TestBare(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"up"}} {
		p := New("toy", "Toy plays.\n", "up")
		p.Bare = true
		if words, err := p.Parse(args, nil); len(words) != len(args) || err != nil {
			t.Errorf("%q: %q, %v", args, words, err)
		}
	}
}

func TestCode(t *testing.T) {
	t.Parallel()
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	signalled, signal := context.WithCancelCause(t.Context())
	signal(errors.New("interrupt signal received")) // as signal.NotifyContext
	for name, c := range map[string]struct {
		ctx  context.Context
		err  error
		code int
		says string
	}{
		"failed":                 {t.Context(), errors.New("no cloud"), Failed, "toy: no cloud\n"},
		"hostile":                {t.Context(), errors.New("two\nlines\t\x1b[2J\u202e\u009b é"), Failed, "toy: two\nlines\t\ufffd[2J\ufffd\ufffd é\n"},
		"interrupted":            {interrupted, fmt.Errorf("waiting: %w", context.Canceled), Interrupted, "toy: interrupted\n"},
		"failed when cancelled":  {interrupted, errors.New("no cloud"), Failed, "toy: no cloud\n"},
		"signal":                 {signalled, context.Cause(signalled), Interrupted, "toy: interrupted\n"},
		"explained":              {interrupted, fmt.Errorf("a child: %w", Explained{Code: 3}), 3, ""},
		"cancelled, not by user": {t.Context(), context.Canceled, Failed, "toy: context canceled\n"},
	} {
		var out bytes.Buffer
		if got := code(c.ctx, "toy", c.err, &out); got != c.code || out.String() != c.says {
			t.Errorf("%s: %d, %q", name, got, out.String())
		}
	}
}
