package e2e_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/sshexec"
)

// TestRefusals: a host that must not be talked to, or does not let us in, is told from one that is away.
func TestRefusals(t *testing.T) {
	machine := newHost(t, vmhost.Spec{AskPassword: true})
	good := targetOf(t, machine)
	if err := newPool(t, sshexec.Options{}).Host(good).Wait(within(t, 10*time.Second)); err != nil {
		t.Fatal(err)
	}
	try := func(change func(*sshexec.Target), root bool) error {
		target := good
		change(&target)
		return newPool(t, sshexec.Options{}).Host(target).Exec(within(t, 20*time.Second), sshexec.Command{Argv: []string{"true"}, Root: root})
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

// TestReplacedHost: another machine at the same address is not taken for the one that was known.
func TestReplacedHost(t *testing.T) {
	keys := &keyStore{}
	target := func(m *vmhost.Host) sshexec.Target {
		to := targetOf(t, m)
		to.HostKeys = sshexec.AcceptNewHostKeys(keys)
		return to
	}
	pool := newPool(t, sshexec.Options{})
	first := newHost(t, vmhost.Spec{})
	if err := pool.Host(target(first)).Wait(within(t, 10*time.Second)); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := newHost(t, vmhost.Spec{Address: first.Address})
	pool.Forget(first.Address.String())
	err := pool.Host(target(second)).Wait(within(t, 10*time.Second))
	var mismatch *sshexec.HostKeyError
	if !errors.As(err, &mismatch) {
		t.Fatalf("got %v", err)
	}
	if len(mismatch.Known) != 1 || mismatch.Got == "" || mismatch.Known[0] == mismatch.Got ||
		!strings.Contains(err.Error(), mismatch.Known[0]) || !strings.Contains(err.Error(), mismatch.Got) {
		t.Errorf("the error does not name both fingerprints: %v", err)
	}
	renewed := target(second)
	renewed.ID = "another machine"
	if err := pool.Host(renewed).Wait(within(t, 10*time.Second)); err != nil {
		t.Errorf("under its own id: %v", err)
	}
}

// keyStore keeps host keys.
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
	if s.keys == nil {
		s.keys = map[string]string{}
	}
	s.keys[id] = key
	return nil
}

func (s *keyStore) DeleteHostKey(_ context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.keys, id)
	return nil
}

// TestBoot: a machine that refuses connections is waited for.
func TestBoot(t *testing.T) {
	machine := newHost(t, vmhost.Spec{Off: true})
	host := newPool(t, sshexec.Options{}).Host(targetOf(t, machine))
	if err := host.Exec(within(t, 10*time.Second), sshexec.Command{Argv: []string{"true"}}); !errors.Is(err, sshexec.ErrConnect) {
		t.Fatalf("before it boots: %v", err)
	}
	booted := time.AfterFunc(time.Second, func() { _ = machine.Boot() })
	defer booted.Stop()
	if err := host.Wait(within(t, 10*time.Second)); err != nil {
		t.Error(err)
	}
}

// TestPowerCut: a host that dies is noticed, though nothing ends its connections.
func TestPowerCut(t *testing.T) {
	host, machine := connect(t, vmhost.Spec{}, sshexec.Options{KeepAlive: 500 * time.Millisecond})
	result := make(chan error, 1)
	go func() {
		result <- host.Exec(within(t, 20*time.Second), sshexec.Command{Argv: []string{"sleep", "600"}})
	}()
	await(t, "the command to begin", func() bool { return sleeping(t, machine) > 0 })
	if err := machine.Kill(); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-result:
		if !errors.Is(err, sshexec.ErrDisconnected) {
			t.Errorf("got %v", err)
		}
	case <-time.After(5 * time.Second):
		t.Error("the command is still waited for")
	}
}
