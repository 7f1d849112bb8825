package nfvo_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/internal/nfvotest"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/sol003/nfvo"
)

// callback is the server of a VNFM for notifications. It records passwords.
type callback struct {
	*httptest.Server
	mu        sync.Mutex
	handler   http.Handler
	passwords []string
}

func newCallback(t *testing.T) *callback {
	t.Helper()
	c := &callback{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		handler := c.handler
		if _, password, is := r.BasicAuth(); is {
			c.passwords = append(c.passwords, password)
		}
		c.mu.Unlock()
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *callback) setHandler(h http.Handler) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.handler = h
}

// lastPassword returns the password of the latest request.
func (c *callback) lastPassword() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.passwords) == 0 {
		return ""
	}
	return c.passwords[len(c.passwords)-1]
}

// follow starts a VNFM that subscribes to notifications, which it gets until stop is called.
func (w *world) follow(t *testing.T, at *callback, log *lockedBuffer) (m *vnfm, stop func()) {
	t.Helper()
	m = w.start(t, func(s *settings) {
		s.options.Callback = at.URL + "/nfvo/packages"
		s.options.Logger = slog.New(slog.NewTextHandler(log, nil))
	})
	at.setHandler(m.packages)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = m.packages.Run(ctx) })
	stop = func() { cancel(); running.Wait() }
	t.Cleanup(stop)
	return m, stop
}

// await waits until a condition holds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(what)
		}
	}
}

// TestNotifications receives notifications of a package. A package that the NFVO has deleted leaves the cache unless an instance has it.
func TestNotifications(t *testing.T) {
	t.Parallel()
	w, at := newWorld(t), newCallback(t)
	used, unused := w.put(t, "used", "vnfd"), w.put(t, "unused", "other")
	log := &lockedBuffer{}
	m, stop := w.follow(t, at, log)
	await(t, "there is no subscription", func() bool { return w.Subscriptions() == 1 })
	m.create(t, "vnfd")
	must(t, m.Delete(t.Context(), m.create(t, "other").ID, ""))
	states := func() (out []string) {
		list, err := m.packages.List(t.Context())
		must(t, err)
		for _, p := range list {
			out = append(out, p.ID+" "+string(p.State))
		}
		return out
	}
	notify := func(p nfvotest.Package, change string, want ...string) {
		t.Helper()
		if diff := cmp.Diff([]int{http.StatusNoContent}, w.Notify(p, change)); diff != "" {
			t.Errorf("the answers to the notification:\n%s", diff)
		}
		if diff := cmp.Diff(want, states()); diff != "" {
			t.Errorf("after %q of %s:\n%s", change, p.ID, diff)
		}
	}
	notify(used, "", "unused ENABLED", "used ENABLED")
	used.Disabled = true
	notify(used, "OP_STATE_CHANGE", "unused ENABLED", "used DISABLED")
	used.Disabled = false
	notify(used, "OP_STATE_CHANGE", "unused ENABLED", "used ENABLED")
	notify(nfvotest.Package{ID: "unknown", VnfdID: "unknown"}, "OP_STATE_CHANGE", "unused ENABLED", "used ENABLED")
	notify(unused, "PKG_DELETE", "used ENABLED")
	notify(used, "PKG_DELETE", "used DELETED")
	w.wantFiles(t, 1, 0)
	stop()
	if password := at.lastPassword(); password == "" || strings.Contains(log.String(), password) {
		t.Errorf("the password %q of the subscription is in the log:\n%s", password, log.String())
	}
}

