package ansible_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/mgmt/kubespray/ansible"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// slowly makes ansible-playbook wait after its first task until goOn is closed.
func (h *ansibleHost) slowly() (begun <-chan struct{}, goOn chan struct{}) {
	started, goOn := make(chan struct{}, 10), make(chan struct{})
	h.plays(func(ctx context.Context, p *sshtest.Process) int {
		whole, _ := goodLines, h.jsonl(p)
		if !h.jsonl(p) {
			whole = goodText
		}
		at := strings.Index(whole, "worker-1")
		fmt.Fprint(p.Stdout, whole[:at])
		started <- struct{}{}
		select {
		case <-ctx.Done():
			return 143
		case <-goOn:
		}
		fmt.Fprint(p.Stdout, whole[at:])
		return 0
	})
	return started, goOn
}

// TestRunShutdown: the caller shuts down. The run continues, and another process gets all of its events.
func TestRunShutdown(t *testing.T) {
	t.Parallel()
	for _, cause := range []error{vnflcm.ErrShutdown, vnflcm.ErrLeased} {
		h := newAnsibleHost(t, nil)
		begun, goOn := h.slowly()
		first, end := h.connect(sshexec.Options{})
		ctx, stop := context.WithCancelCause(within(t))
		go func() { <-begun; stop(cause) }()
		if _, err := first.Run(ctx, clusterPlay(), nil); !errors.Is(err, cause) || !strings.Contains(err.Error(), "continues") {
			t.Errorf("got %v", err)
		}
		end()
		close(goOn)
		second, _ := h.connect(sshexec.Options{})
		var events []ansible.Event
		if _, err := second.Run(within(t), clusterPlay(), func(e ansible.Event) { events = append(events, e) }); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(goodEvents, events); diff != "" {
			t.Error(diff)
		}
		if n := h.started(); n != 1 {
			t.Errorf("it was started %d times", n)
		}
	}
}

// TestRunShutdownHeld: a failure that may still be ignored is not reported to a caller that shuts down.
func TestRunShutdownHeld(t *testing.T) {
	t.Parallel()
	h := newAnsibleHost(t, nil)
	goOn := make(chan struct{})
	h.plays(func(_ context.Context, p *sshtest.Process) int {
		fmt.Fprint(p.Stdout, `{"_event":"v2_runner_on_failed","hosts":{"worker-1":{"msg":"no"}},"task":{"name":"a"}}`+"\n"+
			`{"_event":"v2_playbook_on_task_start","task":{"name":"b"}}`+"\n")
		<-goOn
		fmt.Fprint(p.Stdout, `{"_event":"v2_runner_on_ok","hosts":{"worker-1":{}},"task":{"name":"b"}}`+"\n"+`{"_event":"v2_playbook_on_stats","stats":{"worker-1":{"ok":2,"ignored":1}}}`+"\n")
		return 0
	})
	run := func(ctx context.Context, then func(error)) (events []ansible.Event) {
		server, end := h.connect(sshexec.Options{})
		defer end()
		_, _ = server.Run(ctx, clusterPlay(), func(e ansible.Event) {
			events = append(events, e)
			then(vnflcm.ErrShutdown)
		})
		return events
	}
	task := ansible.Event{Kind: ansible.TaskStarted, Task: "b"}
	failed := ansible.Event{Kind: ansible.HostFailed, Task: "a", Host: "worker-1", Message: "no", Ignored: true}
	ctx, stop := context.WithCancelCause(within(t))
	if diff := cmp.Diff([]ansible.Event{task}, run(ctx, stop)); diff != "" {
		t.Error(diff)
	}
	close(goOn)
	want := []ansible.Event{task, failed, {Kind: ansible.HostOK, Task: "b", Host: "worker-1"}}
	if diff := cmp.Diff(want, run(within(t), func(error) {})); diff != "" {
		t.Error(diff)
	}
}

// expiring is a context whose deadline passes when done is closed.
type expiring struct {
	context.Context
	done chan struct{}
}

func (e expiring) Done() <-chan struct{} { return e.done }

func (e expiring) Err() error {
	select {
	case <-e.done:
		return context.DeadlineExceeded
	default:
		return e.Context.Err()
	}
}

