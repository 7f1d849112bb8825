package sshexec_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// dialCounter counts all connections and the open connections.
type dialCounter struct{ made, open atomic.Int32 }

func (d *dialCounter) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	d.made.Add(1)
	d.open.Add(1)
	return &countedConn{Conn: conn, open: &d.open}, nil
}

type countedConn struct {
	net.Conn
	open *atomic.Int32
	once sync.Once
}

func (c *countedConn) Close() error {
	c.once.Do(func() { c.open.Add(-1) })
	return c.Conn.Close()
}

// hanging returns the configuration of a host whose program hang runs until the test sends to end.
func hanging() (config sshtest.Config, begun chan struct{}, end chan struct{}) {
	begun, end = make(chan struct{}, 100), make(chan struct{})
	return sshtest.Config{Commands: map[string]sshtest.Command{"hang": func(ctx context.Context, _ *sshtest.Process) int {
		begun <- struct{}{}
		select {
		case <-ctx.Done():
		case <-end:
		}
		return 0
	}}}, begun, end
}

// TestMaxSessions checks that a host that allows two sessions serves any number of callers, and that sessions on a full connection
// continue.
func TestMaxSessions(t *testing.T) {
	config, begun, end := hanging()
	remote := sshtest.Start(t, config)
	remote.SetFaults(sshtest.Faults{MaxSessions: 2})
	var dials dialCounter
	host := newPool(t, sshexec.Options{Dial: dials.dial}).Host(target(t, remote))
	var running sync.WaitGroup
	for range 2 { // these run during the whole test
		running.Go(func() {
			if err := host.Run(withinMinutes(t), []string{"hang"}, nil, nil, nil); err != nil {
				t.Error(err)
			}
		})
		<-begun
	}
	callers := make([]*sshexec.Host, 12)
	for i := range callers {
		callers[i] = host
	}
	got, err := sshexec.Map(withinMinutes(t), sshexec.Fan{}, callers, func(ctx context.Context, h *sshexec.Host) (string, error) {
		out, err := h.Output(ctx, sshexec.Command{Argv: []string{"echo", "hello"}})
		return string(out), err
	})
	if want := slices.Repeat([]string{"hello\n"}, len(callers)); err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v", got, err)
	}
	if n := dials.made.Load(); n != 2 {
		t.Errorf("%d connections", n)
	}
	close(end)
	running.Wait()
	await(t, "the full connection to be closed", func() bool { return dials.open.Load() == 1 })
}

func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	ctx := withinMinutes(t)
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for !done() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("waiting for %s", what)
		}
	}
}

func TestRefusedSessions(t *testing.T) {
	t.Parallel()
	remote := sshtest.Start(t, sshtest.Config{})
	remote.SetFaults(sshtest.Faults{RefuseSessions: true})
	host := newPool(t, sshexec.Options{}).Host(target(t, remote))
	err := host.Run(withinMinutes(t), []string{"true"}, nil, nil, nil)
	if !errors.Is(err, sshexec.ErrConnect) || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

// TestCancelOfMany checks that ending commands does not need a free session.
func TestCancelOfMany(t *testing.T) {
	for name, max := range map[string]int{"as many as allowed": 0, "the host allows no more": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			remote := sshtest.Start(t, sshtest.Config{})
			remote.SetFaults(sshtest.Faults{MaxSessions: max})
			host := newPool(t, sshexec.Options{Sessions: 3}).Host(target(t, remote))
			ctx, cancel := context.WithCancel(withinMinutes(t))
			var running sync.WaitGroup
			for range 3 {
				running.Go(func() {
					err := host.Exec(ctx, sshexec.Command{Shell: "sleep 600 & sleep 600; wait", Root: true})
					if !errors.Is(err, context.Canceled) {
						t.Errorf("got %v", err)
					}
				})
			}
			sleeping := func() (n int) {
				for _, r := range remote.Commands() {
					if r.Argv[0] == "sleep" && len(r.Argv) == 2 && r.Argv[1] == "600" && r.End.IsZero() {
						n++
					}
				}
				return n
			}
			await(t, "the commands to begin", func() bool { return sleeping() == 6 })
			cancel()
			running.Wait()
			await(t, "the commands to end", func() bool { return sleeping() == 0 })
		})
	}
}

