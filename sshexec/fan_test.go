package sshexec_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/vnfkit/vnfkit/sshexec"
)

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
