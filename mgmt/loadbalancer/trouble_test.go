package loadbalancer_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/internal/fulltest"
	"github.com/vnfkit/vnfkit/mgmt/loadbalancer"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// TestOvertaken: another process is faster with the next change, and dies before it reloads haproxy.
func TestOvertaken(t *testing.T) {
	t.Parallel()
	s, other := newSite(t), newSite(t)
	for _, site := range []*site{s, other} {
		if err := site.Put(t.Context(), "cluster/c", loadbalancer.Cluster(0, servers("m1"), nil)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(other.Put(t.Context(), "cnf/a", service("web", 30080)), other.Put(t.Context(), "cnf/b", service("web", 30081))); err != nil {
		t.Fatal(err)
	}
	times := 0
	s.reloaded = func() {
		if times++; times > 1 {
			return
		}
		for _, name := range []string{loadbalancer.PartsFile, loadbalancer.ConfigFile} {
			if err := afero.WriteFile(s.host.FS(), name, []byte(other.file(name)), 0o600); err != nil {
				t.Error(err)
			}
		}
	}
	if err := s.Put(t.Context(), "cnf/a", service("web", 30080)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{8383, 30080, 30081}, s.serving); diff != "" || times != 2 {
		t.Errorf("%d reloads: %s", times, diff)
	}
}

// TestBefore: only what is not ours is kept, and only once.
func TestBefore(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	put := func() {
		t.Helper()
		if err := s.Put(t.Context(), "cluster/c", loadbalancer.Cluster(0, servers("m1"), nil)); err != nil {
			t.Fatal(err)
		}
	}
	const kept = loadbalancer.ConfigFile + ".before-vnfkit"
	put()
	put()
	if text := s.file(kept); text != "" {
		t.Errorf("kept: %s", text)
	}
	if err := errors.Join(afero.WriteFile(s.host.FS(), kept, []byte("theirs"), 0o600), s.host.FS().Remove(loadbalancer.PartsFile)); err != nil {
		t.Fatal(err)
	}
	put()
	if text := s.file(kept); text != "theirs" {
		t.Errorf("kept: %s", text)
	}
}

// TestCutAnywhere: the connection breaks before each command of a Put, and after it the Put is done again.
// Unless VNFKIT_FULL is set, it takes every eighth command.
func TestCutAnywhere(t *testing.T) {
	t.Parallel()
	undisturbed := newSite(t)
	undisturbed.linger = 0
	put := func(s *site) error {
		if err := s.Put(t.Context(), "cluster/c", loadbalancer.Cluster(0, servers("m1"), servers("w1"))); err != nil {
			return err
		}
		return s.Put(t.Context(), "cnf/a", service("web", 30080))
	}
	if err := put(undisturbed); err != nil {
		t.Fatal(err)
	}
	n := len(undisturbed.host.Commands())
	if n < 40 {
		t.Fatalf("only %d commands", n)
	}
	stride := 1
	if !fulltest.Enabled() {
		stride = 8
	}
	for cut := 0; cut < n; cut += stride {
		s := newSite(t)
		s.linger = 0
		seen := 0
		var mu sync.Mutex
		s.host.OnCommand(func(sshtest.Record) {
			mu.Lock()
			defer mu.Unlock()
			if seen++; seen == cut+1 {
				s.host.CutConnections()
			}
		})
		first := put(s)
		if first != nil && !errors.Is(first, sshexec.ErrDisconnected) {
			t.Errorf("cut %d: %v", cut, first)
		}
		// Another process is next, and must find consistent files.
		if err := s.Put(t.Context(), "cnf/z", loadbalancer.Part{}); err != nil {
			t.Errorf("cut %d: somebody else: %v", cut, err)
		}
		if err := errors.Join(put(s), s.Remove(t.Context(), "cnf/z")); err != nil {
			t.Errorf("cut %d: %v", cut, err)
		}
		for _, name := range []string{loadbalancer.ConfigFile, loadbalancer.PartsFile} {
			if diff := cmp.Diff(undisturbed.file(name), s.file(name)); diff != "" {
				t.Errorf("cut %d: %s:\n%s", cut, name, diff)
			}
		}
		if diff := cmp.Diff([]int{8383, 30080}, s.serving); diff != "" {
			t.Errorf("cut %d: %s", cut, diff)
		}
	}
}

// TestRefused: what haproxy or the machine does not take changes nothing.
func TestRefused(t *testing.T) {
	t.Parallel()
	complaint := ""
	s := newSite(t, func(c *sshtest.Config) {
		check := c.Commands["haproxy"]
		c.Commands["haproxy"] = func(ctx context.Context, p *sshtest.Process) int {
			if complaint != "" {
				return fail(p, 1, complaint)
			}
			return check(ctx, p)
		}
	})
	ctx := t.Context()
	if err := s.Put(ctx, "cluster/c", loadbalancer.Cluster(0, servers("m1"), nil)); err != nil {
		t.Fatal(err)
	}
	before := s.file(loadbalancer.ConfigFile) + s.file(loadbalancer.PartsFile)
	complaint = "[NOTICE]   (1) : haproxy version is 2.0\n[ALERT]    (1) : config : parsing [x:3] : unknown keyword 'tcp-ut'\n[ALERT]    (1) : config : Fatal errors found in configuration."
	err := s.Put(ctx, "cnf/a", service("web", 30080))
	if exit, ok := errors.AsType[*sshexec.ExitError](err); !ok || exit.Code != 1 || !strings.Contains(err.Error(), "unknown keyword 'tcp-ut'") {
		t.Error(err)
	}
	complaint = ""
	s.others = []string{`LISTEN 0 128 [::]:30080 [::]:* users:(("my \"web",pid=7,fd=3))`, `LISTEN 0 64 0.0.0.0:2049 0.0.0.0:*`}
	if err := s.Put(ctx, "cnf/a", service("web", 30080)); err == nil || !strings.Contains(err.Error(), "port 30080, which cnf/a wants, is taken by") {
		t.Error(err)
	}
	if err := s.Put(ctx, "cnf/a", service("web", 2049)); !isPort(err, "cnf/a", `"the kernel" on the machine`) {
		t.Error(err)
	}
	if before != s.file(loadbalancer.ConfigFile)+s.file(loadbalancer.PartsFile) {
		t.Error("the files have changed")
	}
	// Another program has written invalid parts.
	for _, text := range []string{"{", `{"parts":{"cnf/x":{"groups":{"g":[{"id":"a","name":"a\nb","address":"1.2.3.4"}]}}}}`} {
		if err := afero.WriteFile(s.host.FS(), loadbalancer.PartsFile, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := s.Put(ctx, "cnf/a", service("web", 30081)); err == nil || s.file(loadbalancer.PartsFile) != text {
			t.Errorf("%s is replaced: %v", text, err)
		}
	}
}

// TestNoTakeOver: a reload that leads to nothing is noticed.
func TestNoTakeOver(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	if err := s.Put(t.Context(), "cluster/c", loadbalancer.Cluster(0, servers("m1"), nil)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	s.mu.Lock()
	s.stuck = true
	s.mu.Unlock()
	var reloaded, looks atomic.Int32
	s.host.OnCommand(func(r sshtest.Record) {
		switch {
		case r.Argv[0] == "systemctl" && slices.Contains(r.Argv, "reload-or-restart"):
			reloaded.Add(1)
		case r.Argv[0] == "ss" && reloaded.Load() > 0 && looks.Add(1) == 3:
			cancel(errors.New("enough"))
		}
	})
	err := s.Put(ctx, "cnf/a", service("web", 30080))
	if err == nil || !strings.Contains(err.Error(), "take over") || !strings.Contains(err.Error(), "enough") {
		t.Error(err)
	}
}
