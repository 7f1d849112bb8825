package sshexec_test

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// blackhole accepts connections, sends the greeting, and then sends nothing.
func blackhole(t *testing.T, greeting string) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				_, _ = io.WriteString(c, greeting)
				_, _ = io.Copy(io.Discard, c)
				_ = c.Close()
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		running.Wait()
	})
	return l.Addr().String()
}

// TestContextEndsEveryPhase checks that the end of the context ends the wait in every phase of a connection, and that the error names
// the phase.
func TestContextEndsEveryPhase(t *testing.T) {
	stalled := func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	run := func(ctx context.Context, h *sshexec.Host) error {
		return h.Run(ctx, []string{"sleep", "60"}, nil, nil, nil)
	}
	dial := func(ctx context.Context, h *sshexec.Host) error {
		_, err := h.DialContext(ctx, "tcp", "10.0.0.1:80")
		return err
	}
	upload := func(ctx context.Context, h *sshexec.Host) error {
		return h.Upload(ctx, io.LimitReader(zeros{}, 1<<30), sshexec.File{Path: "/tmp/large"})
	}
	for _, tt := range []struct {
		name   string
		faults sshtest.Faults
		addr   string // address instead of a host with faults
		dial   func(context.Context, string, string) (net.Conn, error)
		call   func(context.Context, *sshexec.Host) error
		phase  string
	}{
		{name: "TCP", addr: "192.0.2.1:22", dial: stalled, phase: "dial 192.0.2.1:22"},
		{name: "version", faults: sshtest.Faults{StallHandshake: true}, phase: "SSH handshake"},
		{name: "keys", addr: blackhole(t, "SSH-2.0-blackhole\r\n"), phase: "SSH handshake"},
		{name: "login", faults: sshtest.Faults{StallLogin: true}, phase: "SSH handshake"},
		{name: "session", faults: sshtest.Faults{StallSessions: true}, phase: "open a session"},
		{name: "command", faults: sshtest.Faults{StallCommands: true}, phase: "sleep 60"},
		{name: "run", phase: "sleep 60"},
		{name: "silence", faults: sshtest.Faults{StallAfter: 6 << 10}, call: upload, phase: "/tmp/large"},
		{name: "waiting for SSH", faults: sshtest.Faults{StallHandshake: true}, phase: "SSH handshake",
			call: func(ctx context.Context, h *sshexec.Host) error { return h.Wait(ctx) }},
		{name: "tunnel", call: dial, phase: "10.0.0.1:80"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			remote := sshtest.Start(t, sshtest.Config{Dial: stalled})
			remote.SetFaults(tt.faults)
			to := target(t, remote)
			to.HostKeys = sshexec.InsecureIgnoreHostKeys()
			to.Addr = cmp.Or(tt.addr, to.Addr)
			if tt.call == nil {
				tt.call = run
			}
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				// A slow machine needs more time to reach the phase.
				for limit := 400 * time.Millisecond; ; limit *= 2 {
					pool := sshexec.NewPool(sshexec.Options{Dial: tt.dial, KeepAlive: time.Hour})
					ctx, cancel := context.WithTimeout(t.Context(), limit)
					err := tt.call(ctx, pool.Host(to))
					cancel()
					if closing := pool.Close(); closing != nil {
						t.Errorf("close: %v", closing)
					}
					reached := err != nil && strings.Contains(err.Error(), tt.phase)
					if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "node1") || !reached && limit > time.Minute {
						t.Errorf("got %v", err)
						return
					}
					if reached {
						return
					}
				}
			}()
			select {
			case <-ended:
			case <-time.After(5 * time.Minute):
				t.Fatal("neither the call nor Close returns")
			}
		})
	}
}

