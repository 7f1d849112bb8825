package sshexec_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// listed connects with SudoListed to a host whose sudo runs programs of the test.
func listed(t *testing.T, c sshtest.Config) (*sshexec.Host, *sshtest.Host) {
	t.Helper()
	remote := sshtest.Start(t, c)
	to := target(t, remote)
	to.Sudo = sshexec.SudoListed()
	return newPool(t, sshexec.Options{}).Host(to), remote
}

// TestSudoListed checks that sudo runs Argv directly, and /bin/sh only for commands that need it.
func TestSudoListed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		command sshexec.Command
		byShell bool
	}{
		"arguments":    {sshexec.Command{Argv: []string{"echo", "it's", "a b"}, Root: true}, false},
		"another user": {sshexec.Command{Argv: []string{"echo", "it's", "a b"}, User: "haproxy"}, false},
		"environment":  {sshexec.Command{Argv: []string{"echo", "it's", "a b"}, Root: true, Env: map[string]string{"V": "1"}}, true},
		"directory":    {sshexec.Command{Argv: []string{"echo", "it's", "a b"}, Root: true, Dir: "/"}, true},
		"shell":        {sshexec.Command{Shell: `echo "it's" "a b"`, Root: true}, true},
	} {
		host, remote := listed(t, sshtest.Config{Users: []string{"haproxy"}})
		out, err := host.Output(withinMinutes(t), c.command)
		if err != nil || string(out) != "it's a b\n" {
			t.Errorf("%s: %q, %v", name, out, err)
		}
		var bySudo []string
		for _, r := range remote.Commands() {
			if r.Argv[0] == "sudo" {
				_, words, _ := strings.Cut(strings.Join(r.Argv, " "), " -- ")
				bySudo = append(bySudo, words)
			}
		}
		if len(bySudo) != 1 || strings.HasPrefix(bySudo[0], "/bin/sh") != c.byShell || !c.byShell && bySudo[0] != "echo it's a b" {
			t.Errorf("%s: sudo was called for %q", name, bySudo)
		}
	}
}

// TestSudoListedRefuses checks that a refusal of sudo is ErrSudo, and that the standard error of a command that only resembles a refusal
// reaches the caller.
func TestSudoListedRefuses(t *testing.T) {
	t.Parallel()
	say := func(text string, code string) sshexec.Command {
		return sshexec.Command{Argv: []string{"sh", "-c", `printf %s "$1" >&2; exit ` + code, "sh", text}, Root: true}
	}
	for name, c := range map[string]struct {
		text, code string
		refused    bool
	}{
		"password":            {"sudo: a password is required\n", "1", true},
		"after a warning":     {"sudo: unable to resolve host node1\nsudo: a password is required\n", "1", true},
		"not allowed":         {"Sorry, user ubuntu is not allowed to execute '/bin/id' as root on node1.\n", "1", true},
		"another code":        {"sudo: a password is required\n", "2", false},
		"only a warning":      {"sudo: unable to resolve host node1\nno such unit\n", "1", false},
		"begins like it":      {"sud", "1", false},
		"no end of the line":  {"Sorry, user", "1", false},
		"something else":      {"no such unit\nsudo: a password is required\n", "1", false},
		"longer than is held": {"sudo: " + strings.Repeat("x", 5000) + "\nsudo: a password is required\n", "1", false},
	} {
		host, _ := listed(t, sshtest.Config{})
		var stderr bytes.Buffer
		command := say(c.text, c.code)
		command.Stderr = &stderr
		err := host.Exec(withinMinutes(t), command)
		if errors.Is(err, sshexec.ErrSudo) != c.refused || err == nil {
			t.Errorf("%s: %v", name, err)
		}
		want := c.text
		if c.refused {
			want = ""
		}
		if diff := cmp.Diff(want, stderr.String()); diff != "" {
			t.Errorf("%s: standard error:\n%s", name, diff)
		}
	}
	var exit *sshexec.ExitError
	missing, _ := listed(t, sshtest.Config{})
	if err := missing.Exec(withinMinutes(t), say("sudo: frob: command not found\n", "1")); !errors.As(err, &exit) || exit.Code != 127 {
		t.Errorf("no such program: %v", err)
	}
	host, _ := listed(t, sshtest.Config{SudoPassword: "needed"})
	if err := host.Exec(withinMinutes(t), sshexec.Command{Argv: []string{"true"}, Root: true}); !errors.Is(err, sshexec.ErrSudo) || !strings.Contains(err.Error(), "a password is required") {
		t.Errorf("sudo that asks for a password: %v", err)
	}
}

// TestSudoListedStreams checks that a successful command has the same standard input and standard error as without sudo.
func TestSudoListedStreams(t *testing.T) {
	t.Parallel()
	host, _ := listed(t, sshtest.Config{})
	var stdout, stderr bytes.Buffer
	err := host.Exec(withinMinutes(t), sshexec.Command{Argv: []string{"sh", "-c", "cat; echo sudo: fine >&2"}, Root: true, Stdin: strings.NewReader("in\n"), Stdout: &stdout, Stderr: &stderr})
	if diff := cmp.Diff([]string{"in\n", "sudo: fine\n"}, []string{stdout.String(), stderr.String()}); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

// TestSudoListedCancel checks that the program kill ends a command.
func TestSudoListedCancel(t *testing.T) {
	t.Parallel()
	host, remote := listed(t, sshtest.Config{})
	ctx, cancel := context.WithCancel(withinMinutes(t))
	remote.OnCommand(func(r sshtest.Record) {
		if r.Argv[0] == "sleep" {
			cancel()
		}
	})
	err := host.Exec(ctx, sshexec.Command{Argv: []string{"sleep", "600"}, Root: true, Grace: time.Minute})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	ended := false
	for _, r := range remote.Commands() {
		ended = ended || r.Argv[0] == "kill" && r.User == "root"
		if r.Argv[0] == "sleep" && r.Argv[1] == "600" && r.Finished {
			t.Error("the command has ended by itself")
		}
	}
	if !ended {
		t.Errorf("no kill: %+v", remote.Commands())
	}
}
