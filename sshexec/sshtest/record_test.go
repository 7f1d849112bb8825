package sshtest_test

import (
	"context"
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

// failures counts instead of failing the test.
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
		t.Error("looking for a program counts as running it")
	}
}
