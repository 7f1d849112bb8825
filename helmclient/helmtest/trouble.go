package helmtest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/internal/retry"
)

// short is the timeout of waits for objects that never become ready. Helm also gives it to the rollback of an atomic
// operation, whose objects must become ready in this time on a busy machine too.
const short = 15 * time.Second

// notReady checks that an error names a Deployment that is not ready, and the reason.
func notReady(t *testing.T, what string, err error, name string) {
	t.Helper()
	var detail *helmclient.NotReadyError
	if !errors.As(err, &detail) || !errors.Is(err, helmclient.ErrNotReady) {
		t.Fatalf("%s: %v, want a NotReadyError", what, err)
	}
	i := slices.IndexFunc(detail.Objects, func(o helmclient.Object) bool { return o.Name == name })
	if i < 0 || detail.Objects[i].Reason == "" {
		t.Fatalf("%s: %v, want it to name %s with a reason", what, err, name)
	}
}

func testNeverReady(t *testing.T, s *suite) {
	n := s.name("never")
	var mu sync.Mutex
	var told []helmclient.Progress
	r := helmclient.Install{
		Name: n, Chart: given(pack(t, "web", "1.0.0", web())), Values: helmclient.Values{Map: s.never()},
		Wait: helmclient.Wait{Ready: true, Timeout: short, Progress: func(p helmclient.Progress) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, p)
		}},
	}
	_, err := s.Client.Install(s.ctx, r)
	notReady(t, "install", err, "never-web")
	if !strings.Contains(err.Error(), "pod never-web-") {
		t.Errorf("%v: does not say what the pod waits for", err)
	}
	s.stands(t, n, 1, helmclient.Failed)
	mu.Lock()
	defer mu.Unlock()
	if !slices.ContainsFunc(told, func(p helmclient.Progress) bool { return p.Total == 3 && p.Ready == 2 && len(p.Waiting) == 1 }) {
		t.Errorf("progress: %+v, want 2 of 3", told)
	}
	_, err = s.Client.Install(s.ctx, r)
	is(t, "install over a failed one", err, helmclient.ErrExists)

	r.Values, r.Wait = helmclient.Values{}, helmclient.Wait{Ready: true, Timeout: time.Minute}
	if _, err := s.Client.Upgrade(s.ctx, helmclient.Upgrade{Install: r, Reuse: helmclient.ReuseReset}); err != nil {
		t.Fatal(err)
	}
	s.hasHistory(t, n, helmclient.Superseded, helmclient.Deployed) // a failed one too, Helm has it so
}

func testAtomic(t *testing.T, s *suite) {
	n := s.name("atomic")
	good := helmclient.Install{Name: n, Chart: given(pack(t, "web", "1.0.0", web())), Wait: helmclient.Wait{Timeout: short}, Atomic: true}
	bad := good
	bad.Values = helmclient.Values{Map: s.never()}
	_, err := s.Client.Install(s.ctx, bad)
	notReady(t, "install", err, "atomic-web")
	_, err = s.Client.Status(s.ctx, n)
	is(t, "status after a failed atomic install", err, helmclient.ErrNotFound)
	if s.get(t, configMaps, "atomic-config") != nil {
		t.Error("objects of a failed atomic install are left")
	}

	good.Timeout = time.Minute
	s.install(t, good)
	_, err = s.Client.Upgrade(s.ctx, helmclient.Upgrade{Install: bad})
	notReady(t, "upgrade", err, "atomic-web")
	s.hasHistory(t, n, helmclient.Superseded, helmclient.Failed, helmclient.Deployed)
}

// testCancel cancels an install during its wait, while other calls try to change the same release.
func testCancel(t *testing.T, s *suite) {
	n := s.name("cancel")
	r := helmclient.Install{
		Name: n, Chart: given(pack(t, "web", "1.0.0", web())), Values: helmclient.Values{Map: s.never()},
		Wait: helmclient.Wait{Ready: true, Timeout: patience},
	}
	mine := errors.New("enough of it")
	ctx, cancel := context.WithCancelCause(s.ctx)
	defer cancel(nil)
	ended := make(chan error, 1)
	go func() {
		_, err := s.Client.Install(ctx, r)
		ended <- err
	}()
	s.until(t, func() bool {
		now, err := s.Client.Status(s.ctx, n)
		return err == nil && now.State == helmclient.PendingInstall && s.get(t, deployments, "cancel-web") != nil
	})
	_, err := s.Client.Upgrade(s.ctx, helmclient.Upgrade{Install: r})
	is(t, "upgrade meanwhile", err, helmclient.ErrBusy)
	is(t, "uninstall meanwhile", s.Client.Uninstall(s.ctx, helmclient.Uninstall{Name: n}), helmclient.ErrBusy)

	cancel(mine)
	begun := time.Now()
	is(t, "cancelled install", <-ended, mine)
	if took := time.Since(begun); took > time.Minute { // less than patience, for which the install would wait
		t.Errorf("it took %v to stop", took)
	}
	s.stands(t, n, 1, helmclient.Failed)
	if err := s.Client.Uninstall(s.ctx, helmclient.Uninstall{Name: n}); err != nil {
		t.Error(err)
	}
	_, err = s.Client.Install(ctx, r)
	is(t, "call with a context that has ended", err, mine)
}

// until waits until something is so.
func (s *suite) until(t *testing.T, so func() bool) {
	t.Helper()
	err := retry.Policy{First: 100 * time.Millisecond, Most: 100 * time.Millisecond, Within: patience}.Do(s.ctx, func() error {
		if so() {
			return nil
		}
		return errors.New("is not so yet")
	})
	if err != nil {
		t.Fatal(err)
	}
}

