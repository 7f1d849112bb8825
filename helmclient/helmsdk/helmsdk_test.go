package helmsdk_test

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/helmclient/helmsdk"
	"github.com/vnfkit/vnfkit/helmclient/helmtest"
	"github.com/vnfkit/vnfkit/helmclient/internal/inprocess/inprocesstest"
)

func open(cluster *rest.Config, dir string) (helmclient.Client, error) {
	return helmsdk.New(helmsdk.Config{Cluster: cluster, Dir: dir})
}

func TestAlone(t *testing.T) { inprocesstest.RunAlone(t, open) }

func TestLog(t *testing.T) {
	inprocesstest.RunLog(t, func(cluster *rest.Config, dir string, log *slog.Logger) (helmclient.Client, error) {
		return helmsdk.New(helmsdk.Config{Cluster: cluster, Dir: dir, Log: log})
	})
}

func TestOnCluster(t *testing.T) { inprocesstest.RunOnCluster(t, open) }

func TestContract(t *testing.T) {
	config := inprocesstest.Cluster(t)
	helmtest.Run(t, func(t *testing.T) helmtest.Subject {
		t.Helper()
		c, err := open(config, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		return helmtest.Subject{Client: c, Cluster: config}
	})
}

func TestStorage(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]helmsdk.Config{"unknown": {Storage: "etcd"}, "no DSN": {Storage: helmsdk.SQL}} {
		cfg.Cluster, cfg.Dir = &rest.Config{Host: "https://192.0.2.1"}, "x"
		if _, err := helmsdk.New(cfg); !errors.Is(err, helmclient.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCredentialsStay: the credentials of a repository or registry reach no other server, also on another port of the same host.
func TestCredentialsStay(t *testing.T) {
	t.Parallel()
	redirect := func(other string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", other+r.URL.Path)
			w.WriteHeader(http.StatusFound)
		}
	}
	for name, c := range map[string]struct {
		first   func(other string) http.HandlerFunc
		tls     bool
		ask     func(ctx context.Context, c helmclient.Client, url string, a helmclient.Access) error
		reached bool // the other server is asked, without credentials
	}{
		"redirected index": {redirect, false, func(ctx context.Context, c helmclient.Client, url string, a helmclient.Access) error {
			return c.AddRepository(ctx, helmclient.Repository{Name: "r", URL: url, Access: a})
		}, true},
		"redirected archive": {redirect, false, func(ctx context.Context, c helmclient.Client, url string, a helmclient.Access) error {
			_, err := c.Show(ctx, helmclient.Chart{Ref: url + "/small-1.0.0.tgz", Access: a})
			return err
		}, true},
		"index that names another server": {func(other string) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) {
				_, _ = fmt.Fprintf(w, "apiVersion: v1\nentries: {small: [{apiVersion: v2, name: small, version: 1.0.0, urls: [%s/small-1.0.0.tgz]}]}\n", other)
			}
		}, false, func(ctx context.Context, c helmclient.Client, url string, a helmclient.Access) error {
			if err := c.AddRepository(ctx, helmclient.Repository{Name: "r", URL: url, Access: a}); err != nil {
				return err
			}
			_, err := c.Show(ctx, helmclient.Chart{Ref: "r/small", Version: "1.0.0"})
			return err
		}, true},
		"redirected manifest of a registry": {func(other string) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				if _, _, ok := r.BasicAuth(); !ok {
					w.Header().Set("WWW-Authenticate", `Basic realm="r"`)
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
				redirect(other)(w, r)
			}
		}, true, pull, true},
		"token endpoint without TLS of a registry with TLS": {func(other string) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm="%s/token",service="s"`, other))
				w.WriteHeader(http.StatusUnauthorized)
			}
		}, true, pull, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := make(chan string, 20)
			record := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				got <- r.Header.Get("Authorization")
				w.WriteHeader(http.StatusNotFound)
			})
			other := httptest.NewServer(record)
			t.Cleanup(other.Close)
			first := httptest.NewUnstartedServer(c.first(other.URL))
			access := helmclient.Access{Username: "u", Password: helmclient.NewPassword("hunter2")}
			if c.tls {
				if c.reached { // a redirect from TLS to plain HTTP is not followed
					secure := httptest.NewTLSServer(record)
					t.Cleanup(secure.Close)
					first.Config.Handler = c.first(secure.URL)
				}
				first.StartTLS()
				access.CA = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: first.Certificate().Raw})
			} else {
				first.Start()
			}
			t.Cleanup(first.Close)
			client, err := open(&rest.Config{Host: "https://192.0.2.1"}, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			if err := c.ask(t.Context(), client, first.URL, access); err == nil {
				t.Error("the other server has no chart")
			}
			if reached := len(got) > 0; reached != c.reached {
				t.Errorf("the other server was asked: %t", reached)
			}
			for len(got) > 0 {
				if header := <-got; header != "" {
					t.Errorf("the other server has got %q", header)
				}
			}
		})
	}
}

// pull reads a chart of a registry.
func pull(ctx context.Context, c helmclient.Client, url string, a helmclient.Access) error {
	_, err := c.Show(ctx, helmclient.Chart{Ref: "oci://" + strings.TrimPrefix(url, "https://") + "/small", Version: "1.0.0", Access: a})
	return err
}

// TestTransport: the program can refuse addresses of repositories and registries.
func TestTransport(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused by the program")
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return nil, refused }}
	c, err := helmsdk.New(helmsdk.Config{Cluster: &rest.Config{Host: "https://192.0.2.1"}, Dir: t.TempDir(), Transport: transport})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.AddRepository(t.Context(), helmclient.Repository{Name: "r", URL: "http://192.0.2.2"}); !errors.Is(err, refused) {
		t.Errorf("repository: %v", err)
	}
	for _, ref := range []string{"http://192.0.2.2/c-1.0.0.tgz", "oci://192.0.2.2/c"} {
		if _, err := c.Show(t.Context(), helmclient.Chart{Ref: ref, Version: "1.0.0", Access: helmclient.Access{PlainHTTP: true}}); !errors.Is(err, refused) {
			t.Errorf("%s: %v", ref, err)
		}
	}
}

// TestStorages keeps releases elsewhere than in Secrets.
func TestStorages(t *testing.T) {
	config := inprocesstest.Cluster(t)
	for _, storage := range []helmsdk.Storage{helmsdk.Memory, helmsdk.ConfigMaps} {
		t.Run(string(storage), func(t *testing.T) {
			t.Parallel()
			c, err := helmsdk.New(helmsdk.Config{Cluster: config, Dir: t.TempDir(), Storage: storage, Namespace: "default"})
			if err != nil {
				t.Fatal(err)
			}
			var running sync.WaitGroup
			for _, name := range []string{"x", "y", "z"} {
				running.Go(func() { inprocesstest.Life(t, c, string(storage)+"-"+name) })
			}
			running.Wait()
		})
	}
}
