package sshexec_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/ssh"

	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

type keyStore struct {
	mu   sync.Mutex
	keys map[string]string
}

func (s *keyStore) HostKey(_ context.Context, id string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keys[id], nil
}

func (s *keyStore) PutHostKey(_ context.Context, id, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys[id] = key
	return nil
}

func (s *keyStore) DeleteHostKey(_ context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.keys, id)
	return nil
}

func TestAcceptNewHostKeys(t *testing.T) {
	store := &keyStore{keys: map[string]string{}}
	first, second := sshtest.Start(t, sshtest.Config{}), sshtest.Start(t, sshtest.Config{})
	pool := newPool(t, sshexec.Options{})
	to := func(h *sshtest.Host) *sshexec.Host {
		tgt := target(t, h)
		tgt.HostKeys = sshexec.AcceptNewHostKeys(store)
		return pool.Host(tgt)
	}
	for range 2 {
		if err := to(first).Wait(within(t, 5*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(map[string]string{"vm-1": first.PublicKey()}, store.keys); diff != "" {
		t.Fatal(diff)
	}
	// Another machine under the same identity: final, however long one waits.
	err := to(second).Wait(within(t, 30*time.Second))
	var mismatch *sshexec.HostKeyError
	if !errors.Is(err, sshexec.ErrHostKey) || !errors.As(err, &mismatch) {
		t.Fatalf("got %v", err)
	}
	want := &sshexec.HostKeyError{Host: "node1", Known: []string{fingerprint(t, first)}, Got: fingerprint(t, second)}
	if diff := cmp.Diff(want, mismatch); diff != "" {
		t.Error(diff)
	}
	if len(second.Commands()) > 0 || store.keys["vm-1"] != first.PublicKey() {
		t.Error("the other machine was used or its key was kept")
	}
}

func fingerprint(t *testing.T, h *sshtest.Host) string {
	t.Helper()
	key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(h.PublicKey()))
	if err != nil {
		t.Fatal(err)
	}
	return ssh.FingerprintSHA256(key)
}

func TestKnownKeyOfAnotherType(t *testing.T) {
	const other = "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBEmKSENjQEezOmxkZMy7opKgwFB9nkt5YRrYMjNuG5N87uRgg6CLrbo5wAdT/y6v0mKV0U2w0WZ2YB/++Tpockg="
	remote := sshtest.Start(t, sshtest.Config{})
	tgt := target(t, remote)
	var err error
	if tgt.HostKeys, err = sshexec.PinnedHostKeys(other); err != nil {
		t.Fatal(err)
	}
	err = newPool(t, sshexec.Options{}).Host(tgt).Wait(within(t, 30*time.Second))
	if !errors.Is(err, sshexec.ErrHostKey) {
		t.Errorf("got %v", err)
	}
}

func TestPinnedHostKeysRefuses(t *testing.T) {
	for _, lines := range [][]string{nil, {"nonsense"}, {""}} {
		if _, err := sshexec.PinnedHostKeys(lines...); err == nil {
			t.Errorf("%q was accepted", lines)
		}
	}
}

func TestTargetRefused(t *testing.T) {
	whole := sshexec.Target{
		Addr: "192.0.2.1", User: "u", Auth: []sshexec.Auth{sshexec.Password("p")}, HostKeys: sshexec.InsecureIgnoreHostKeys(),
	}
	tests := map[string]func(*sshexec.Target){
		"no address":     func(t *sshexec.Target) { t.Addr = "" },
		"no user":        func(t *sshexec.Target) { t.User = "" },
		"no credentials": func(t *sshexec.Target) { t.Auth = nil },
		"empty":          func(t *sshexec.Target) { t.Auth = []sshexec.Auth{{}} },
		"no policy":      func(t *sshexec.Target) { t.HostKeys = nil },
	}
	pool := newPool(t, sshexec.Options{Dial: func(context.Context, string, string) (net.Conn, error) {
		t.Error("dialled")
		return nil, io.EOF
	}})
	for name, spoil := range tests {
		t.Run(name, func(t *testing.T) {
			tgt := whole
			spoil(&tgt)
			if err := pool.Host(tgt).Wait(within(t, 5*time.Second)); err == nil || errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestAddr(t *testing.T) {
	for addr, want := range map[string]string{
		"192.0.2.1": "192.0.2.1:22", "192.0.2.1:2222": "192.0.2.1:2222", "2001:db8::1": "[2001:db8::1]:22",
		"[2001:db8::1]": "[2001:db8::1]:22", "[2001:db8::1]:2222": "[2001:db8::1]:2222", "node": "node:22",
	} {
		var got string
		pool := newPool(t, sshexec.Options{Dial: func(_ context.Context, _, addr string) (net.Conn, error) {
			got = addr
			return nil, io.EOF
		}})
		tgt := sshexec.Target{Addr: addr, User: "u", Auth: []sshexec.Auth{sshexec.Password("p")}, HostKeys: sshexec.InsecureIgnoreHostKeys()}
		if err := pool.Host(tgt).Run(t.Context(), []string{"true"}, nil, nil, nil); !errors.Is(err, sshexec.ErrConnect) {
			t.Errorf("got %v", err)
		}
		if got != want {
			t.Errorf("%s: dialled %s, want %s", addr, got, want)
		}
	}
}

func TestPrivateKey(t *testing.T) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	auth, err := sshexec.PrivateKey(pem.EncodeToMemory(block))
	if err != nil {
		t.Fatal(err)
	}
	remote := sshtest.Start(t, sshtest.Config{AuthorizedKeys: []string{string(ssh.MarshalAuthorizedKey(signer))}})
	for name, auths := range map[string][]sshexec.Auth{
		"alone":                  {auth},
		"after a wrong password": {sshexec.Password("wrong"), auth},
		"second password":        {sshexec.Password("wrong"), sshexec.Password("ubuntu")},
	} {
		tgt := target(t, remote)
		tgt.Auth = auths
		if err := newPool(t, sshexec.Options{}).Host(tgt).Run(within(t, 5*time.Second), []string{"true"}, nil, nil, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	locked, err := ssh.MarshalPrivateKeyWithPassphrase(private, "", []byte("p"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sshexec.PrivateKey(pem.EncodeToMemory(locked)); err == nil || !strings.Contains(err.Error(), "passphrase") {
		t.Errorf("got %v", err)
	}
	if _, err := sshexec.PrivateKey([]byte("nonsense")); err == nil {
		t.Error("nonsense was accepted")
	}
}

func TestWaitForBoot(t *testing.T) {
	remote := sshtest.Start(t, sshtest.Config{})
	remote.Refuse(true)
	var dials atomic.Int32
	pool := newPool(t, sshexec.Options{Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		if dials.Add(1) == 2 {
			remote.Refuse(false)
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	}})
	if err := pool.Host(target(t, remote)).Wait(within(t, 10*time.Second)); err != nil {
		t.Error(err)
	}
}

func TestWaitGivesTheReason(t *testing.T) {
	remote := sshtest.Start(t, sshtest.Config{})
	tgt := target(t, remote)
	tgt.Auth = []sshexec.Auth{sshexec.Password("wrong-7f3a")}
	ctx, cancel := context.WithTimeout(t.Context(), 600*time.Millisecond)
	defer cancel()
	err := newPool(t, sshexec.Options{}).Host(tgt).Wait(ctx)
	if !errors.Is(err, sshexec.ErrAuth) || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "node1") {
		t.Errorf("got %v", err)
	}
	if strings.Contains(err.Error(), "7f3a") {
		t.Errorf("the password is in the error: %v", err)
	}
}

// blackhole accepts connections, and may greet, but says nothing more.
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

func TestContextEndsEveryPhase(t *testing.T) {
	stalled := func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	tests := []struct {
		name string
		addr string
		dial func(context.Context, string, string) (net.Conn, error)
	}{
		{"TCP", "192.0.2.1", stalled},
		{"banner", blackhole(t, ""), nil},
		{"handshake", blackhole(t, "SSH-2.0-blackhole\r\n"), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			pool := sshexec.NewPool(sshexec.Options{Dial: tt.dial})
			host := pool.Host(sshexec.Target{
				Addr: tt.addr, User: "u", Auth: []sshexec.Auth{sshexec.Password("p")}, HostKeys: sshexec.InsecureIgnoreHostKeys(),
			})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			start := time.Now()
			err := host.Run(ctx, []string{"true"}, nil, nil, nil)
			if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 3*time.Second {
				t.Errorf("after %v: %v", time.Since(start), err)
			}
			if err := pool.Close(); err != nil || time.Since(start) > 4*time.Second {
				t.Errorf("close after %v: %v", time.Since(start), err)
			}
		})
	}
}

func TestOneConnectionManySessions(t *testing.T) {
	var dials, running, most atomic.Int32
	remote := sshtest.Start(t, sshtest.Config{Commands: map[string]sshtest.Command{
		"work": func(context.Context, *sshtest.Process) int {
			now := running.Add(1)
			for most.Load() < now {
				most.Store(now)
			}
			time.Sleep(20 * time.Millisecond) // long enough to meet the others
			running.Add(-1)
			return 0
		},
	}})
	pool := newPool(t, sshexec.Options{Sessions: 3, Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		dials.Add(1)
		return new(net.Dialer).DialContext(ctx, network, addr)
	}})
	hosts := make([]*sshexec.Host, 12)
	for i := range hosts {
		hosts[i] = pool.Host(target(t, remote))
	}
	err := sshexec.Each(within(t, 10*time.Second), sshexec.Fan{}, hosts, func(ctx context.Context, h *sshexec.Host) error {
		return h.Run(ctx, []string{"work"}, nil, nil, nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	if dials.Load() != 1 || most.Load() > 3 || most.Load() < 2 {
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
	ctx := within(t, 5*time.Second)
	go func() { second <- host.Wait(ctx) }()
	time.Sleep(50 * time.Millisecond) // let the second one join
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
		if err := host.Run(within(t, 5*time.Second), []string{"hang"}, nil, nil, nil); !errors.Is(err, sshexec.ErrDisconnected) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := pool.Close(); err != nil {
		t.Error(err)
	}
	if err := host.Wait(within(t, 5*time.Second)); !errors.Is(err, sshexec.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestKeepAliveNoticesADeadPeer(t *testing.T) {
	remote := sshtest.Start(t, sshtest.Config{})
	var frozen atomic.Bool
	pool := newPool(t, sshexec.Options{KeepAlive: 100 * time.Millisecond, Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, addr)
		return &freezer{Conn: c, frozen: &frozen}, err
	}})
	host := pool.Host(target(t, remote))
	time.AfterFunc(300*time.Millisecond, func() { frozen.Store(true) })
	err := host.Run(within(t, 5*time.Second), []string{"sleep", "60"}, nil, nil, nil)
	if !errors.Is(err, sshexec.ErrDisconnected) {
		t.Errorf("got %v", err)
	}
	frozen.Store(false)
}

// freezer drops what is sent, like a network that is gone.
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

func TestDialContext(t *testing.T) {
	var asked string
	far, near := net.Pipe()
	host, _ := connect(t, sshtest.Config{Dial: func(_ context.Context, _, addr string) (net.Conn, error) {
		asked = addr
		if strings.HasPrefix(addr, "no") {
			return nil, errors.New("no such place")
		}
		return far, nil
	}})
	go func() {
		_, _ = fmt.Fprint(near, "hello")
		_ = near.Close()
	}()
	c, err := host.DialContext(within(t, 5*time.Second), "tcp", "10.0.0.1:6443")
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(c)
	if err != nil || string(got) != "hello" || asked != "10.0.0.1:6443" {
		t.Errorf("got %q from %s, %v", got, asked, err)
	}
	_ = c.Close()
	if _, err := host.DialContext(within(t, 5*time.Second), "tcp", "nowhere:1"); !errors.Is(err, sshexec.ErrConnect) || !strings.Contains(err.Error(), "node1") {
		t.Errorf("got %v", err)
	}
}

func TestEach(t *testing.T) {
	pool := newPool(t, sshexec.Options{})
	var hosts []*sshexec.Host
	for _, name := range []string{"a", "b", "c", "d"} {
		hosts = append(hosts, pool.Host(sshexec.Target{Name: name}))
	}
	errStop := errors.New("stop")
	err := sshexec.Each(t.Context(), sshexec.Fan{Limit: 2}, hosts, func(_ context.Context, h *sshexec.Host) error {
		switch h.Name() {
		case "b":
			return &sshexec.ExitError{Host: "b", Command: "x", Code: 7}
		case "d":
			return errStop
		}
		return nil
	})
	var exit *sshexec.ExitError
	var at *sshexec.HostError
	if !errors.Is(err, errStop) || !errors.As(err, &exit) || exit.Code != 7 || !errors.As(err, &at) || at.Host != "b" {
		t.Errorf("got %v", err)
	}
	if b, d := strings.Index(err.Error(), "b:"), strings.Index(err.Error(), "d:"); b < 0 || d < b {
		t.Errorf("order: %v", err)
	}

	ctx, cancel := context.WithCancelCause(t.Context())
	var calls atomic.Int32
	err = sshexec.Each(ctx, sshexec.Fan{Limit: 1}, hosts, func(context.Context, *sshexec.Host) error {
		calls.Add(1)
		cancel(errStop)
		return nil
	})
	if calls.Load() != 1 || !errors.Is(err, errStop) {
		t.Errorf("%d calls: %v", calls.Load(), err)
	}
}
