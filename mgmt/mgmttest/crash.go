package mgmttest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/sshexec/sshtest"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/crashtest"
)

// Crash tests that an operation survives the death of its process at every point.
type Crash struct {
	// Setup of every Lab. From is not used.
	Setup Setup
	// Prepare prepares the state in which the operation begins, and returns the instance. It is called once. Default:
	// Lab.Created, for an instantiation.
	Prepare func(*Lab) (id string)
	// Begin begins the operation on the instance in the process m.
	Begin func(l *Lab, m *vnflcm.Manager, id string) (opID string, err error)
	// End describes the state after the operation. Values must be the same in every run, so ids have no place in them. go-cmp
	// compares them: structs have exported fields only.
	End func(l *Lab, id string) any
}

// Run runs the operation once without a crash, and then once for every point at which its process can die: before and after
// each step (crashtest.Points) and before each command that the step runs on machines. Another process resumes the
// operation, and the state must be that of the run without a crash. Each case is a subtest with the name of the step, of
// the machine and of the point; the cases run in parallel. go test -short runs one case of each step (crashtest.Sample).
func (c Crash) Run(t *testing.T) {
	t.Helper()
	prepared := Open(t, c.Setup)
	if c.Prepare == nil {
		c.Prepare = (*Lab).Created
	}
	id := c.Prepare(prepared)
	c.Setup.From = prepared.Snapshot()
	cuts, want := c.undisturbed(t, id)
	if testing.Short() {
		cuts = crashtest.Sample(cuts, func(at cut) (step, name string) { return at.step(), at.String() })
	}
	for _, at := range cuts {
		t.Run(at.String(), func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(want, c.crashed(t, id, at)); diff != "" {
				t.Errorf("another end than without the crash:\n%s", diff)
			}
		})
	}
}

// cut is where a process dies.
type cut struct {
	info    vnflcm.StepInfo
	point   crashtest.Point
	command string // InsideDo: the process dies before this command ...
	nth     int    // ... which is the nth of the step, from 0
}

func (c cut) step() string { return c.info.Phase + "/" + c.info.Name + "/" + c.info.Host }

func (c cut) String() string {
	if c.point != crashtest.InsideDo {
		return c.step() + " " + string(c.point)
	}
	return fmt.Sprintf("%s before command %d, %s", c.step(), c.nth, c.command)
}

// undisturbed runs the operation without a crash, and returns the points at which its process could die, and the end.
func (c Crash) undisturbed(t *testing.T, id string) (cuts []cut, end any) {
	t.Helper()
	l := Open(t, c.Setup)
	var mu sync.Mutex
	m := l.Process(func(config *vnflcm.Config) {
		config.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
			var inside []cut
			unwatch := l.watch(s, func(command string) {
				mu.Lock()
				defer mu.Unlock()
				inside = append(inside, cut{s, crashtest.InsideDo, command, len(inside)})
			})
			err := next(ctx)
			unwatch()
			mu.Lock()
			defer mu.Unlock()
			for _, point := range crashtest.Points {
				if point != crashtest.InsideDo {
					cuts = append(cuts, cut{info: s, point: point})
				}
			}
			cuts = append(cuts, inside...)
			return err
		}
	})
	opID, err := c.Begin(l, m, id)
	l.Must(opID, err, m)
	return cuts, c.End(l, id)
}

// crashed runs the operation in a process that dies at a cut and in the next one, and returns the end.
func (c Crash) crashed(t *testing.T, id string, at cut) any {
	t.Helper()
	l := Open(t, c.Setup)
	dying := crashtest.New(crashtest.Death{Step: crashtest.At(at.info), Point: at.point,
		Inside: func(s vnflcm.StepInfo, die func()) (undo func()) {
			var mu sync.Mutex
			seen := 0
			return l.watch(s, func(string) {
				mu.Lock()
				defer mu.Unlock()
				if seen == at.nth {
					die()
				}
				seen++
			})
		},
		End: func() {
			for _, h := range l.World.Hosts() {
				h.CutConnections()
			}
		},
	})
	opID, err := dying.Run(t.Context(), l.Process(dying.Attach), func(m *vnflcm.Manager) (string, error) { return c.Begin(l, m, id) })
	if err == nil {
		_, err = dying.Resume(t.Context(), l.Process(dying.AttachNext), opID)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, l.story())
	}
	return c.End(l, id)
}

// watch calls do before each command that changes something on the machine of a step: a program, or the mv at the end of an
// upload. For a step of the whole VNF it watches all machines.
func (l *Lab) watch(s vnflcm.StepInfo, do func(command string)) (unwatch func()) {
	hosts := l.World.Hosts()
	if s.On != "" {
		hosts = slices.DeleteFunc(hosts, func(h *sshtest.Host) bool { return h.Name() != s.Host })
	}
	for _, h := range hosts {
		h.OnCommand(func(r sshtest.Record) {
			if !r.BuiltIn || r.Argv[0] == "mv" {
				do(strings.Join(r.Argv[:min(2, len(r.Argv))], " "))
			}
		})
	}
	return func() {
		for _, h := range hosts {
			h.OnCommand(nil)
		}
	}
}
