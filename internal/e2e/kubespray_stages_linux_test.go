package e2e_test

import (
	"cmp"
	"encoding/json"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/vnflcm/store/sqlite"
)

// stage is a part of the life of a cluster that kubespray itself has made.
type stage struct {
	name string
	run  func(*realCluster)
}

// dir is where the stage saves its cluster. VNFKIT_STAGES keeps the clusters of a run for the next one.
func (s stage) dir() string {
	return filepath.Join(cmp.Or(os.Getenv("VNFKIT_STAGES"), filepath.Join(site.network.Dir(), "stages")), strings.ReplaceAll(s.name, " ", "-"))
}

// realCluster is a cluster in a stage. The files of a stage are the database of the VNFM (databaseFile), the machines, what
// differs on the Ansible server (ansibleFile), and what the exported fields say (clusterFile).
type realCluster struct {
	*yard  `json:"-"`
	dir    string
	socket string
	server *ansibleServer

	Network      netip.Prefix
	Cluster      string // ids of the VNF instances
	CNF          string
	Ansible      netip.Addr
	Repositories string // address and port; they are in the inventory of the cluster
}

const (
	databaseFile = "vnfm.db"
	ansibleFile  = "ansible.tar"
	clusterFile  = "cluster.json"
)

// newRealCluster begins a stage: with the saved cluster of the stage before, or without one.
func newRealCluster(t *testing.T, tree string, s stage, before *stage) *realCluster {
	t.Helper()
	c := &realCluster{dir: s.dir(), socket: filepath.Join(t.TempDir(), "cloud")}
	must(t, os.RemoveAll(c.dir))
	must(t, os.MkdirAll(c.dir, 0o700))
	if before != nil {
		c.read(t, before.dir())
	}
	p, err := parts()
	must(t, err)
	repositories := serveRepositoriesAt(t, p, cmp.Or(c.Repositories, net.JoinHostPort(site.network.Gateway().String(), "0")))
	c.Repositories = strings.TrimPrefix(repositories, "http://")
	var variables map[string]string
	c.yard, variables = realYard(t, repositories, func(y *yard) {
		store, err := sqlite.Open(t.Context(), filepath.Join(c.dir, databaseFile))
		must(t, err)
		t.Cleanup(func() { _ = store.Close() })
		y.store, y.drivers = store, cnfDrivers(t)
	})
	serveCloud(t, c.socket, c.machines)
	if before == nil {
		c.server = c.ansibleServerWith(os.DirFS(tree), variables)
		return c
	}
	begin := time.Now()
	must(t, c.machines.Restore(t.Context(), before.dir()))
	c.instances = append(c.instances, c.Cluster)
	c.server = c.ansibleMachine(os.DirFS(tree), variables, c.Ansible)
	c.server.restore(t, filepath.Join(before.dir(), ansibleFile))
	c.connect(c.server)
	c.back(begin)
	return c
}

// read reads the files of the stage before, but for those of machines.
func (c *realCluster) read(t *testing.T, dir string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, clusterFile))
	if err != nil {
		t.Fatalf("the stage before has saved no cluster: %v", err)
	}
	must(t, json.Unmarshal(text, c))
	if now := site.network.Prefix(); now != c.Network {
		t.Fatalf("the cluster was saved in %s, and this run has %s: another run has the network", c.Network, now)
	}
	must(t, os.WriteFile(filepath.Join(c.dir, databaseFile), read(t, filepath.Join(dir, databaseFile)), 0o600))
}

// save saves the cluster for the next stage. It ends the machines and the Manager.
func (c *realCluster) save() {
	t := c.t
	t.Helper()
	if t.Failed() {
		return // nothing to start from
	}
	must(t, c.close())
	must(t, c.machines.Save(t.Context(), c.dir, c.Cluster))
	c.server.save(t, filepath.Join(c.dir, ansibleFile))
	c.Network, c.Ansible = site.network.Prefix(), c.server.machine.Address
	text, err := json.Marshal(c)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(c.dir, clusterFile), text, 0o600))
}

// back waits until the cluster works again that was begun to be restored at a time.
func (c *realCluster) back(begun time.Time) {
	t := c.t
	t.Helper()
	awaitFor(t, 3*time.Minute, "the API to be back", func() bool {
		code, err := c.viaVIM(c.Cluster, "/readyz")
		return code == http.StatusOK && err == nil
	})
	// What the API says of a node that has not started is older.
	awaitFor(t, 3*time.Minute, "all nodes to be back", func() bool {
		for _, renewed := range strings.Fields(c.kubectl(c.Cluster, "get", "leases", "-n", "kube-node-lease", "-o", "jsonpath={.items[*].spec.renewTime}")) {
			if at, err := time.Parse(time.RFC3339, renewed); err != nil || at.Before(begun) {
				return false
			}
		}
		return true
	})
	c.kubectl(c.Cluster, "wait", "--for=condition=Ready", "nodes", "--all", "--timeout=50s")
	c.open(c.Cluster)
	c.visitedWithin(c.Cluster, 3*time.Minute) // controllers wait until the lease has ended that they had before
	t.Logf("the saved cluster works after %s", time.Since(begun).Round(time.Second))
}

// job is a process that works on the cluster.
func (c *realCluster) job() yardJob {
	return yardJob{Store: filepath.Join(c.dir, databaseFile), Socket: c.socket, Packages: c.others, Instance: c.Cluster, Patience: realPatience}
}

// carried is where the files of a server are between it and the directory of a stage.
const carried = "/tmp/carried.tar"

// save writes what the VNFM and Ansible have left on the server, and the key by which the VNFM knows it.
func (s *ansibleServer) save(t testing.TB, file string) {
	t.Helper()
	ctx := within(t, time.Minute)
	_, err := s.machine.Exec(ctx, "sh", "-ec", `tar -C / -cf "$0" --exclude="$1" "home/$2" "$3" etc/ssh/ssh_host_ed25519_key*`, carried, strings.TrimPrefix(kubesprayRoot, "/"), ansibleUser, strings.TrimPrefix(ansibleRuns, "/"))
	must(t, err)
	content, err := afero.ReadFile(s.machine.FS(), carried)
	must(t, err)
	must(t, os.WriteFile(file, content, 0o600))
}

// restore makes a new server the one that was saved.
func (s *ansibleServer) restore(t testing.TB, file string) {
	t.Helper()
	ctx := within(t, time.Minute)
	must(t, afero.WriteFile(s.machine.FS(), carried, read(t, file), 0o600))
	_, err := s.machine.Exec(ctx, "sh", "-ec", `tar -C / -xpf "$0"; rm "$0"`, carried)
	must(t, err)
	must(t, s.machine.RestartSSH(ctx))
}
