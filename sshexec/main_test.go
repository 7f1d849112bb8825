package sshexec_test

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// target returns a target with the credentials of a simulated host.
func target(t *testing.T, h *sshtest.Host) sshexec.Target {
	t.Helper()
	keys, err := sshexec.PinnedHostKeys(h.PublicKey())
	if err != nil {
		t.Fatal(err)
	}
	return sshexec.Target{
		ID: "vm-1", Name: "node1", Addr: h.Addr(), User: "ubuntu",
		Auth: []sshexec.Auth{sshexec.Password("ubuntu")}, HostKeys: keys,
	}
}

// newPool returns a pool that takes no host for silent because the machine is slow.
func newPool(t *testing.T, o sshexec.Options) *sshexec.Pool {
	t.Helper()
	pool := sshexec.NewPool(o)
	sshexec.SetAnswerLimit(pool, time.Minute)
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	})
	return pool
}

// connect starts a simulated host and returns it and the Host that connects to it.
func connect(t *testing.T, c sshtest.Config) (*sshexec.Host, *sshtest.Host) {
	t.Helper()
	remote := sshtest.Start(t, c)
	return newPool(t, sshexec.Options{}).Host(target(t, remote)), remote
}

// withinMinutes returns a context for a step of a test that must succeed, also on a much slower machine.
func withinMinutes(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
