package helm4sdk_test

import (
	"errors"
	"log/slog"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/helmclient/helm4sdk"
	"github.com/vnfkit/vnfkit/helmclient/helmtest"
	"github.com/vnfkit/vnfkit/helmclient/internal/inprocess/inprocesstest"
)

func open(cluster *rest.Config, dir string) (helmclient.Client, error) {
	return helm4sdk.New(helm4sdk.Config{Cluster: cluster, Dir: dir})
}

func TestAlone(t *testing.T) { inprocesstest.RunAlone(t, open) }

func TestLog(t *testing.T) {
	inprocesstest.RunLog(t, func(cluster *rest.Config, dir string, log *slog.Logger) (helmclient.Client, error) {
		return helm4sdk.New(helm4sdk.Config{Cluster: cluster, Dir: dir, Log: log})
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
	for name, cfg := range map[string]helm4sdk.Config{"unknown": {Storage: "etcd"}, "no DSN": {Storage: helm4sdk.SQL}} {
		cfg.Cluster, cfg.Dir = &rest.Config{Host: "https://192.0.2.1"}, "x"
		if _, err := helm4sdk.New(cfg); !errors.Is(err, helmclient.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestStorages keeps releases elsewhere than in Secrets.
func TestStorages(t *testing.T) {
	config := inprocesstest.Cluster(t)
	for _, storage := range []helm4sdk.Storage{helm4sdk.ConfigMaps} {
		t.Run(string(storage), func(t *testing.T) {
			t.Parallel()
			c, err := helm4sdk.New(helm4sdk.Config{Cluster: config, Dir: t.TempDir(), Storage: storage, Namespace: "default"})
			if err != nil {
				t.Fatal(err)
			}
			var running sync.WaitGroup
			for _, name := range []string{"x", "y", "z"} {
				running.Go(func() { inprocesstest.Life(t, c, "helm4-"+string(storage)+"-"+name) })
			}
			running.Wait()
		})
	}
}
