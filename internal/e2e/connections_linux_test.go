package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/sshexec"
)

// TestManySessions: more callers than OpenSSH lets one connection have sessions.
func TestManySessions(t *testing.T) {
	for name, config := range map[string][]string{"MaxSessions 10": nil, "MaxSessions 2": {"MaxSessions 2"}, "MaxSessions 1": {"MaxSessions 1"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			host, _ := connect(t, vmhost.Spec{Config: config}, sshexec.Options{})
			var callers sync.WaitGroup
			for i := range 40 {
				callers.Go(func() {
					var out bytes.Buffer
					err := host.Exec(within(t, time.Minute), sshexec.Command{Argv: []string{"echo", strconv.Itoa(i)}, Stdout: &out, Root: i%2 == 0})
					if err != nil || out.String() != strconv.Itoa(i)+"\n" {
						t.Errorf("caller %d: %q, %v", i, out.String(), err)
					}
				})
			}
			callers.Wait()
		})
	}
}

// TestFullConnection: where sshd allows two sessions on a connection, commands that use all of them can be
// ended, and one more waits for its turn.
func TestFullConnection(t *testing.T) {
	host, machine := connect(t, vmhost.Spec{Config: []string{"MaxSessions 2"}}, sshexec.Options{})
	ctx, cancel := context.WithCancel(within(t, time.Minute))
	var staying sync.WaitGroup
	for range 5 {
		staying.Go(func() {
			if err := host.Exec(ctx, sshexec.Command{Argv: []string{"sleep", "600"}, Root: true}); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		})
	}
	await(t, "all sessions to be in use", func() bool { return sleeping(t, machine) >= 2 })
	waiting := make(chan error, 1)
	go func() { waiting <- host.Run(within(t, time.Minute), []string{"true"}, nil, nil, nil) }()
	cancel() // what ends them needs sessions, too
	staying.Wait()
	must(t, <-waiting)
	await(t, "all to end", func() bool { return sleeping(t, machine) == 0 })
}

// TestManyStartups: many users log in to one host at once that lets few be on their way.
func TestManyStartups(t *testing.T) {
	machine := newHost(t, vmhost.Spec{Config: []string{"MaxStartups 3"}})
	pool := newPool(t, sshexec.Options{})
	target := targetOf(t, machine)
	must(t, pool.Host(target).Wait(within(t, time.Minute)))
	pool.Forget(machine.Address.String())
	var callers sync.WaitGroup
	for i := range 20 { // the connections of different machines, as far as the pool knows
		callers.Go(func() {
			other := target
			other.ID = strconv.Itoa(i)
			if err := pool.Host(other).Exec(within(t, time.Minute), sshexec.Command{Argv: []string{"true"}}); err != nil {
				t.Errorf("caller %d: %v", i, err)
			}
		})
	}
	callers.Wait()
}

// TestRefusals: a host that must not be talked to, or does not let us in, is told from one that is away.
func TestRefusals(t *testing.T) {
	machine := newHost(t, vmhost.Spec{AskPassword: true})
	good := targetOf(t, machine)
	must(t, newPool(t, sshexec.Options{}).Host(good).Wait(within(t, time.Minute)))
	try := func(change func(*sshexec.Target), root bool) error {
		target := good
		change(&target)
		return newPool(t, sshexec.Options{}).Host(target).Exec(within(t, time.Minute), sshexec.Command{Argv: []string{"true"}, Root: root})
	}
	if err := try(func(*sshexec.Target) {}, true); err != nil {
		t.Errorf("the right credentials: %v", err)
	}
	if err := try(func(g *sshexec.Target) { g.Auth = []sshexec.Auth{sshexec.Password("wrong")} }, false); !errors.Is(err, sshexec.ErrAuth) {
		t.Errorf("wrong password: got %v", err)
	}
	for name, sudo := range map[string]sshexec.Sudo{"wrong": sshexec.SudoPassword("wrong"), "no": {}} {
		if err := try(func(g *sshexec.Target) { g.Sudo = sudo }, true); !errors.Is(err, sshexec.ErrSudo) {
			t.Errorf("%s password for sudo: got %v", name, err)
		}
	}
	if err := try(func(g *sshexec.Target) { g.Addr = net.JoinHostPort(machine.Address.String(), "2222") }, false); !errors.Is(err, sshexec.ErrConnect) {
		t.Errorf("closed port: got %v", err)
	}
}

