package sshexec_test

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// bastion starts a jump host and returns it with its target.
func bastion(t *testing.T, name string, c sshtest.Config) (*sshtest.Host, sshexec.Target) {
	t.Helper()
	c.Name, c.User, c.Password = name, "jump", "of "+name
	c.Dial = new(net.Dialer).DialContext
	remote := sshtest.Start(t, c)
	to := target(t, remote)
	to.ID, to.Name, to.User = name, name, "jump"
	to.Auth = []sshexec.Auth{sshexec.Password("of " + name)}
	return remote, to
}

// TestJumpHosts checks that all calls work through two jump hosts with separate credentials and host keys.
func TestJumpHosts(t *testing.T) {
	_, first := bastion(t, "first", sshtest.Config{})
	_, second := bastion(t, "second", sshtest.Config{})
	second.Via = &first
	var dials dialCounter
	pool := newPool(t, sshexec.Options{Dial: dials.dial})
	var hosts []*sshexec.Host
	for _, name := range []string{"a", "b"} {
		to := target(t, sshtest.Start(t, sshtest.Config{Name: name}))
		to.ID, to.Name, to.Via = name, name, &second
		hosts = append(hosts, pool.Host(to))
	}
	got, err := sshexec.Map(withinMinutes(t), sshexec.Fan{}, hosts, func(ctx context.Context, h *sshexec.Host) (string, error) {
		out, err := h.Output(ctx, sshexec.Command{Argv: []string{"hostname"}})
		return string(out), err
	})
	if err != nil || strings.Join(got, "") != "a\nb\n" {
		t.Errorf("got %q, %v", got, err)
	}
	if n := dials.made.Load(); n != 1 {
		t.Errorf("%d connections to the first jump host", n)
	}
	await(t, "the hops to be closed with the last user", func() bool {
		sshexec.ExpireIdle(pool)
		return dials.open.Load() == 0
	})
	if err := hosts[1].Wait(withinMinutes(t)); err != nil {
		t.Errorf("second call: %v", err)
	}
}

// TestAllow checks that Options.Allow is called for every address, also behind a jump host, except for trusted targets, which use
// Options.DialTrusted.
func TestAllow(t *testing.T) {
	_, first := bastion(t, "first", sshtest.Config{})
	remote := sshtest.Start(t, sshtest.Config{})
	var judged []string
	refused := errors.New("it is local")
	var dials, trusted dialCounter
	pool := newPool(t, sshexec.Options{Dial: dials.dial, DialTrusted: trusted.dial, Allow: func(host string, port uint16) error {
		judged = append(judged, net.JoinHostPort(host, strconv.Itoa(int(port))))
		return refused
	}})
	first.Trusted = true
	behind := target(t, remote)
	behind.Via = &first
	for _, to := range []sshexec.Target{behind, target(t, remote)} {
		err := pool.Host(to).Wait(withinMinutes(t))
		if !errors.Is(err, sshexec.ErrNotAllowed) || !errors.Is(err, refused) {
			t.Errorf("%v", err)
		}
	}
	if err := pool.Host(first).Wait(withinMinutes(t)); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{remote.Addr(), remote.Addr()}, judged); diff != "" {
		t.Errorf("judged:\n%s", diff)
	}
	if dials.made.Load() != 0 || trusted.made.Load() != 1 {
		t.Errorf("%d connections, and %d to trusted addresses", dials.made.Load(), trusted.made.Load())
	}
	behind.Trusted = true
	if err := pool.Host(behind).Wait(withinMinutes(t)); err != nil {
		t.Error(err)
	}
}

