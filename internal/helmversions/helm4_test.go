package helmversions_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/vnfkit/vnfkit/helmclient/helm4sdk"
	"github.com/vnfkit/vnfkit/helmclient/helmsdk"
	"github.com/vnfkit/vnfkit/helmclient/helmtest"
	"github.com/vnfkit/vnfkit/internal/cnftest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// helm4 is Helm 4 on a cluster.
func helm4(t *testing.T, cluster *cnftest.Cluster) helmtest.Subject {
	t.Helper()
	client, err := helm4sdk.New(helm4sdk.Config{Cluster: cluster.Config(), Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return helmtest.Subject{Client: client, Cluster: cluster.Config()}
}

// TestContract: Helm 4 passes the same contract on the simulated cluster as on a real one.
func TestContract(t *testing.T) {
	t.Parallel()
	cluster := cnftest.Start(t)
	helmtest.Run(t, func(t *testing.T) helmtest.Subject { return helm4(t, cluster) })
}

// TestBesideHelm3: releases of Helm 3 and 4 are read, changed and uninstalled by the other.
func TestBesideHelm3(t *testing.T) {
	t.Parallel()
	cluster := cnftest.Start(t)
	helmtest.RunPair(t, func(t *testing.T) (helm3, second helmtest.Subject) {
		client, err := helmsdk.New(helmsdk.Config{Cluster: cluster.Config(), Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		return helmtest.Subject{Client: client, Cluster: cluster.Config()}, helm4(t, cluster)
	})
}
