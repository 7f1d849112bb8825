package sshexec_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

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

func TestFailFast(t *testing.T) {
	pool := newPool(t, sshexec.Options{})
	var hosts []*sshexec.Host
	for _, name := range []string{"a", "b", "c", "d"} {
		hosts = append(hosts, pool.Host(sshexec.Target{Name: name}))
	}
	errFull := errors.New("disk full")
	running := make(chan struct{})
	var calls atomic.Int32
	results, err := sshexec.Map(t.Context(), sshexec.Fan{Limit: 3, FailFast: true}, hosts, func(ctx context.Context, h *sshexec.Host) (string, error) {
		calls.Add(1)
		switch h.Name() {
		case "a":
			close(running)
			return "done", nil
		case "b":
			<-running
			return "half", errFull
		}
		<-ctx.Done() // until the remaining calls are cancelled
		return "", context.Cause(ctx)
	})
	if diff := cmp.Diff([]string{"done", "", "", ""}, results); diff != "" {
		t.Error(diff)
	}
	if !errors.Is(err, errFull) || !errors.Is(err, sshexec.ErrAbandoned) {
		t.Errorf("got %v", err)
	}
	want := "b: disk full\nc: given up: b has failed\nd: given up: b has failed"
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Error(diff)
	}
	if results, err := sshexec.Map(t.Context(), sshexec.Fan{}, nil, func(context.Context, *sshexec.Host) (int, error) { return 1, nil }); err != nil || len(results) != 0 {
		t.Errorf("without hosts: %v, %v", results, err)
	}
}