// TestMaxStartups checks that the pool retries logins that a server refuses because of too many concurrent logins.
func TestMaxStartups(t *testing.T) {
	remote := sshtest.Start(t, sshtest.Config{})
	remote.SetFaults(sshtest.Faults{MaxStartups: 2, BytesPerSecond: 100 << 10}) // slow, so that the logins overlap
	var dials dialCounter
	pool := newPool(t, sshexec.Options{Dial: dials.dial})
	hosts := make([]*sshexec.Host, 6) // few enough for the retries of a login
	for i := range hosts {
		to := target(t, remote)
		to.ID, to.Name = fmt.Sprint("vm-", i), fmt.Sprint("node", i)
		hosts[i] = pool.Host(to)
	}
	err := sshexec.Each(withinMinutes(t), sshexec.Fan{}, hosts, func(ctx context.Context, h *sshexec.Host) error {
		return h.Run(ctx, []string{"true"}, nil, nil, nil)
	})
	if err != nil {
		t.Error(err)
	}
	// The pool does not retry a single login at a server that closes all connections.
	remote.SetFaults(sshtest.Faults{Refuse: true})
	remote.CutConnections()
	before := dials.made.Load()
	err = hosts[0].Run(withinMinutes(t), []string{"true"}, nil, nil, nil)
	if n := dials.made.Load() - before; !errors.Is(err, sshexec.ErrConnect) || n > 1 {
		t.Errorf("after %d connections: %v", n, err)
	}
}

func TestStartups(t *testing.T) {
	remote := sshtest.Start(t, sshtest.Config{})
	var now, most atomic.Int32
	var mu sync.Mutex
	both := make(chan struct{}) // closed when two dials run at the same time
	pool := newPool(t, sshexec.Options{LoginsPerServer: 2, Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		mu.Lock()
		before := most.Load()
		most.Store(max(before, now.Add(1)))
		if before < 2 && most.Load() == 2 {
			close(both)
		}
		mu.Unlock()
		defer now.Add(-1)
		select {
		case <-both:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		time.Sleep(10 * time.Millisecond) // gives a third dial time to begin
		return new(net.Dialer).DialContext(ctx, network, addr)
	}})
	hosts := make([]*sshexec.Host, 8)
	for i := range hosts {
		to := target(t, remote)
		to.ID = fmt.Sprint("vm-", i)
		hosts[i] = pool.Host(to)
	}
	if err := sshexec.Each(withinMinutes(t), sshexec.Fan{}, hosts, func(ctx context.Context, h *sshexec.Host) error { return h.Wait(ctx) }); err != nil {
		t.Error(err)
	}
	if most.Load() != 2 {
		t.Errorf("%d dials at once", most.Load())
	}
}

func TestIdle(t *testing.T) {
	config, begun, end := hanging()
	remote := sshtest.Start(t, config)
	var dials dialCounter
	host := newPool(t, sshexec.Options{Dial: dials.dial, Idle: 50 * time.Millisecond}).Host(target(t, remote))
	result := make(chan error, 1)
	go func() { result <- host.Run(withinMinutes(t), []string{"hang"}, nil, nil, nil) }()
	<-begun
	before := dials.made.Load()        // more than 1 if the first connection was idle for too long on a slow machine
	time.Sleep(200 * time.Millisecond) // the connection is in use and must stay open
	close(end)
	if err := <-result; err != nil || dials.made.Load() != before {
		t.Fatalf("%d connections instead of %d, %v", dials.made.Load(), before, err)
	}
	await(t, "the connection to be closed", func() bool { return dials.open.Load() == 0 })
	if err := host.Wait(withinMinutes(t)); err != nil || dials.made.Load() <= before {
		t.Errorf("%d connections, %v", dials.made.Load(), err)
	}
}