// TestRunCancel checks that a cancelled run is stopped on the server, and leaves no files.
func TestRunCancel(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(context.Context) (context.Context, func()){
		"cancelled": func(ctx context.Context) (context.Context, func()) {
			ctx, stop := context.WithCancelCause(ctx)
			return ctx, func() { stop(vnflcm.ErrCancelled) }
		},
		"deadline": func(ctx context.Context) (context.Context, func()) {
			expired := expiring{ctx, make(chan struct{})}
			return expired, func() { close(expired.done) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newAnsibleHost(t, nil)
			h.slowly()
			server, _ := h.connect(sshexec.Options{})
			ctx, stop := end(within(t))
			p := clusterPlay()
			_, err := server.Run(ctx, p, func(e ansible.Event) {
				if e.Kind == ansible.TaskStarted {
					stop()
				}
			})
			if !errors.Is(err, context.Cause(ctx)) || !strings.Contains(err.Error(), "was stopped in task Change something") {
				t.Errorf("got %v", err)
			}
			if s, err := server.Host.Job(p.Name, "").Status(t.Context()); err != nil || s.State != sshexec.JobEnded {
				t.Errorf("%+v, %v", s, err)
			}
			if left := h.left(); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
			h.plays(nil)
			if _, err := server.Run(within(t), p, nil); err == nil {
				t.Error("a stopped run is told of as a success")
			}
			p.Again = true
			if _, err := server.Run(within(t), p, nil); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestRunReboot checks the error of a run that ended because the server restarted, and that a new attempt starts it again.
func TestRunReboot(t *testing.T) {
	t.Parallel()
	h := newAnsibleHost(t, nil)
	begun, _ := h.slowly()
	server, _ := h.connect(sshexec.Options{})
	go func() {
		<-begun
		if err := h.Reboot(); err != nil {
			t.Error(err)
		}
	}()
	p := clusterPlay()
	p.Vault = vnflcm.NewSecret("vault")
	for range 2 {
		if _, err := server.Run(within(t), p, nil); !errors.Is(err, sshexec.ErrJobLost) || !strings.Contains(err.Error(), "restarted") {
			t.Errorf("got %v", err)
		}
	}
	if left := h.left(); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	h.plays(nil)
	p.Again = true
	if _, err := server.Run(within(t), p, nil); err != nil {
		t.Error(err)
	}
}

// TestRunKilledOnServer: a user of the server kills the run, which then cannot remove its files.
func TestRunKilledOnServer(t *testing.T) {
	t.Parallel()
	h := newAnsibleHost(t, nil)
	h.slowly()
	server, _ := h.connect(sshexec.Options{})
	p := clusterPlay()
	p.Vault = vnflcm.NewSecret("vault")
	_, err := server.Run(within(t), p, func(e ansible.Event) {
		if e.Kind != ansible.TaskStarted {
			return
		}
		if files := h.left(); len(files) != 2 {
			t.Errorf("files of the run: %v", files)
		}
		for _, r := range h.Commands() {
			if !r.Finished && slices.Contains(r.Argv, "ansible-run") {
				if err := server.Host.Run(t.Context(), []string{"kill", "-KILL", fmt.Sprint(r.PID)}, nil, nil, nil); err != nil {
					t.Error(err)
				}
			}
		}
	})
	failed, ok := errors.AsType[*ansible.Error](err)
	if !ok || failed.Code != 137 || !strings.Contains(err.Error(), "signal 9 ended it") {
		t.Errorf("got %v", err)
	}
	if files := h.left(); len(files) > 0 {
		t.Errorf("left behind %v", files)
	}
}

// TestRunConnectionLost: connections break repeatedly. No event is missed or reported twice.
func TestRunConnectionLost(t *testing.T) {
	t.Parallel()
	h := newAnsibleHost(t, nil)
	begun, goOn := h.slowly()
	server, _ := h.connect(sshexec.Options{})
	go func() {
		<-begun
		h.CutConnections()
		h.Refuse(true)
		time.AfterFunc(2*time.Second, func() {
			h.Refuse(false)
			close(goOn)
		})
	}()
	var events []ansible.Event
	if _, err := server.Run(within(t), clusterPlay(), func(e ansible.Event) { events = append(events, e) }); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(goodEvents, events); diff != "" {
		t.Error(diff)
	}
}

// TestRunCutEverywhere breaks the connection at each command of a run. The playbook is started once.
func TestRunCutEverywhere(t *testing.T) {
	t.Parallel()
	for at := range moments(t) {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			t.Parallel()
			h := newAnsibleHost(t, nil)
			atCommand(h, at, h.CutConnections)
			server, _ := h.connect(sshexec.Options{})
			if _, err := server.Run(within(t), clusterPlay(), nil); err != nil {
				t.Fatal(err)
			}
			if n, left := h.started(), h.left(); n != 1 || len(left) > 0 {
				t.Errorf("started %d times, left behind %v", n, left)
			}
		})
	}
}

// TestRunKilledEverywhere ends the process at each command of a run, and starts another process. The playbook is started
// once, and no file is left behind.
func TestRunKilledEverywhere(t *testing.T) {
	t.Parallel()
	for at := range moments(t) {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			t.Parallel()
			h := newAnsibleHost(t, nil)
			ctx, kill := context.WithCancelCause(within(t))
			atCommand(h, at, func() {
				kill(vnflcm.ErrShutdown)
				h.CutConnections()
			})
			p := clusterPlay()
			p.Vault = vnflcm.NewSecret("vault")
			first, end := h.connect(sshexec.Options{})
			_, err := first.Run(ctx, p, nil)
			end()
			if ctx.Err() != nil && err != nil && !errors.Is(err, vnflcm.ErrShutdown) {
				t.Errorf("killed: got %v", err)
			}
			second, _ := h.connect(sshexec.Options{})
			result, err := second.Run(within(t), p, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(goodRecap, result.Recap); diff != "" {
				t.Error(diff)
			}
			if n, left := h.started(), h.left(); n != 1 || len(left) > 0 {
				t.Errorf("started %d times, left behind %v", n, left)
			}
		})
	}
}

// moments returns how many commands a run executes on the server, including those of the script.
func moments(t *testing.T) int {
	t.Helper()
	h := newAnsibleHost(t, nil)
	server, _ := h.connect(sshexec.Options{})
	if _, err := server.Run(within(t), clusterPlay(), nil); err != nil {
		t.Fatal(err)
	}
	n := len(h.Commands())
	if n < 20 {
		t.Fatalf("%d commands", n)
	}
	return n
}

// atCommand calls do before the command number n of the server, counted from 0. The playbook itself does not count.
func atCommand(h *ansibleHost, n int, do func()) {
	var mu sync.Mutex
	count := 0
	h.OnCommand(func(r sshtest.Record) {
		if r.Argv[0] == "ansible-playbook" {
			return
		}
		mu.Lock()
		now := count == n
		count++
		mu.Unlock()
		if now {
			do()
		}
	})
}

// TestRunDiskFull checks that the error says when a disk is full, whichever command fills it, that a playbook never runs
// with incomplete variables, and that a new attempt succeeds after the disk has room.
func TestRunDiskFull(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		full func(sshtest.Record) bool // when
		want string
	}{
		"start": {func(sshtest.Record) bool { return true }, "No space left on device"},
		"variables": {func(r sshtest.Record) bool {
			return r.Argv[0] == "mkdir" && strings.Contains(strings.Join(r.Argv, " "), ".vnfkit")
		}, "could not be written"},
		"output": {func(r sshtest.Record) bool { return r.Argv[0] == "ansible-playbook" }, "recap"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newAnsibleHost(t, nil)
			server, _ := h.connect(sshexec.Options{})
			h.OnCommand(func(r sshtest.Record) {
				if test.full(r) {
					h.SetFaults(sshtest.Faults{DiskFull: true})
				}
			})
			p := clusterPlay()
			p.Vault = vnflcm.NewSecret("vault")
			for range 2 {
				if _, err := server.Run(within(t), p, nil); err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("got %v", err)
				} else {
					t.Log(err)
				}
			}
			if n := h.started(); (n > 0) != (name == "output") {
				t.Errorf("it was started %d times", n)
			}
			if files := h.left(); len(files) > 0 {
				t.Errorf("left behind %v", files)
			}
			h.OnCommand(nil)
			h.SetFaults(sshtest.Faults{})
			p.Again = true
			if _, err := server.Run(within(t), p, nil); err != nil {
				t.Error(err)
			}
		})
	}
}
