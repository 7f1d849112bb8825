package onboarding_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/onboarding"
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

const (
	user     = "vendor"
	password = "s3cr3t-canary"
)

// catalog starts a server of packages with correct and hostile answers.
func catalog(t *testing.T, content []byte) (*httptest.Server, *httptest.Server) {
	t.Helper()
	stop := make(chan struct{})
	stolen := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, _, has := r.BasicAuth(); has || r.Referer() != "" {
			t.Errorf("another host gets the login or the referer %q", r.Referer())
		}
		_, _ = w.Write(content)
	}))
	t.Cleanup(stolen.Close)
	mux := http.NewServeMux()
	mux.HandleFunc("/good", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(content) })
	mux.HandleFunc("/login", func(w http.ResponseWriter, r *http.Request) {
		if name, secret, _ := r.BasicAuth(); name != user || secret != password {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		_, _ = w.Write(content)
	})
	mux.HandleFunc("/endless", func(w http.ResponseWriter, _ *http.Request) {
		for {
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	})
	mux.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "9000000000") })
	mux.HandleFunc("/short", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100000")
		_, _ = w.Write([]byte("PK"))
	})
	mux.HandleFunc("/stalled", func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("PK"))
		_ = http.NewResponseController(w).Flush()
		select {
		case <-r.Context().Done():
		case <-stop:
		}
	})
	mux.HandleFunc("/silent", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-stop:
		}
	})
	mux.HandleFunc("/drip", func(w http.ResponseWriter, r *http.Request) {
		every := time.NewTicker(5 * time.Millisecond)
		defer every.Stop()
		for {
			select {
			case <-r.Context().Done():
				return
			case <-every.C:
			}
			_, _ = w.Write([]byte("x"))
			_ = http.NewResponseController(w).Flush()
		}
	})
	mux.HandleFunc("/banner", func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = conn.Write([]byte("SSH-2.0-t0ken\r\n"))
		_ = conn.Close()
	})
	mux.Handle("/elsewhere", http.RedirectHandler(stolen.URL+"/good", http.StatusFound))
	mux.Handle("/metadata", http.RedirectHandler("http://169.254.169.254/latest/meta-data", http.StatusFound))
	mux.Handle("/loop", http.RedirectHandler("/loop", http.StatusFound))
	mux.Handle("/file", http.RedirectHandler("file:///etc/passwd", http.StatusFound))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(stop) })
	return server, stolen
}

// TestFetch fetches packages from correct and hostile servers. The reason of a failure must contain neither the URI nor the password.
func TestFetch(t *testing.T) {
	t.Parallel()
	content := csar(t, "fetch", nil)
	server, _ := catalog(t, content)
	fetching := func(stall, whole time.Duration) *process {
		return site{dir: t.TempDir(), store: store.NewMemory()}.start(t, func(o *onboarding.Options) {
			o.AllowHTTP, o.Allow, o.MaxSize = true, outbound.Except(netip.MustParsePrefix("127.0.0.0/8")), 10<<20
			o.StallTimeout, o.FetchTimeout = stall, whole
		})
	}
	patient, hasty, short := fetching(0, 0), fetching(100*time.Millisecond, 0), fetching(0, 100*time.Millisecond)
	processes := map[string]*process{"/stalled": hasty, "/silent": hasty, "/drip": short}
	for path, want := range map[string]string{
		"/good?token=t0ken":  "",
		"/login":             "",
		"/elsewhere":         "",
		"/unknown?t=t0ken":   "404",
		"/endless":           "at most 10485760 bytes",
		"/large":             "at most 10485760 bytes",
		"/short":             "unexpected EOF",
		"/stalled":           "no byte has arrived",
		"/silent":            "no byte has arrived",
		"/drip":              "within 100ms",
		"/metadata":          "not allowed",
		"/banner":            "HTTP server",
		"/loop":              "redirects",
		"/file":              "another scheme",
		"http://localhost:1": "refused",
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			uri := server.URL + path
			if strings.HasPrefix(path, "http") {
				uri = path
			}
			p, tenant := processes[path], "tenant of "+path
			if p == nil {
				p = patient
			}
			id := p.create(t, tenant)
			must(t, p.UploadFromURI(t.Context(), tenant, id, onboarding.Address{URI: uri, User: user, Password: vnflcm.NewSecret(password)}))
			if want == "" {
				p.await(t, id, onboarding.Onboarded)
				return
			}
			info := p.await(t, id, onboarding.Failed)
			if d := info.OnboardingFailureDetails; !strings.Contains(d.Detail, want) || strings.Contains(fmt.Sprint(d), password) || strings.Contains(fmt.Sprint(d), "t0ken") {
				t.Errorf("the reason is %q, want %q", d.Detail, want)
			}
			must(t, p.Upload(t.Context(), tenant, id, bytes.NewReader(content), -1))
			p.await(t, id, onboarding.Onboarded)
		})
	}
}

