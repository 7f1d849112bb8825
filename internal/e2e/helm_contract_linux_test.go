package e2e_test

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vnfkit/vnfkit/helmclient/helmtest"
	"github.com/vnfkit/vnfkit/sshexec"
)

// TestHelmContract holds both implementations against the suite that says what a helmclient.Client is.
func TestHelmContract(t *testing.T) {
	cluster := needCluster(t)
	onEveryHelm(t, func(t *testing.T, k helmKind) {
		opening, masters := k.prepare(t, cluster.Client())
		subject := helmtest.Subject{Client: opening.opened(t), Cluster: cluster.Client(), Listen: listenForHosts,
			Place: func(t *testing.T, archive []byte) string { return place(t, masters, archive) }}
		helmtest.Run(t, func(*testing.T) helmtest.Subject { return subject })
	})
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
		must(t, m.Upload(within(t, 10*time.Second), bytes.NewReader(archive), sshexec.File{Path: path}))
	}
	return path
}
