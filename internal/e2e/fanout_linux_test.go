package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/sshexec"
)

// newHosts makes many hosts, several at once.
func newHosts(t testing.TB, n int, s vmhost.Spec) []*vmhost.Host {
	t.Helper()
	machines := make([]*vmhost.Host, n)
	slots := make(chan struct{}, 4)
	var making sync.WaitGroup
	for i := range machines {
		making.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			s := s
			s.Name, s.User, s.Password = fmt.Sprintf("node-%d", i), user, password
			machine, err := site.network.Create(t.Context(), s)
			if err == nil {
				err = machine.Listening(t.Context())
			}
			if err != nil {
				t.Error(err)
			}
			machines[i] = machine
		})
	}
	making.Wait()
	t.Cleanup(func() {
		for _, m := range machines {
			if m != nil {
				_ = m.Close()
			}
		}
	})
	if t.Failed() {
		t.FailNow()
	}
	return machines
}

// TestHundredHosts: commands and files for a hundred hosts, of which some are away, refuse, or fail.
func TestHundredHosts(t *testing.T) {
	needSite(t)
	begin := time.Now()
	machines := newHosts(t, 100, vmhost.Spec{})
	t.Logf("%d hosts after %s", len(machines), time.Since(begin))
	pool := newPool(t, sshexec.Options{})
	var hosts []*sshexec.Host
	for i, m := range machines {
		target := targetOf(t, m)
		switch i {
		case 7:
			target.Auth = []sshexec.Auth{sshexec.Password("wrong")}
		case 42:
			target.HostKeys = targetOf(t, machines[43]).HostKeys
		}
		hosts = append(hosts, pool.Host(target))
	}
	must(t, machines[13].Kill())
	ctx := within(t, 5*time.Minute)
	begin = time.Now()
	names, err := sshexec.Map(ctx, sshexec.Fan{Limit: 20}, hosts, func(ctx context.Context, h *sshexec.Host) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		out, err := h.Output(ctx, sshexec.Command{Shell: `hostname; if [ "$(hostname)" = node-99 ]; then echo "why it failed" >&2; exit 3; fi`})
		return strings.TrimSpace(string(out)), err
	})
	t.Logf("a command on each after %s", time.Since(begin))
	for i, name := range names {
		if want := fmt.Sprintf("node-%d", i); name != want && i != 7 && i != 13 && i != 42 && i != 99 {
			t.Errorf("result %d: %q", i, name)
		}
	}
	wantFailures(t, err, "node-7", "node-13", "node-42", "node-99")
	for _, want := range []error{sshexec.ErrAuth, sshexec.ErrHostKey, sshexec.ErrConnect} {
		if !errors.Is(err, want) {
			t.Errorf("the error is not %v", want)
		}
	}
	if exit, ok := errors.AsType[*sshexec.ExitError](err); !ok || exit.Code != 3 || exit.Host != "node-99" || exit.Stderr != "why it failed\n" {
		t.Errorf("got %#v", exit)
	}

	begin = time.Now()
	content := bytes.Repeat([]byte("0123456789abcde\n"), 4<<10)
	well := slices.Concat(hosts[50:60], hosts[99:])
	err = sshexec.Each(ctx, sshexec.Fan{}, well, func(ctx context.Context, h *sshexec.Host) error {
		return h.Upload(ctx, bytes.NewReader(content), sshexec.File{Path: "/etc/everywhere", Root: true})
	})
	must(t, err)
	t.Logf("a file on %d after %s", len(well), time.Since(begin))
}

// wantFailures checks that an error joins those of exactly these hosts, in this order.
func wantFailures(t *testing.T, err error, names ...string) {
	t.Helper()
	joined, ok := errors.AsType[interface {
		error
		Unwrap() []error
	}](err)
	if !ok {
		t.Fatalf("got %v", err)
	}
	var got []string
	for _, e := range joined.Unwrap() {
		name, _, _ := strings.Cut(e.Error(), ":")
		got = append(got, name)
	}
	if strings.Join(got, " ") != strings.Join(names, " ") {
		t.Errorf("got %q, want %q\n%v", got, names, err)
	}
}

// TestFailFast: the failure of a command on one host ends the commands on the other hosts.
func TestFailFast(t *testing.T) {
	needSite(t)
	machines := newHosts(t, 4, vmhost.Spec{})
	pool := newPool(t, sshexec.Options{})
	var hosts []*sshexec.Host
	for _, m := range machines {
		hosts = append(hosts, pool.Host(targetOf(t, m)))
	}
	must(t, sshexec.Each(within(t, time.Minute), sshexec.Fan{}, hosts, func(ctx context.Context, h *sshexec.Host) error { return h.Wait(ctx) }))
	begin := time.Now()
	err := sshexec.Each(within(t, 5*time.Minute), sshexec.Fan{FailFast: true}, hosts, func(ctx context.Context, h *sshexec.Host) error {
		return h.Exec(ctx, sshexec.Command{Root: true, Shell: `if [ "$(hostname)" = node-3 ]; then sleep 0.5; exit 9; fi; sleep 600`})
	})
	exit, ok := errors.AsType[*sshexec.ExitError](err)
	if !ok || exit.Code != 9 || exit.Host != "node-3" || !errors.Is(err, sshexec.ErrAbandoned) || time.Since(begin) > 2*time.Minute {
		t.Errorf("after %s: %v", time.Since(begin), err)
	}
	for _, m := range machines {
		await(t, "the commands to end", func() bool { return sleeping(t, m) == 0 })
	}
}