// TestBoot: a machine that refuses connections is waited for.
func TestBoot(t *testing.T) {
	machine := newHost(t, vmhost.Spec{Off: true})
	host := newPool(t, sshexec.Options{}).Host(targetOf(t, machine))
	if err := host.Exec(within(t, time.Minute), sshexec.Command{Argv: []string{"true"}}); !errors.Is(err, sshexec.ErrConnect) {
		t.Fatalf("before it boots: %v", err)
	}
	booted := time.AfterFunc(time.Second, func() { _ = machine.Boot() })
	defer booted.Stop()
	must(t, host.Wait(within(t, time.Minute)))
}

// TestLateUser: a machine answers before cloud-init has made the user, and is waited for.
func TestLateUser(t *testing.T) {
	machine := newHost(t, vmhost.Spec{})
	root(t, machine, "usermod", "--lock", user)
	must(t, machine.Listening(within(t, time.Minute)))
	host := newPool(t, sshexec.Options{}).Host(targetOf(t, machine))
	ctx, cancel := context.WithCancelCause(within(t, time.Minute))
	waited := make(chan error, 1)
	go func() { waited <- host.Wait(ctx) }()
	await(t, "two refusals", func() bool { return strings.Count(machine.Log(), "Failed password for") >= 2 })
	cancel(errSilence)
	if err := <-waited; !errors.Is(err, sshexec.ErrAuth) || !errors.Is(err, errSilence) {
		t.Fatalf("before there is a user: %v", err)
	}
	made := time.AfterFunc(time.Second, func() { _, _ = machine.Exec(context.Background(), "usermod", "--unlock", user) })
	defer made.Stop()
	must(t, host.Wait(within(t, time.Minute)))
}

// TestRestart: commands go on while sshd is restarted, and new ones find the way back when the connection
// was cut.
func TestRestart(t *testing.T) {
	for name, systemd := range map[string]bool{"plain": false, "systemd": true} {
		t.Run(name, func(t *testing.T) {
			host, machine := connect(t, vmhost.Spec{Systemd: systemd}, sshexec.Options{})
			result := make(chan error, 1)
			go func() {
				result <- host.Exec(within(t, time.Minute), sshexec.Command{Shell: "echo 1 >begun; while [ ! -e go ]; do sleep 0.05; done"})
			}()
			await(t, "the command to begin", func() bool { return output(t, host, "cat begun; true") != "" })
			must(t, machine.RestartSSH(within(t, time.Minute)))
			output(t, host, "touch go")
			must(t, <-result)
			must(t, machine.CutConnections(within(t, time.Minute)))
			output(t, host, "true")
		})
	}
}

// TestLoss: a command, a transfer and a tunnel end when the host is lost, however that happens, and Close
// leaves nothing behind.
func TestLoss(t *testing.T) {
	for _, c := range []struct {
		name string
		lose func(context.Context, *vmhost.Host) error
		// back makes the host well again; nil when nothing can.
		back func(context.Context, *vmhost.Host) error
	}{
		{"the connection is cut", func(ctx context.Context, m *vmhost.Host) error { return m.CutConnections(ctx) },
			func(context.Context, *vmhost.Host) error { return nil }},
		{"the cable is pulled", func(ctx context.Context, m *vmhost.Host) error { return m.SetCable(ctx, false) },
			func(ctx context.Context, m *vmhost.Host) error { return m.SetCable(ctx, true) }},
		{"it answers no more", func(ctx context.Context, m *vmhost.Host) error { return m.SetFrozen(ctx, true) },
			func(ctx context.Context, m *vmhost.Host) error { return m.SetFrozen(ctx, false) }},
		{"the power is cut", func(_ context.Context, m *vmhost.Host) error { return m.Kill() }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			host, machine := connect(t, vmhost.Spec{}, sshexec.Options{KeepAlive: 2 * time.Second})
			busy := occupy(t, t.Context(), host, machine)
			must(t, c.lose(within(t, time.Minute), machine))
			for what, ended := range busy {
				select {
				case err := <-ended:
					if !errors.Is(err, sshexec.ErrDisconnected) {
						t.Errorf("%s: got %v", what, err)
					}
				case <-time.After(2 * time.Minute): // the removal of a temporary file is tried for 10 s
					t.Errorf("%s is still waited for", what)
				}
			}
			if c.back == nil {
				return
			}
			must(t, c.back(within(t, time.Minute), machine))
			must(t, host.Wait(within(t, time.Minute)))
			output(t, host, "true")
		})
	}
}

