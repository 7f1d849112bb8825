package inprocesstest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/vnfkit/vnfkit/helmclient"
)

// api answers all with one status.
func api(t *testing.T, status int) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	t.Cleanup(s.Close)
	return s.URL
}

// calls are those that ask the API server.
func calls(ctx context.Context, c helmclient.Client) map[string]error {
	n := helmclient.Name{Release: "web"}
	out := map[string]error{}
	_, out["status"] = c.Status(ctx, n)
	_, out["list"] = c.List(ctx, helmclient.Filter{})
	_, out["install"] = c.Install(ctx, helmclient.Install{Name: n, Chart: archive(Packed(small("1.0.0")))})
	_, out["upgrade"] = c.Upgrade(ctx, helmclient.Upgrade{Install: helmclient.Install{Name: n, Chart: archive(Packed(small("1.0.0")))}})
	_, out["rollback"] = c.Rollback(ctx, helmclient.Rollback{Name: n})
	out["uninstall"] = c.Uninstall(ctx, helmclient.Uninstall{Name: n})
	return out
}

func testErrorsOfTheAPI(t *testing.T, open Open) {
	t.Parallel()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	strange := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(strange.Close)
	strange.Config.ErrorLog = nil
	for _, c := range []struct {
		name, host string
		want       error
	}{
		{"nobody there", gone.URL, helmclient.ErrUnreachable},
		{"unknown authority", strange.URL, helmclient.ErrUnreachable},
		{"no such host", "https://missing.invalid", helmclient.ErrUnreachable},
		{"401", api(t, http.StatusUnauthorized), helmclient.ErrDenied},
		{"403", api(t, http.StatusForbidden), helmclient.ErrDenied},
		{"502", api(t, http.StatusBadGateway), helmclient.ErrUnreachable},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for call, err := range calls(t.Context(), open.at(t, c.host, t.TempDir())) {
				if !errors.Is(err, c.want) {
					t.Errorf("%s: %v, want %v", call, err, c.want)
				}
				var status apierrors.APIStatus
				if answered := errors.Is(c.want, helmclient.ErrDenied); answered && !errors.As(err, &status) {
					t.Errorf("%s: %v: the API's own error is lost", call, err)
				}
			}
		})
	}
}

// testHugeAnswers: an API server that does not end its answers, or whose messages are long, fails the call with a short
// error.
func testHugeAnswers(t *testing.T, open Open) {
	t.Parallel()
	long := `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"` + strings.Repeat("x", 1<<19) + `"}`
	for name, c := range map[string]struct {
		status    int
		begin     string
		endless   bool
		wantError string
	}{
		"endless list":   {http.StatusOK, `{"kind":"SecretList","apiVersion":"v1","items":[{}`, true, "longer than 64 MiB"},
		"a long refusal": {http.StatusForbidden, long, false, "xxx"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var sent atomic.Int64
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(c.status)
				_, err := io.WriteString(w, c.begin)
				filler := strings.Repeat(",{},{},{}", 1<<13)
				for before := sent.Load(); c.endless && err == nil && sent.Load() < before+256<<20; {
					_, err = io.WriteString(w, filler)
					sent.Add(int64(len(filler)))
				}
			}))
			t.Cleanup(s.Close)
			_, err := open.at(t, s.URL, t.TempDir()).List(t.Context(), helmclient.Filter{})
			if err == nil || !strings.Contains(err.Error(), c.wantError) || len(err.Error()) > 20<<10 {
				t.Errorf("%.300v, %d bytes", err, len(fmt.Sprint(err)))
			}
			if n := sent.Load(); n > 128<<20 { // what the client does not read fills the buffers of the connection
				t.Errorf("%d MiB were read", n>>20)
			}
		})
	}
}

// testHangingAPI ends calls against an API server that never answers.
func testHangingAPI(t *testing.T, open Open) {
	t.Parallel()
	asked := make(chan struct{}, 100)
	free := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		select {
		case <-free:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(s.Close)
	t.Cleanup(func() { close(free) })
	c := open.at(t, s.URL, t.TempDir())
	mine := errors.New("enough of it")
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan map[string]error, 1)
	go func() { done <- calls(ctx, c) }()
	<-asked
	cancel(mine)
	select {
	case ended := <-done:
		for call, err := range ended {
			if !errors.Is(err, mine) {
				t.Errorf("%s: %v", call, err)
			}
		}
	case <-time.After(time.Minute):
		t.Error("the calls go on after their context has ended")
	}
}

// testOnlyOne has one operation on a release in the way of another, and none in the way of another release.
func testOnlyOne(t *testing.T, open Open) {
	t.Parallel()
	asked := make(chan struct{}, 100)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	t.Cleanup(s.Close)
	c := open.at(t, s.URL, t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = c.Uninstall(ctx, helmclient.Uninstall{Name: helmclient.Name{Release: "web"}}) })
	<-asked
	for _, n := range []helmclient.Name{{Release: "web"}, {Namespace: "default", Release: "web"}} {
		if err := c.Uninstall(ctx, helmclient.Uninstall{Name: n}); !errors.Is(err, helmclient.ErrBusy) {
			t.Errorf("%s: %v", n, err)
		}
	}
	running.Go(func() {
		err := c.Uninstall(ctx, helmclient.Uninstall{Name: helmclient.Name{Namespace: "other", Release: "web"}})
		if !errors.Is(err, context.Canceled) || errors.Is(err, helmclient.ErrBusy) {
			t.Errorf("release of another namespace: %v", err)
		}
	})
	select {
	case <-asked: // the API is asked for the other release, too
	case <-time.After(time.Minute):
		t.Error("the release of another namespace is not asked for")
	}
	cancel()
	running.Wait()
}
