package sshexec_test

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/vnfkit/vnfkit/sshexec"
)

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
			if err := pool.Host(tgt).Wait(withinMinutes(t)); err == nil || errors.Is(err, context.DeadlineExceeded) {
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
