package sshexec_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

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
	if err := pool.Host(target(t, remote)).Wait(withinMinutes(t)); err != nil {
		t.Error(err)
	}
}

func TestWaitGivesTheReason(t *testing.T) {
	remote := sshtest.Start(t, sshtest.Config{})
	tgt := target(t, remote)
	tgt.Auth = []sshexec.Auth{sshexec.Password("wrong-7f3a")}
	ctx, cancel := context.WithCancel(withinMinutes(t))
	dials := 0
	pool := newPool(t, sshexec.Options{Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		if dials++; dials == 2 { // the host has refused the login once
			cancel()
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	}})
	err := pool.Host(tgt).Wait(ctx)
	if !errors.Is(err, sshexec.ErrAuth) || !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "node1") {
		t.Errorf("got %v", err)
	}
	if strings.Contains(err.Error(), "7f3a") {
		t.Errorf("the password is in the error: %v", err)
	}
}

// TestWaitEndsWhereTheLoginIsRefused checks that Wait fails if a machine refuses the login for longer than Target.LoginGrace.
func TestWaitEndsWhereTheLoginIsRefused(t *testing.T) {
	remote := sshtest.Start(t, sshtest.Config{})
	tgt := target(t, remote)
	tgt.Auth = []sshexec.Auth{sshexec.Password("wrong-7f3a")}
	tgt.LoginGrace = 300 * time.Millisecond
	ctx := withinMinutes(t)
	if err := newPool(t, sshexec.Options{}).Host(tgt).Wait(ctx); !errors.Is(err, sshexec.ErrAuth) || ctx.Err() != nil {
		t.Errorf("got %v", err)
	}
}