// TestAddress checks addresses that are refused before the repository connects.
func TestAddress(t *testing.T) {
	t.Parallel()
	p := site{dir: t.TempDir(), store: store.NewMemory()}.start(t, nil)
	id := p.create(t, "")
	for _, uri := range []string{"", "x", "http://example.com/a", "https:a", "file:///etc/passwd", "https://u:p@example.com/a", "https://127.0.0.1/a", "https://localhost/a",
		"https://169.254.169.254/a", "https://[::1]/a", "https://0x7f000001/a", "https://example.com/" + strings.Repeat("a", 3000), "https://example.com/%zz", "ftp://example.com/a"} {
		wantError(t, uri, p.UploadFromURI(t.Context(), "", id, onboarding.Address{URI: uri}), vnflcm.ErrInvalidRequest)
	}
	if info, err := p.Get(t.Context(), "", id); err != nil || info.OnboardingState != onboarding.Created {
		t.Errorf("%+v, %v", info, err)
	}
}

// TestFetchAgain ends a process during a fetch. The next process must begin the fetch again.
func TestFetchAgain(t *testing.T) {
	t.Parallel()
	content := csar(t, "again", nil)
	asked, first := make(chan struct{}, 10), make(chan struct{}, 1)
	first <- struct{}{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		select {
		case <-first:
			<-r.Context().Done()
		default:
			_, _ = w.Write(content)
		}
	}))
	t.Cleanup(server.Close)
	s := site{dir: t.TempDir(), store: store.NewMemory()}
	local := func(o *onboarding.Options) { o.AllowHTTP, o.Allow = true, outbound.AllowAny }
	p := s.start(t, local)
	id := p.create(t, "north")
	must(t, p.UploadFromURI(t.Context(), "north", id, onboarding.Address{URI: server.URL}))
	<-asked
	p.stop()
	s.start(t, local).await(t, id, onboarding.Onboarded)
}

// slowStore reads contents slowly.
type slowStore struct {
	store.Store
	delay time.Duration
}

func (s slowStore) Get(ctx context.Context, kind, id string) (store.Record, error) {
	if strings.Contains(id, "vnf-package-content/") {
		select {
		case <-ctx.Done():
			return store.Record{}, context.Cause(ctx)
		case <-time.After(s.delay):
		}
	}
	return s.Store.Get(ctx, kind, id)
}

// TestSlowDisk checks that a fetch does not fail if storing the content takes longer than a fetch may stall.
func TestSlowDisk(t *testing.T) {
	t.Parallel()
	server, _ := catalog(t, csar(t, "slow", nil))
	p := site{dir: t.TempDir(), store: slowStore{store.NewMemory(), 2 * time.Second}}.start(t, func(o *onboarding.Options) {
		o.AllowHTTP, o.Allow, o.StallTimeout = true, outbound.AllowAny, time.Second
	})
	id := p.create(t, "north")
	must(t, p.UploadFromURI(t.Context(), "north", id, onboarding.Address{URI: server.URL + "/good"}))
	p.await(t, id, onboarding.Onboarded)
}

// TestSlowServers lets a tenant fetch from servers whose answers never end. Packages of another tenant must be fetched and checked
// meanwhile.
func TestSlowServers(t *testing.T) {
	t.Parallel()
	content, asked := csar(t, "slow", nil), make(chan struct{}, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/good" {
			_, _ = w.Write(content)
			return
		}
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	p := site{dir: t.TempDir(), store: store.NewMemory()}.start(t, func(o *onboarding.Options) { o.AllowHTTP, o.Allow, o.Parallel = true, outbound.AllowAny, 1 })
	for range 3 {
		must(t, p.UploadFromURI(t.Context(), "north", p.create(t, "north"), onboarding.Address{URI: server.URL + "/endless"}))
	}
	<-asked
	p.onboard(t, "south", content)
	id := p.create(t, "east")
	must(t, p.UploadFromURI(t.Context(), "east", id, onboarding.Address{URI: server.URL + "/good"}))
	p.await(t, id, onboarding.Onboarded)
	if len(asked) > 0 {
		t.Error("a tenant has more fetches at once than Parallel")
	}
	p.stop()
}

func FuzzAddress(f *testing.F) {
	for _, uri := range []string{"https://example.com/vnf.csar", "https://127.1/", "https://user@host/", "http://[::ffff:127.0.0.1]/", "//x", "https://\x00/"} {
		f.Add(uri)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r, err := onboarding.New(f.TempDir(), onboarding.Options{MinFree: 1})
	if err != nil {
		f.Fatal(err)
	}
	m, err := vnflcm.New(ctx, vnflcm.Config{Store: store.NewMemory(), Key: testKey, Packages: r})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = m.Close(context.Background()) })
	f.Fuzz(func(t *testing.T, uri string) {
		info, err := r.Create(t.Context(), "", nil)
		must(t, err)
		err = r.UploadFromURI(t.Context(), "", info.ID, onboarding.Address{URI: uri})
		if err == nil && !strings.HasPrefix(strings.ToLower(uri), "https://") {
			t.Errorf("%q is accepted", uri)
		}
		must(t, r.Delete(t.Context(), "", info.ID))
	})
}
