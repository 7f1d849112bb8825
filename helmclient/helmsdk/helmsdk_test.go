package helmsdk_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
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

// TestRedirect: a redirect to another server, also to another port of the same host, is followed without the credentials.
func TestRedirect(t *testing.T) {
	t.Parallel()
	got := make(chan string, 4)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, _, _ := r.BasicAuth()
		got <- "other: " + user
		_, _ = w.Write([]byte("apiVersion: v1\nentries: {}\n"))
	}))
	t.Cleanup(other.Close)
	first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, _, _ := r.BasicAuth()
		got <- r.URL.Path + ": " + user
		if r.URL.Path == "/charts/index.yaml" {
			http.Redirect(w, r, "/moved/index.yaml", http.StatusFound)
			return
		}
		http.Redirect(w, r, other.URL+"/index.yaml", http.StatusFound)
	}))
	t.Cleanup(first.Close)
	c, err := open(&rest.Config{Host: "https://192.0.2.1"}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	err = c.AddRepository(t.Context(), helmclient.Repository{Name: "r", URL: first.URL + "/charts",
		Access: helmclient.Access{Username: "u", Password: helmclient.NewPassword("hunter2")}})
	if err != nil {
		t.Fatal(err)
	}
	close(got)
	var all []string
	for request := range got {
		all = append(all, request)
	}
	want := []string{"/charts/index.yaml: u", "/moved/index.yaml: u", "other: "}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("requests, with their users:\n%s", diff)
	}
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