// TestSenders: only the NFVO can send notifications.
func TestSenders(t *testing.T) {
	t.Parallel()
	w, at := newWorld(t), newCallback(t)
	log := &lockedBuffer{}
	_, stop := w.follow(t, at, log)
	defer stop()
	await(t, "there is no subscription", func() bool { return w.Subscriptions() == 1 })
	valid := `{"notificationType":"VnfPackageChangeNotification","vnfPkgId":"p","changeType":"PKG_DELETE"}`
	for name, tt := range map[string]struct {
		method, user, password, body string
		want                         int
	}{
		"test of the URI":   {method: http.MethodGet, want: 204},
		"other method":      {method: http.MethodPut, want: 405},
		"no password":       {method: http.MethodPost, body: valid, want: 401},
		"wrong password":    {method: http.MethodPost, user: "nfvo", password: "wrong", body: valid, want: 401},
		"wrong user":        {method: http.MethodPost, user: "vnfm", password: at.lastPassword(), body: valid, want: 401},
		"the NFVO":          {method: http.MethodPost, user: "nfvo", password: at.lastPassword(), body: valid, want: 204},
		"no JSON":           {method: http.MethodPost, user: "nfvo", password: at.lastPassword(), body: "x", want: 400},
		"no package":        {method: http.MethodPost, user: "nfvo", password: at.lastPassword(), body: `{"notificationType":"VnfPackageOnboardingNotification"}`, want: 400},
		"other type":        {method: http.MethodPost, user: "nfvo", password: at.lastPassword(), body: `{"notificationType":"X","vnfPkgId":"p"}`, want: 400},
		"no state":          {method: http.MethodPost, user: "nfvo", password: at.lastPassword(), body: strings.ReplaceAll(valid, "PKG_DELETE", "OP_STATE_CHANGE"), want: 400},
		"long notification": {method: http.MethodPost, user: "nfvo", password: at.lastPassword(), body: `{"x":"` + strings.Repeat("x", 1<<20), want: 413},
	} {
		request, err := http.NewRequestWithContext(t.Context(), tt.method, at.URL, strings.NewReader(tt.body))
		must(t, err)
		if tt.user != "" {
			request.SetBasicAuth(tt.user, tt.password)
		}
		answer, err := at.Client().Do(request)
		must(t, err)
		must(t, answer.Body.Close())
		if answer.StatusCode != tt.want {
			t.Errorf("%s: %d, want %d", name, answer.StatusCode, tt.want)
		}
	}
}

// TestSubscription: the subscription survives the process, is made again if the NFVO has lost it or knows another password, and follows
// the callback URI. States that were not notified are read.
func TestSubscription(t *testing.T) {
	t.Parallel()
	w, at, moved := newWorld(t), newCallback(t), newCallback(t)
	p := w.put(t, "p", "vnfd")
	log := &lockedBuffer{}
	m, stop := w.follow(t, at, log)
	await(t, "there is no subscription", func() bool { return w.Subscriptions() == 1 })
	m.create(t, "vnfd")
	stop()
	first := at.lastPassword()

	_, stop = w.follow(t, at, log)
	w.Notify(p, "")
	stop()
	if at.lastPassword() != first || w.Subscriptions() != 1 {
		t.Errorf("another process has made another subscription: %d", w.Subscriptions())
	}

	w.DropSubscriptions()
	w.Remove(p.ID)
	m, stop = w.follow(t, at, log)
	await(t, "the state was not read", func() bool {
		list, err := m.packages.List(t.Context())
		must(t, err)
		return len(list) == 1 && list[0].State == nfvo.Deleted
	})
	stop()

	_, stop = w.follow(t, moved, log)
	await(t, "the subscription does not follow the callback URI", func() bool { return w.Subscriptions() == 1 && w.Callback() == moved.URL+"/nfvo/packages" })
	stop()

	// Another Store has no subscription, while the NFVO has one for the callback URI.
	other := newWorld(t)
	other.Packages = w.Packages
	_, stop = other.follow(t, moved, log)
	await(t, "the password was not replaced", func() bool {
		statuses := w.Notify(p, "")
		return len(statuses) == 1 && statuses[0] == http.StatusNoContent
	})
	stop()
	if password := moved.lastPassword(); password == "" || strings.Contains(log.String(), password) {
		t.Error("a password is in the log")
	}
}

// TestRefusedSubscription: the reason of the NFVO may quote the password. It is not logged.
func TestRefusedSubscription(t *testing.T) {
	t.Parallel()
	w, at := newWorld(t), newCallback(t)
	at.handler = http.NotFoundHandler()
	log := &lockedBuffer{}
	m := w.start(t, func(s *settings) {
		s.options.Callback = at.URL + "/wrong"
		s.options.Logger = slog.New(slog.NewTextHandler(log, nil))
	})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = m.packages.Run(ctx) })
	await(t, "nothing was logged", func() bool { return strings.Contains(log.String(), "422 Unprocessable Entity") })
	cancel()
	running.Wait()
	if password := at.lastPassword(); password == "" || strings.Contains(log.String(), password) {
		t.Errorf("the password %q is in the log:\n%s", password, log.String())
	}
	_, err := m.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: "unknown"})
	wantError(t, "create", err, vnflcm.ErrNoPackage)
}

// lockedBuffer is a buffer for several goroutines.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