// TestSilence: ctx and Close end what waits for a host that is not to be heard any more, long before keepalive
// would.
func TestSilence(t *testing.T) {
	cable := func(ctx context.Context, m *vmhost.Host) error { return m.SetCable(ctx, false) }
	freeze := func(ctx context.Context, m *vmhost.Host) error { return m.SetFrozen(ctx, true) }
	for name, lose := range map[string]func(context.Context, *vmhost.Host) error{"the cable is pulled": cable, "it answers no more": freeze} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			machine := newHost(t, vmhost.Spec{})
			pool := sshexec.NewPool(sshexec.Options{KeepAlive: time.Hour})
			defer pool.Close()
			host := pool.Host(targetOf(t, machine))
			must(t, host.Wait(within(t, time.Minute)))
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			busy := occupy(t, ctx, host, machine)
			must(t, lose(within(t, time.Minute), machine))
			cancel(errSilence)
			delete(busy, "tunnel") // a connection that was made knows no context
			for what, ended := range busy {
				select {
				case err := <-ended:
					if !errors.Is(err, errSilence) {
						t.Errorf("%s: got %v", what, err)
					}
				case <-time.After(2 * time.Minute): // grace, and the removal of the temporary file
					t.Errorf("%s is still waited for", what)
				}
			}
			begin := time.Now()
			short, end := context.WithTimeout(t.Context(), time.Second)
			defer end()
			if err := host.Run(short, []string{"true"}, nil, nil, nil); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) > time.Minute {
				t.Errorf("a new command: %v after %s", err, time.Since(begin))
			}
			begin = time.Now()
			must(t, pool.Close())
			if took := time.Since(begin); took > time.Minute {
				t.Errorf("Close took %s", took)
			}
		})
	}
}

var errSilence = errors.New("waited long enough")

// occupy begins a command, an upload and a tunnel, and returns once all are under way. Each tells its end.
func occupy(t *testing.T, ctx context.Context, host *sshexec.Host, machine *vmhost.Host) map[string]chan error { //nolint:revive // t comes first here
	t.Helper()
	busy := map[string]chan error{"command": make(chan error, 1), "upload": make(chan error, 1), "tunnel": make(chan error, 1)}
	go func() {
		busy["command"] <- host.Exec(ctx, sshexec.Command{Argv: []string{"sleep", "600"}, Grace: 300 * time.Millisecond})
	}()
	endless := &endless{}
	go func() { busy["upload"] <- host.Upload(ctx, endless, sshexec.File{Path: "/home/" + user + "/large"}) }()
	tunnel, err := host.DialContext(ctx, "tcp", "127.0.0.1:22")
	must(t, err)
	t.Cleanup(func() { _ = tunnel.Close() })
	_, err = io.ReadFull(tunnel, make([]byte, 8))
	must(t, err)
	ended := busy["tunnel"]
	go func() {
		_, err := io.Copy(io.Discard, tunnel)
		ended <- err
	}()
	await(t, "the command to begin", func() bool { return sleeping(t, machine) > 0 })
	await(t, "the upload to begin", func() bool { return endless.read.Load() > 1<<20 })
	return busy
}

// endless is content without an end, of which 10 MiB a second can be read.
type endless struct{ read atomic.Int64 }

func (e *endless) Read(p []byte) (int, error) {
	p = p[:min(len(p), 64<<10)]
	time.Sleep(6 * time.Millisecond)
	e.read.Add(int64(len(p)))
	return len(p), nil
}
