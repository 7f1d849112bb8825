package sshexec_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// TestExecOnASilentHost checks that Exec does not wait, after the end of its context, for a host that has stopped answering, and that
// the error says that the command may still run.
func TestExecOnASilentHost(t *testing.T) {
	silent := func(_ *sshtest.Host, frozen *atomic.Bool) { frozen.Store(true) }
	faulty := func(f sshtest.Faults) func(*sshtest.Host, *atomic.Bool) {
		return func(h *sshtest.Host, _ *atomic.Bool) { h.SetFaults(f) }
	}
	for _, tt := range []struct {
		name    string
		command sshexec.Command
		silence func(*sshtest.Host, *atomic.Bool)
	}{
		{"network", sshexec.Command{Argv: []string{"hang"}}, silent},
		{"network, with input", sshexec.Command{Argv: []string{"hang"}, Stdin: zeros{}}, silent},
		{"network, long grace", sshexec.Command{Argv: []string{"hang"}, Grace: time.Hour}, silent},
		{"sessions", sshexec.Command{Argv: []string{"hang"}, Root: true}, faulty(sshtest.Faults{StallSessions: true})},
		{"commands", sshexec.Command{Argv: []string{"hang"}}, faulty(sshtest.Faults{StallCommands: true})},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			config, begun, end := hanging()
			defer close(end)
			remote := sshtest.Start(t, config)
			var frozen atomic.Bool
			pool := newPool(t, sshexec.Options{KeepAlive: time.Hour, Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
				c, err := new(net.Dialer).DialContext(ctx, network, addr)
				return &freezer{Conn: c, frozen: &frozen}, err
			}})
			sshexec.SetAnswerLimit(pool, sshexec.AnswerLimit)
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-begun
				tt.silence(remote, &frozen)
				cancel()
			}()
			// Without the limit for a silent host, Exec would return after the limits for ending the command, or never, and its
			// error would not wrap ErrDisconnected.
			err := pool.Host(target(t, remote)).Exec(ctx, tt.command)
			if !errors.Is(err, context.Canceled) || !errors.Is(err, sshexec.ErrDisconnected) || !strings.Contains(err.Error(), "may still run") {
				t.Errorf("got %v", err)
			}
			remote.SetFaults(sshtest.Faults{})
			frozen.Store(false)
		})
	}
}

// TestEndingGoesOn checks that the pool ends a command of a silent host once the host answers again, and that nothing writes to the
// caller's writers after Exec has returned.
func TestEndingGoesOn(t *testing.T) {
	config, begun, end := hanging()
	defer close(end)
	remote := sshtest.Start(t, config)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-begun
		remote.SetFaults(sshtest.Faults{StallSessions: true})
		cancel()
	}()
	pool := newPool(t, sshexec.Options{})
	sshexec.SetAnswerLimit(pool, sshexec.AnswerLimit)
	err := pool.Host(target(t, remote)).Exec(ctx, sshexec.Command{Argv: []string{"hang"}, Root: true})
	if !errors.Is(err, sshexec.ErrDisconnected) {
		t.Fatalf("got %v", err)
	}
	remote.SetFaults(sshtest.Faults{})
	await(t, "the command to end", func() bool {
		for _, r := range remote.Commands() {
			if r.Argv[0] == "hang" {
				return !r.End.IsZero()
			}
		}
		return false
	})
}

// TestGraceOfAnAnsweringHost checks that Exec waits for a command during its grace period, as long as the host answers.
func TestGraceOfAnAnsweringHost(t *testing.T) {
	t.Parallel()
	const answerLimit = 3 * time.Second
	begun, tidied := make(chan struct{}), make(chan struct{})
	remote := sshtest.Start(t, sshtest.Config{Commands: map[string]sshtest.Command{
		"tidy": func(ctx context.Context, _ *sshtest.Process) int {
			close(begun)
			<-ctx.Done()
			time.Sleep(answerLimit + 500*time.Millisecond) // longer than Exec waits for a silent host
			close(tidied)
			return 0
		},
	}})
	pool := newPool(t, sshexec.Options{})
	sshexec.SetAnswerLimit(pool, answerLimit)
	host := pool.Host(target(t, remote))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-begun
		cancel()
	}()
	err := host.Exec(ctx, sshexec.Command{Argv: []string{"tidy"}, Grace: time.Minute})
	if !errors.Is(err, context.Canceled) || errors.Is(err, sshexec.ErrDisconnected) {
		t.Errorf("got %v", err)
	}
	select {
	case <-tidied:
	default:
		t.Error("Exec has returned before the command had ended")
	}
}

// TestCancelAwaitsKilledProcesses checks that Exec waits until a killed process has disappeared.
func TestCancelAwaitsKilledProcesses(t *testing.T) {
	for name, sudo := range map[string]sshexec.Sudo{"script": {}, "listed": sshexec.SudoListed()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config, begun, end := hanging()
			var mu sync.Mutex
			killed, probes := false, 0 // probes counts the calls of kill -0 after KILL; the third call finds no process
			config.Commands["kill"] = func(_ context.Context, p *sshtest.Process) int {
				mu.Lock()
				defer mu.Unlock()
				switch p.Args[1] {
				case "-KILL":
					killed = true
				case "-0":
					if killed {
						probes++
					}
					if probes == 3 {
						close(end)
						return 1
					}
				}
				return 0
			}
			remote := sshtest.Start(t, config)
			to := target(t, remote)
			to.Sudo = sudo
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-begun
				cancel()
			}()
			err := newPool(t, sshexec.Options{}).Host(to).Exec(ctx, sshexec.Command{Argv: []string{"hang"}, Root: true, Grace: 100 * time.Millisecond})
			mu.Lock()
			defer mu.Unlock()
			if !errors.Is(err, context.Canceled) || !killed || probes != 3 {
				t.Errorf("KILL was sent: %t, probes after it: %d, error %v", killed, probes, err)
			}
		})
	}
}
