package kubernetes_test

import (
	"testing"

	"github.com/vnfkit/vnfkit/helmclient/helmsdk"
	"github.com/vnfkit/vnfkit/helmclient/helmtest"
	"github.com/vnfkit/vnfkit/internal/cnftest"
)

// TestHelmContract: Helm in the process passes on the simulated cluster what it passes on a real one.
func TestHelmContract(t *testing.T) {
	t.Parallel()
	cluster := cnftest.Start(t)
	helmtest.Run(t, func(t *testing.T) helmtest.Subject {
		client, err := helmsdk.New(helmsdk.Config{Cluster: cluster.Config(), Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		return helmtest.Subject{Client: client, Cluster: cluster.Config()}
	})
}
