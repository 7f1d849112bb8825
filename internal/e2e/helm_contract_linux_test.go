package e2e_test

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vnfkit/vnfkit/helmclient/helmtest"
	"github.com/vnfkit/vnfkit/internal/e2e/controlplane"
	"github.com/vnfkit/vnfkit/sshexec"
)

// TestHelmContract holds all implementations against the suite that says what a helmclient.Client is.
func TestHelmContract(t *testing.T) {
	cluster := needCluster(t)
	for _, k := range slices.Concat(helmKinds, helm4Kinds) {
		t.Run(k.name, func(t *testing.T) {
			subject := k.subject(t, cluster)
			helmtest.Run(t, func(*testing.T) helmtest.Subject { return subject })
		})
	}
}

// TestHelmVersions: releases of Helm 3 and of Helm 4, in the process and on machines, are read, changed and uninstalled by
// the other version.
func TestHelmVersions(t *testing.T) {
	cluster := needCluster(t)
	for i, helm3 := range helmKinds {
		t.Run(helm3.name, func(t *testing.T) {
			first, second := helm3.subject(t, cluster), helm4Kinds[i].subject(t, cluster)
			helmtest.RunPair(t, func(*testing.T) (helmtest.Subject, helmtest.Subject) { return first, second })
		})
	}
}

// subject is an implementation for a test suite.
func (k helmKind) subject(t *testing.T, cluster *controlplane.Cluster) helmtest.Subject {
	t.Helper()
	opening, masters := k.prepare(t, cluster.Client())
	return helmtest.Subject{Client: opening.opened(t), Cluster: cluster.Client(), Listen: listenForHosts,
		Place: func(t *testing.T, archive []byte) string { return place(t, masters, archive) }}
}

// listenForHosts opens a port that hosts reach.
func listenForHosts(t *testing.T) net.Listener {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", site.network.Gateway().String()+":0")
	must(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	return listener
}

// place writes a chart to where Helm runs: all masters, or here.
func place(t *testing.T, masters []*master, archive []byte) string {
	t.Helper()
	if len(masters) == 0 {
		path := filepath.Join(t.TempDir(), "chart.tgz")
		must(t, os.WriteFile(path, archive, 0o600))
		return path
	}
	path := "/tmp/" + uuid.NewString() + ".tgz"
	for _, m := range masters {
		must(t, m.Upload(within(t, time.Minute), bytes.NewReader(archive), sshexec.File{Path: path}))
	}
	return path
}
