package helmsdk_test

import (
	"errors"
	"log/slog"
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
