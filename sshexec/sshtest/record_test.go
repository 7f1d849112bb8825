package sshtest_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

func TestRecords(t *testing.T) {
	h := sshtest.Start(t, sshtest.Config{Commands: map[string]sshtest.Command{
		"tool": func(context.Context, *sshtest.Process) int { return 3 },
	}})
	run(t, h, "cd /tmp; A=1 sudo tool x; cat /dev/null", "")
	type short struct {
		Argv      []string
		User, Dir string
		BuiltIn   bool
		Code      int
		Finished  bool
	}
	var got []short
	for _, r := range h.Commands() {
		got = append(got, short{r.Argv, r.User, r.Dir, r.BuiltIn, r.Code, r.Finished})
		if r.Start.IsZero() || r.End.Before(r.Start) {
			t.Errorf("times of %q: %v, %v", r.Argv, r.Start, r.End)
		}
	}
	want := []short{
		{[]string{"sudo", "tool", "x"}, "ubuntu", "/tmp", true, 3, true},
		{[]string{"tool", "x"}, "root", "/tmp", false, 3, true},
		{[]string{"cat", "/dev/null"}, "ubuntu", "/tmp", true, 0, true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// failures is a testing.TB that counts failures.
type failures struct {
	testing.TB
	count atomic.Int32
}

func (f *failures) Errorf(string, ...any) { f.count.Add(1) }

func TestUnexpectedCommandFailsTheTest(t *testing.T) {
	f := &failures{TB: t}
	h := sshtest.Start(f, sshtest.Config{})
	if _, code := run(t, h, "helm version", ""); code != 127 {
		t.Errorf("exit code %d", code)
	}
	if f.count.Load() != 1 {
		t.Errorf("the test failed %d times", f.count.Load())
	}
	run(t, h, "command -v helm", "")
	if f.count.Load() != 1 {
		t.Error("searching for a program counts as a run")
	}
}

func TestStreamsAreRecorded(t *testing.T) {
	h := sshtest.Start(t, sshtest.Config{SudoPassword: "pw-7f3a"})
	run(t, h, `printf 'some input' | tr a-z A-Z >/tmp/f; cat /tmp/f; cat /none`, "")
	type streams struct{ Program, Stdin, Stdout, Stderr string }
	var got []streams
	for _, r := range h.Commands() {
		got = append(got, streams{r.Argv[0], r.Stdin(), r.Stdout(), r.Stderr()})
	}
	want := []streams{
		{"tr", "some input", "SOME INPUT", ""},
		{"cat", "", "SOME INPUT", ""},
		{"cat", "", "", "cat: /none: No such file or directory\n"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}

	run(t, h, "sudo -S -p ASK sh -c 'cat; echo said; head -c 100000 /dev/zero'", "pw-7f3a\nsecret-7f3a")
	records := h.Commands()[3:]
	if got := records[2]; got.Argv[0] != "cat" || got.Stdin() != "secret-7f3a" {
		t.Errorf("got %q", got.Stdin())
	}
	if got := records[0]; got.Stderr() != "ASK" || len(got.Stdout()) != 64<<10 || !strings.HasPrefix(got.Stdout(), "secret-7f3asaid\n") {
		t.Errorf("sudo: %q, %d bytes", got.Stderr(), len(got.Stdout()))
	}
	if text := fmt.Sprintf("%v %+v %#v", records, records, records); strings.Contains(text, "7f3a") {
		t.Errorf("the printed record contains its streams: %s", text)
	}
	for _, r := range records {
		if strings.Contains(r.Stdin(), "pw-7f3a") {
			t.Errorf("the password of sudo is recorded: %q", r.Argv)
		}
	}
}

func TestAProgramThatIsNotInstalled(t *testing.T) {
	h := sshtest.Start(t, sshtest.Config{Commands: map[string]sshtest.Command{"openssl": nil}})
	if out, code := run(t, h, "command -v openssl || which openssl || echo none; openssl version", ""); out != "none\nopenssl: command not found\n" || code != 127 {
		t.Errorf("%d %q", code, out)
	}
}