// zeros is an endless reader.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func TestOneConnectionManySessions(t *testing.T) {
	const callers, sessions = 12, 3
	var dials, running, most, called atomic.Int32
	full := make(chan struct{}) // closed when all sessions are in use and the other callers wait
	remote := sshtest.Start(t, sshtest.Config{Commands: map[string]sshtest.Command{
		"work": func(ctx context.Context, _ *sshtest.Process) int {
			now := running.Add(1)
			for before := most.Load(); before < now && !most.CompareAndSwap(before, now); before = most.Load() {
			}
			if now == sessions {
				for called.Load() < callers && ctx.Err() == nil {
					time.Sleep(time.Millisecond)
				}
				select {
				case <-full:
				default:
					close(full)
				}
			}
			select {
			case <-full:
			case <-ctx.Done():
			}
			running.Add(-1)
			return 0
		},
	}})
	pool := newPool(t, sshexec.Options{
		Sessions: sessions,
		Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			dials.Add(1)
			return new(net.Dialer).DialContext(ctx, network, addr)
		},
		Observe: func(_ context.Context, e sshexec.CommandEvent) {
			if !e.Done {
				called.Add(1)
			}
		},
	})
	hosts := make([]*sshexec.Host, callers)
	for i := range hosts {
		hosts[i] = pool.Host(target(t, remote))
	}
	err := sshexec.Each(withinMinutes(t), sshexec.Fan{}, hosts, func(ctx context.Context, h *sshexec.Host) error {
		return h.Run(ctx, []string{"work"}, nil, nil, nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	if dials.Load() != 1 || most.Load() != sessions {
		t.Errorf("%d connections, %d sessions at once", dials.Load(), most.Load())
	}
}

func TestDialSurvivesItsFirstCaller(t *testing.T) {
	remote := sshtest.Start(t, sshtest.Config{})
	dialling, proceed := make(chan struct{}), make(chan struct{})
	var dials atomic.Int32
	pool := newPool(t, sshexec.Options{Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		dials.Add(1)
		close(dialling)
		select {
		case <-proceed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	}})
	host := pool.Host(target(t, remote))
	first, cancel := context.WithCancel(t.Context())
	gone := make(chan error)
	go func() { gone <- host.Run(first, []string{"true"}, nil, nil, nil) }()
	<-dialling
	second := make(chan error)
	ctx := withinMinutes(t)
	go func() { second <- host.Wait(ctx) }()
	await(t, "the second one to join", func() bool { return sshexec.AwaitingConnection(pool) == 2 })
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("first: %v", err)
	}
	close(proceed)
	if err := <-second; err != nil || dials.Load() != 1 {
		t.Errorf("second: %v after %d dials", err, dials.Load())
	}
}

func TestForgetAndClose(t *testing.T) {
	begun := make(chan struct{}, 2)
	remote := sshtest.Start(t, sshtest.Config{Commands: map[string]sshtest.Command{
		"hang": func(ctx context.Context, _ *sshtest.Process) int {
			begun <- struct{}{}
			<-ctx.Done()
			return 0
		},
	}})
	pool := newPool(t, sshexec.Options{})
	host := pool.Host(target(t, remote))
	for name, end := range map[string]func(){
		"forget": func() { pool.Forget("vm-1") },
		"other":  func() { pool.Forget("vm-2"); remote.CutConnections() },
	} {
		go func() {
			<-begun
			end()
		}()
		if err := host.Run(withinMinutes(t), []string{"hang"}, nil, nil, nil); !errors.Is(err, sshexec.ErrDisconnected) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := pool.Close(); err != nil {
		t.Error(err)
	}
	if err := host.Wait(withinMinutes(t)); !errors.Is(err, sshexec.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestKeepAliveNoticesADeadPeer(t *testing.T) {
	remote := sshtest.Start(t, sshtest.Config{})
	var frozen atomic.Bool
	remote.OnCommand(func(r sshtest.Record) {
		if r.Argv[0] == "sleep" {
			frozen.Store(true)
		}
	})
	pool := newPool(t, sshexec.Options{KeepAlive: 200 * time.Millisecond, Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, addr)
		return &freezer{Conn: c, frozen: &frozen}, err
	}})
	host := pool.Host(target(t, remote))
	err := host.Run(withinMinutes(t), []string{"sleep", "600"}, nil, nil, nil)
	if !errors.Is(err, sshexec.ErrDisconnected) {
		t.Errorf("got %v", err)
	}
	frozen.Store(false)
}

// freezer drops sent data, like a network that fails.
type freezer struct {
	net.Conn
	frozen *atomic.Bool
}

func (f *freezer) Write(p []byte) (int, error) {
	if f.frozen.Load() {
		return len(p), nil
	}
	return f.Conn.Write(p)
}

// TestLinkThatTakesNothing checks that calls end with their context when the network accepts no more data, long before the keep-alive
// requests close the connection.
func TestLinkThatTakesNothing(t *testing.T) {
	for name, call := range map[string]func(context.Context, *sshexec.Host) error{
		"command": func(ctx context.Context, h *sshexec.Host) error {
			return h.Run(ctx, []string{"sleep", "60"}, nil, nil, nil)
		},
		"input": func(ctx context.Context, h *sshexec.Host) error {
			return h.Run(ctx, []string{"sleep", "60"}, zeros{}, nil, nil)
		},
		"upload": func(ctx context.Context, h *sshexec.Host) error {
			return h.Upload(ctx, io.LimitReader(zeros{}, 1<<30), sshexec.File{Path: "/tmp/large"})
		},
		"download": func(ctx context.Context, h *sshexec.Host) error {
			return h.Download(ctx, io.Discard, sshexec.File{Path: "/tmp/there"})
		},
		"job": func(ctx context.Context, h *sshexec.Host) error {
			_, err := h.StartJob(ctx, "job", sshexec.Command{Argv: []string{"true"}})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			remote := sshtest.Start(t, sshtest.Config{})
			if err := afero.WriteFile(remote.FS(), "/tmp/there", make([]byte, 1<<20), 0o644); err != nil {
				t.Fatal(err)
			}
			stuck := make(chan struct{})
			pool := newPool(t, sshexec.Options{KeepAlive: time.Hour, Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
				conn, err := new(net.Dialer).DialContext(ctx, network, addr)
				return &stuckConn{Conn: conn, stuck: stuck, closed: make(chan struct{})}, err
			}})
			sshexec.SetAnswerLimit(pool, sshexec.AnswerLimit)
			host := pool.Host(target(t, remote))
			if err := host.Wait(withinMinutes(t)); err != nil {
				t.Fatal(err)
			}
			time.AfterFunc(100*time.Millisecond, func() { close(stuck) })
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				for met := false; !met; { // repeat a fast call until one begins after the link is stuck
					select {
					case <-stuck:
						met = true
					default:
					}
					ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
					err := call(ctx, host)
					cancel()
					if err != nil && !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("got %v", err)
					}
				}
			}()
			select {
			case <-ended:
			case <-time.After(2 * time.Minute): // the keepalive would close the connection after an hour
				t.Fatal("the call does not end with its context")
			}
		})
	}
}

// stuckConn blocks writes once it is stuck.
type stuckConn struct {
	net.Conn
	stuck, closed chan struct{}
	once          sync.Once
}

func (c *stuckConn) Write(p []byte) (int, error) {
	select {
	case <-c.stuck:
		<-c.closed
		return 0, net.ErrClosed
	default:
		return c.Conn.Write(p)
	}
}

func (c *stuckConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}