// TestPoolDial connects to a server without SSH, directly and through a jump host.
func TestPoolDial(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	addr := server.Listener.Addr().String()
	_, jump := bastion(t, "jump", sshtest.Config{})
	jump.Trusted = true
	refused := errors.New("it is local")
	allow := func(string, uint16) error { return nil }
	var dials, trusted dialCounter
	pool := newPool(t, sshexec.Options{Dial: dials.dial, DialTrusted: trusted.dial, Allow: func(host string, port uint16) error { return allow(host, port) }})
	for _, via := range []*sshexec.Target{nil, &jump} {
		conn, err := pool.DialContext(withinMinutes(t), via, addr)
		if err != nil {
			t.Fatal(err)
		}
		_, err = conn.Write([]byte("GET / HTTP/1.0\r\n\r\n"))
		if answer, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(answer, "404") {
			t.Errorf("%q, %v", answer, err)
		}
		if err := errors.Join(err, conn.Close()); err != nil {
			t.Error(err)
		}
	}
	if dials.made.Load() != 1 || trusted.made.Load() != 1 {
		t.Errorf("%d connections, and %d to the jump host", dials.made.Load(), trusted.made.Load())
	}
	allow = func(string, uint16) error { return refused }
	for _, via := range []*sshexec.Target{nil, &jump} {
		if _, err := pool.DialContext(withinMinutes(t), via, addr); !errors.Is(err, sshexec.ErrNotAllowed) || !errors.Is(err, refused) {
			t.Errorf("%v", err)
		}
	}
	if err := pool.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := pool.DialContext(withinMinutes(t), nil, addr); !errors.Is(err, sshexec.ErrClosed) {
		t.Errorf("%v", err)
	}
}

// TestJumpHostFails checks that the error names the failed jump host and the reason.
func TestJumpHostFails(t *testing.T) {
	remote := sshtest.Start(t, sshtest.Config{})
	for name, c := range map[string]struct {
		spoil func(*sshtest.Host, *sshexec.Target)
		want  error
		says  string
	}{
		"down":              {func(h *sshtest.Host, _ *sshexec.Target) { h.Refuse(true) }, sshexec.ErrConnect, "first: "},
		"wrong password":    {func(_ *sshtest.Host, to *sshexec.Target) { to.Auth = []sshexec.Auth{sshexec.Password("x")} }, sshexec.ErrAuth, "first: "},
		"another host key":  {func(h *sshtest.Host, _ *sshexec.Target) { _ = h.ReplaceHostKey() }, sshexec.ErrHostKey, "first: "},
		"does not say user": {func(_ *sshtest.Host, to *sshexec.Target) { to.User = "" }, nil, "Target.Via.User: no user"},
		"a ring":            {func(_ *sshtest.Host, to *sshexec.Target) { to.Via = to }, nil, "more than 8 jump hosts"},
	} {
		t.Run(name, func(t *testing.T) {
			jump, first := bastion(t, "first", sshtest.Config{})
			c.spoil(jump, &first)
			to := target(t, remote)
			to.Via = &first
			err := newPool(t, sshexec.Options{}).Host(to).Run(withinMinutes(t), []string{"true"}, nil, nil, nil)
			if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "node1") {
				t.Errorf("got %v", err)
			}
		})
	}
	t.Run("no way from there", func(t *testing.T) {
		_, first := bastion(t, "first", sshtest.Config{})
		to := target(t, remote)
		to.Addr, to.Via = "127.0.0.1:1", &first
		err := newPool(t, sshexec.Options{}).Host(to).Run(withinMinutes(t), []string{"true"}, nil, nil, nil)
		if !errors.Is(err, sshexec.ErrConnect) || !strings.Contains(err.Error(), "first: ") || !strings.Contains(err.Error(), "127.0.0.1:1") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("cut in the middle", func(t *testing.T) {
		jump, first := bastion(t, "first", sshtest.Config{})
		to := target(t, remote)
		to.Via = &first
		host := newPool(t, sshexec.Options{}).Host(to)
		if err := host.Wait(withinMinutes(t)); err != nil {
			t.Fatal(err)
		}
		jump.CutConnections()
		if err := host.Run(withinMinutes(t), []string{"true"}, nil, nil, nil); err != nil {
			t.Errorf("the pool did not open a new connection: %v", err)
		}
	})
}
