package sshexec_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/vnfkit/vnfkit/sshexec"
)

// outcome runs a job to its end and returns its output and exit code.
func outcome(t *testing.T, host *sshexec.Host, name string, c sshexec.Command) (string, int) {
	t.Helper()
	ctx := withinMinutes(t)
	job, err := host.StartJob(ctx, name, c)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if next, err := job.Follow(ctx, &out, 0); err != nil || next != int64(out.Len()) {
		t.Fatalf("%d bytes, next %d: %v", out.Len(), next, err)
	}
	s, err := job.Status(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if s.State != sshexec.JobEnded || s.Size != int64(out.Len()) || s.Name != name {
		t.Errorf("got %+v", s)
	}
	return out.String(), s.Code
}

func TestJob(t *testing.T) {
	t.Parallel()
	host, remote := jobHost(t)
	if err := os.WriteFile(filepath.Join(remote.home, "tool"), []byte("#!/bin/sh\necho found\n"), 0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	signals := sshexec.Command{Shell: `sed -n "s/^Sig\(Ign\|Blk\):[[:space:]]*//p" /proc/self/status`}
	var blocked, ignored uint64 // signals of any command of the host, independent of the signals of the test process
	out, err := host.Output(t.Context(), signals)
	if n, _ := fmt.Sscanf(string(out), "%x\n%x", &blocked, &ignored); n != 2 || err != nil {
		t.Fatalf("%q, %v", out, err)
	}
	if exec.CommandContext(t.Context(), "setsid", "-f", "true").Run() != nil { // busybox: a background job ignores INT and QUIT
		ignored |= 6
	}
	awkwardText := strings.Join(awkward, "|")
	tests := []struct {
		name    string
		command sshexec.Command
		want    string
		code    int
	}{
		{"plain", sshexec.Command{Argv: []string{"echo", "done"}}, "done\n", 0},
		{"a/key of.steps/with 'quotes' \xff", sshexec.Command{Argv: []string{"echo", "done"}}, "done\n", 0},
		{"arguments", sshexec.Command{Argv: append([]string{"printf", "[%s]"}, awkward...)}, "[" + strings.Join(awkward, "][") + "]", 0},
		{"environment", sshexec.Command{Shell: `printf "%s" "$V"; printf "%s" "$W"`, Env: map[string]string{"V": awkwardText, "W": "\n\n"}}, awkwardText + "\n\n", 0},
		{"its own path", sshexec.Command{Argv: []string{"tool"}, Env: map[string]string{"PATH": remote.home}}, "found\n", 0},
		{"both outputs in order", sshexec.Command{Shell: `for i in 1 2 3; do echo out$i; echo err$i >&2; done; exit 7`}, "out1\nerr1\nout2\nerr2\nout3\nerr3\n", 7},
		{"input", sshexec.Command{Argv: []string{"cat"}, Stdin: strings.NewReader("a\x00b\n")}, "a\x00b\n", 0},
		{"no input", sshexec.Command{Shell: "cat; echo end"}, "end\n", 0},
		{"directory", sshexec.Command{Argv: []string{"pwd"}, Dir: "/usr/bin"}, "/usr/bin\n", 0},
		{"directory of the login", sshexec.Command{Argv: []string{"pwd"}}, remote.home + "\n", 0},
		{"killed", sshexec.Command{Shell: "kill -s KILL $$"}, "", 137},
		{"kills its session's leader", sshexec.Command{Shell: "kill -s TERM $PPID; kill -s HUP $PPID; exit 4"}, "", 4},
		{"signals are as they were", signals, fmt.Sprintf("%016x\n%016x\n", blocked, ignored), 0},
		{"no variables of ours", sshexec.Command{Shell: `set | grep -ci sshexec_[a-z]*=`}, "1\n", 0},
		{"umask of the login", sshexec.Command{Shell: "umask"}, "0022\n", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, code := outcome(t, host, tt.name, tt.command)
			if diff := cmp.Diff(tt.want, got); diff != "" || code != tt.code {
				t.Errorf("exit code %d, want %d\n%s", code, tt.code, diff)
			}
		})
	}
}

func TestJobCommandNotFound(t *testing.T) {
	t.Parallel()
	host, _ := jobHost(t)
	ctx := withinMinutes(t)
	job, err := host.StartJob(ctx, "j", sshexec.Command{Argv: []string{"no-such-program", "hunter2"}, Secrets: []string{"hunter2"}})
	if err != nil {
		t.Fatal(err)
	}
	var exit *sshexec.ExitError
	if err := job.Wait(ctx); !errors.As(err, &exit) {
		t.Fatalf("got %v", err)
	}
	want := &sshexec.ExitError{Host: "node1", Command: `job "j": no-such-program ***`, Code: 127}
	if diff := cmp.Diff(want, exit, cmpopts.IgnoreFields(sshexec.ExitError{}, "Stderr")); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(exit.Stderr, "no-such-program") {
		t.Errorf("the error lacks the reason: %q", exit.Stderr)
	}
}

func TestJobWaitTellsTheLastLines(t *testing.T) {
	t.Parallel()
	host, _ := jobHost(t)
	ctx := withinMinutes(t)
	c := sshexec.Command{Shell: `yes hunter2 | head -c 100000; echo; echo last hunter2; exit 3`, Secrets: []string{"hunter2"}}
	job, err := host.StartJob(ctx, "j", c)
	if err != nil {
		t.Fatal(err)
	}
	var exit *sshexec.ExitError
	if err := job.Wait(ctx); !errors.As(err, &exit) || exit.Code != 3 {
		t.Fatalf("got %v", err)
	}
	if strings.Contains(exit.Stderr, "hunter2") || strings.Contains(exit.Stderr, "nter2") {
		t.Errorf("a secret is in the error: %q", exit.Stderr)
	}
	if !strings.HasSuffix(exit.Stderr, "\nlast ***\n") || len(exit.Stderr) < 1000 {
		t.Errorf("got %d bytes, ending in %q", len(exit.Stderr), exit.Stderr[max(0, len(exit.Stderr)-50):])
	}
	// A handle by name knows neither command nor secrets.
	if err := host.Job("j", "").Wait(ctx); !errors.As(err, &exit) || exit.Command != `job "j"` || !strings.Contains(exit.Stderr, "last hunter2") {
		t.Errorf("got %v", err)
	}
}

func TestJobStatusTimes(t *testing.T) {
	t.Parallel()
	host, remote := jobHost(t)
	ctx := withinMinutes(t)
	before := time.Now().Truncate(time.Second)
	// The times have whole seconds.
	job, err := host.StartJob(ctx, "j", sshexec.Command{Shell: "while [ ! -e go ]; do sleep 0.05; done; sleep 1", Dir: remote.home})
	if err != nil {
		t.Fatal(err)
	}
	s, err := job.Status(ctx)
	if err != nil || s.State != sshexec.JobRunning || s.Started.Before(before) || s.Started.After(time.Now()) || !s.Ended.IsZero() {
		t.Errorf("%+v, %v", s, err)
	}
	if err := os.WriteFile(filepath.Join(remote.home, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := job.Wait(ctx); err != nil {
		t.Error(err)
	}
	s, err = host.Job("j", "").Status(ctx)
	if err != nil || s.State != sshexec.JobEnded || !s.Ended.After(s.Started) || s.Ended.After(time.Now()) {
		t.Errorf("%+v, %v", s, err)
	}
	jobs, err := host.Jobs(ctx, "")
	if diff := cmp.Diff([]sshexec.JobStatus{s}, jobs); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestNoJob(t *testing.T) {
	t.Parallel()
	host, _ := jobHost(t)
	ctx := withinMinutes(t)
	job := host.Job("never started", "")
	if _, err := job.Status(ctx); !errors.Is(err, sshexec.ErrNoJob) || !strings.Contains(err.Error(), `node1: job "never started": no such job`) {
		t.Errorf("Status: %v", err)
	}
	if err := job.Wait(ctx); !errors.Is(err, sshexec.ErrNoJob) {
		t.Errorf("Wait: %v", err)
	}
	if next, err := job.Follow(ctx, new(bytes.Buffer), 5); !errors.Is(err, sshexec.ErrNoJob) || next != 5 {
		t.Errorf("Follow: %d, %v", next, err)
	}
	if err := errors.Join(job.Cancel(ctx), job.Remove(ctx)); err != nil {
		t.Errorf("Cancel and Remove: %v", err)
	}
	if jobs, err := host.Jobs(ctx, ""); len(jobs) > 0 || err != nil {
		t.Errorf("Jobs: %v, %v", jobs, err)
	}
}

func TestJobIsRefused(t *testing.T) {
	t.Parallel()
	host := offline("u", sshexec.Sudo{})
	tests := []struct {
		name, job, want string
		command         sshexec.Command
	}{
		{"no name", "", "needs a name", sshexec.Command{Argv: []string{"true"}}},
		{"long name", strings.Repeat("/", 67), "too long: 201 bytes", sshexec.Command{Argv: []string{"true"}}},
		{"no command", "j", "needs Argv or Shell", sshexec.Command{}},
		{"Stdout", "j", "Stdout", sshexec.Command{Argv: []string{"true"}, Stdout: new(bytes.Buffer)}},
		{"Stderr", "j", "Stderr", sshexec.Command{Argv: []string{"true"}, Stderr: new(bytes.Buffer)}},
		{"variable", "j", `"A B"`, sshexec.Command{Argv: []string{"true"}, Env: map[string]string{"A B": ""}}},
		{"our variable", "j", "SSHEXEC_JOB", sshexec.Command{Argv: []string{"true"}, Env: map[string]string{"SSHEXEC_JOB": ""}}},
		{"Timeout", "j", "Timeout", sshexec.Command{Argv: []string{"true"}, Timeout: time.Second}},
		{"root and user", "j", "not both", sshexec.Command{Argv: []string{"true"}, Root: true, User: "u"}},
		{"NUL", "j", "NUL", sshexec.Command{Argv: []string{"a\x00b"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := host.StartJob(t.Context(), tt.job, tt.command)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v", err)
			}
		})
	}
	if _, err := host.Job(strings.Repeat("x", 201), "").Status(t.Context()); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("got %v", err)
	}
}

func TestJobOfAnotherCommand(t *testing.T) {
	t.Parallel()
	host, remote := jobHost(t)
	first := sshexec.Command{Argv: []string{"sleep", "60"}, Env: map[string]string{"A": "1"}, Dir: "/", Stdin: strings.NewReader("x")}
	if _, err := host.StartJob(withinMinutes(t), "j", first); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		change func(*sshexec.Command)
		want   error
	}{
		"the same":          {func(*sshexec.Command) {}, nil},
		"not part of it":    {func(c *sshexec.Command) { c.Secrets, c.Grace = []string{"x"}, time.Hour }, nil},
		"other arguments":   {func(c *sshexec.Command) { c.Argv = []string{"sleep", "61"} }, sshexec.ErrJobExists},
		"other environment": {func(c *sshexec.Command) { c.Env = map[string]string{"A": "2"} }, sshexec.ErrJobExists},
		"other directory":   {func(c *sshexec.Command) { c.Dir = "/tmp" }, sshexec.ErrJobExists},
		"other input":       {func(c *sshexec.Command) { c.Stdin = strings.NewReader("y") }, sshexec.ErrJobExists},
		"no input":          {func(c *sshexec.Command) { c.Stdin = nil }, sshexec.ErrJobExists},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := first
			c.Stdin = strings.NewReader("x")
			tt.change(&c)
			job, err := host.StartJob(withinMinutes(t), "j", c)
			if !errors.Is(err, tt.want) || (job == nil) != (tt.want != nil) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
	if left := remote.kept(t); len(left) != 1 {
		t.Errorf("the directory of jobs contains %q", left)
	}
}

func TestJobEndsWithItsContextOnly(t *testing.T) {
	t.Parallel()
	host, _ := jobHost(t)
	job, err := host.StartJob(withinMinutes(t), "j", sshexec.Command{Argv: []string{"sleep", "3600"}})
	if err != nil {
		t.Fatal(err)
	}
	cause := errors.New("enough")
	for name, call := range map[string]func(context.Context) error{
		"Wait": job.Wait,
		"Follow": func(ctx context.Context) error {
			_, err := job.Follow(ctx, new(bytes.Buffer), 0)
			return err
		},
	} {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 300*time.Millisecond, cause)
		begun := time.Now()
		if err := call(ctx); !errors.Is(err, cause) || time.Since(begun) > 5*time.Minute { // the job takes an hour
			t.Errorf("%s: %v after %v", name, err, time.Since(begun))
		}
		cancel()
	}
	if s, err := job.Status(withinMinutes(t)); err != nil || s.State != sshexec.JobRunning {
		t.Errorf("%+v, %v", s, err)
	}
}