// busyThenStale checks that an operation of another client is left alone unless it is old enough.
func busyThenStale(t *testing.T, n helmclient.Name, state helmclient.State, do func(stale time.Duration) error) {
	t.Helper()
	for _, stale := range []time.Duration{0, 2 * time.Hour} {
		err := do(stale)
		var detail *helmclient.StaleError
		if !errors.As(err, &detail) || !errors.Is(err, helmclient.ErrBusy) {
			t.Fatalf("%s: stale after %v: %v, want a StaleError that is busy", n, stale, err)
		}
		if age := time.Since(detail.Since); detail.State != state || detail.Release != n || age < 50*time.Minute || age > 70*time.Minute {
			t.Errorf("%s: %+v", n, detail)
		}
	}
	if err := do(30 * time.Minute); err != nil {
		t.Fatal(err)
	}
}

func testStaleInstall(t *testing.T, s *suite) {
	n := s.name("stale")
	r := helmclient.Install{Name: n, Chart: given(pack(t, "small", "1.0.0", small()))}
	s.install(t, r)
	s.stick(t, n, 1, 1, helmclient.PendingInstall, time.Hour)
	busyThenStale(t, n, helmclient.PendingInstall, func(stale time.Duration) error {
		r.Stale = stale
		_, err := s.Client.Install(s.ctx, r)
		return err
	})
	list := s.hasHistory(t, n, helmclient.Failed, helmclient.Deployed)
	if !strings.Contains(list[0].Description, string(helmclient.PendingInstall)) {
		t.Errorf("description %q does not say why it has failed", list[0].Description)
	}
}

func testStaleUpgrade(t *testing.T, s *suite) {
	r := helmclient.Install{Chart: given(pack(t, "small", "1.0.0", small())), Values: helmclient.Values{Set: []string{"text=new"}}}
	for _, state := range []helmclient.State{helmclient.PendingUpgrade, helmclient.PendingRollback} {
		n := s.name(string(state))
		r.Name = n
		s.install(t, r)
		s.stick(t, n, 1, 2, state, time.Hour)
		busyThenStale(t, n, state, func(stale time.Duration) error {
			r.Stale = stale
			_, err := s.Client.Upgrade(s.ctx, helmclient.Upgrade{Install: r})
			return err
		})
		s.hasHistory(t, n, helmclient.Superseded, helmclient.Failed, helmclient.Deployed)

		s.stick(t, n, 3, 4, state, time.Hour)
		busyThenStale(t, n, state, func(stale time.Duration) error {
			_, err := s.Client.Rollback(s.ctx, helmclient.Rollback{Name: n, Revision: 1, Stale: stale})
			return err
		})
		s.hasHistory(t, n, helmclient.Superseded, helmclient.Failed, helmclient.Superseded, helmclient.Failed, helmclient.Deployed)

		s.stick(t, n, 5, 6, state, time.Hour)
		r.Stale = 30 * time.Minute
		_, err := s.Client.Install(s.ctx, r)
		is(t, "install over a release left by an upgrade", err, helmclient.ErrExists)
	}
}

func testStaleUninstall(t *testing.T, s *suite) {
	for _, state := range []helmclient.State{helmclient.PendingInstall, helmclient.Uninstalling} {
		n := s.name(string(state))
		s.install(t, helmclient.Install{Name: n, Chart: given(pack(t, "small", "1.0.0", small()))})
		s.stick(t, n, 1, 1, state, time.Hour)
		if err := s.Client.Uninstall(s.ctx, helmclient.Uninstall{Name: n}); err != nil {
			t.Fatal(err)
		}
		_, err := s.Client.Status(s.ctx, n)
		is(t, "status", err, helmclient.ErrNotFound)
		if s.get(t, configMaps, n.Release+"-config") != nil {
			t.Error("objects are left")
		}
	}
}

// calls are all methods that take a name.
func (s *suite) calls(t *testing.T, n helmclient.Name) map[string]error {
	t.Helper()
	out := map[string]error{}
	_, out["status"] = s.Client.Status(s.ctx, n)
	_, out["history"] = s.Client.History(s.ctx, n)
	_, out["values"] = s.Client.Values(s.ctx, n, 0, false)
	_, out["values of a revision"] = s.Client.Values(s.ctx, n, 3, true)
	_, out["manifest"] = s.Client.Manifest(s.ctx, n, 0)
	_, out["rollback"] = s.Client.Rollback(s.ctx, helmclient.Rollback{Name: n})
	_, out["upgrade"] = s.Client.Upgrade(s.ctx, helmclient.Upgrade{Install: helmclient.Install{
		Name: n, Chart: given(pack(t, "small", "1.0.0", small())),
	}})
	out["uninstall"] = s.Client.Uninstall(s.ctx, helmclient.Uninstall{Name: n})
	return out
}

func testMissing(t *testing.T, s *suite) {
	for what, err := range s.calls(t, s.name("missing")) {
		is(t, what, err, helmclient.ErrNotFound)
	}
}

func testBadNames(t *testing.T, s *suite) {
	for _, n := range []helmclient.Name{
		{Namespace: s.namespace}, s.name("Web"), s.name("--help"), s.name("a; touch b"), s.name("$(id)"), s.name("../a"),
		{Namespace: "a b", Release: "web"}, {Namespace: "--all-namespaces", Release: "web"},
	} {
		calls := s.calls(t, n)
		r := helmclient.Install{Name: n, Chart: given(pack(t, "small", "1.0.0", small()))}
		_, calls["install"] = s.Client.Install(s.ctx, r)
		_, calls["template"] = s.Client.Template(s.ctx, r)
		for what, err := range calls {
			is(t, what+" "+n.String(), err, helmclient.ErrInvalid)
		}
	}
}
