package kubeadm_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// atLevel returns the change of a request to an instantiation level of the flavour complex.
func atLevel(level string) mgmttest.Change {
	return func(r *vnflcm.InstantiateVnfRequest) {
		r.FlavourID, r.InstantiationLevelID, r.TargetScaleLevelInfo = "complex", level, nil
	}
}

// oneMaster is the level with one control-plane node, which can be scaled.
const oneMaster = "instantiation_level_3"

// masters returns a request to scale the control plane.
func masters(kind vnflcm.ScaleType, steps int) vnflcm.ScaleVnfRequest {
	return vnflcm.ScaleVnfRequest{Type: kind, AspectID: "master_instance", NumberOfSteps: steps}
}

// scalableBalancerPackage returns the package with a load balancer, whose flavour complex has three control-plane nodes and from one to nine
// of them, one by each step.
func scalableBalancerPackage(t testing.TB) string {
	t.Helper()
	const name = "Definitions/k8s_cluster_kubespray_df_complex.yaml"
	text, err := os.ReadFile(balancerPackage + "/" + name)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.NewReplacer("max_scale_level: 0", "max_scale_level: 8", "min_number_of_instances: 3", "min_number_of_instances: 1", "max_number_of_instances: 3", "max_number_of_instances: 9",
		"initial_delta:\n            number_of_instances: 3", "initial_delta:\n            number_of_instances: 1", "master_instance:\n                  scale_level: 0", "master_instance:\n                  scale_level: 2").Replace(string(text))
	return mgmttest.Package(t, balancerPackage, map[string]string{name: changed})
}

// podPath is the path of pods that stand for writes of clients.
const podPath = "/api/v1/namespaces/default/pods"

// writes writes an object through the entry in the VIM registry, and checks that it and those before can be read.
func (l *lab) writes(id string, names ...string) {
	l.t.Helper()
	entry, _ := l.Entry(kubeadm.VIMID(id))
	last := names[len(names)-1]
	code, body, err := l.Ask(entry, http.MethodPost, podPath, `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "`+last+`"}, "spec": {"containers": [{"name": "a", "image": "a"}]}}`)
	if code != http.StatusCreated || err != nil {
		l.t.Fatalf("writing: %d %s %v", code, body, err)
	}
	for _, name := range names {
		if code, _, err := l.Ask(entry, http.MethodGet, podPath+"/"+name, ""); code != http.StatusOK || err != nil {
			l.t.Errorf("reading %s: %d %v", name, code, err)
		}
	}
}

// answering is a change of a process that asks the API, at the address of the VIM entry, when each step begins.
func (l *lab) answering(id string) func(*vnflcm.Config) {
	entry, _ := l.Entry(kubeadm.VIMID(id))
	return func(c *vnflcm.Config) {
		c.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
			if code, _, err := l.Ask(entry, http.MethodGet, nodesPath, ""); code != http.StatusOK || err != nil {
				l.t.Errorf("before %s the API answers with %d, %v", l.stepName(s), code, err)
			}
			return next(ctx)
		}
	}
}

// wantControlPlane checks everything that follows the number of control-plane nodes.
func (l *lab) wantControlPlane(id string, n int) {
	l.t.Helper()
	l.want(n, 1, 0)
	var machines []string
	for i := range n {
		machines = append(machines, fmt.Sprint("masterNode-", i))
	}
	l.wantMembers(machines...)
	entry, extra := l.Entry(kubeadm.VIMID(id))
	if info, _ := extra["helm_info"].(map[string]any); info != nil {
		if list, _ := info["masternode_ip"].([]any); n > 1 && len(list) != n || n == 1 && list != nil {
			l.t.Errorf("helm_info has %v", info["masternode_ip"])
		}
		l.withHelm(n)
	}
	code, body, err := l.Ask(entry, http.MethodGet, "/api/v1/namespaces/kube-system/configmaps/kubeadm-config", "")
	if names := strings.Count(string(body), "master-198-18-"); code != http.StatusOK || err != nil || names != n {
		l.t.Errorf("the configuration of the cluster names %d control-plane nodes: %d %s %v", names, code, body, err)
	}
}

// wantShared checks haproxy and keepalived on each of the control-plane nodes.
func (l *lab) wantShared(n int) {
	l.t.Helper()
	for i := range n {
		name := fmt.Sprint("masterNode-", i)
		haproxy, keepalived := l.file(name, "/etc/haproxy/haproxy.cfg"), l.file(name, "/etc/keepalived/keepalived.conf")
		peers := strings.Count(keepalived, "        198.18.") - 1 // one is the virtual address
		if servers := strings.Count(haproxy, "    server "); servers != n || peers != n-1 {
			l.t.Errorf("%s: haproxy has %d servers, keepalived %d peers, of %d nodes", name, servers, peers, n)
		}
	}
}

// TestScaleControlPlane scales from one control-plane node to five and back, by steps of two. Clients write through the address of the API at
// all times, and every write can be read. Leader of etcd is a node that leaves.
func TestScaleControlPlane(t *testing.T) {
	t.Parallel()
	t.Run("virtual address", func(t *testing.T) {
		t.Parallel()
		l := openLab(t, setup{pkg: helmPackage(t, helmInstaller)})
		id := l.Instantiated("instantiate_sandbox.json", append(virtual(t), atLevel(oneMaster), with(t, helmParams))...)
		l.scaledThrough(id, 2, l.wantShared, 1, 3, 5, 3, 1)
	})
	t.Run("load balancer", func(t *testing.T) {
		t.Parallel()
		l := openLab(t, setup{pkg: scalableBalancerPackage(t)})
		id := l.balanced("complex", 0)
		l.scaledThrough(id, 1, func(int) { l.wantRoutes(id) }, 3, 5, 1, 3)
	})
}

// scaledThrough scales through these numbers of control-plane nodes, and lets the last node lead etcd before it leaves.
func (l *lab) scaledThrough(id string, perStep int, check func(int), numbers ...int) {
	l.t.Helper()
	var written []string
	before := 0
	for i, n := range numbers {
		if before > 0 {
			request := masters(vnflcm.ScaleOut, (n-before)/perStep)
			if n < before {
				request = masters(vnflcm.ScaleIn, (before-n)/perStep)
				l.lead(fmt.Sprint("masterNode-", before-1))
			}
			m := l.Process(l.answering(id))
			opID, err := m.Scale(l.t.Context(), id, request)
			l.Must(opID, err, m)
		}
		before = n
		l.wantControlPlane(id, n)
		check(n)
		written = append(written, fmt.Sprint("write-", i))
		l.writes(id, written...)
	}
	if !l.reported("moving leadership") {
		l.t.Error("leadership was not moved from a node that leaves")
	}
	l.Must(l.Terminate(l.t.Context(), id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
}

// TestScaleInOrder checks the order in which a node leaves, and that a virtual address moves before: live nodes remove their member last,
// dead ones first.
func TestScaleInOrder(t *testing.T) {
	t.Parallel()
	live := []string{"record-node", "move-leader", "drain", "detach", "stop-api-server", "remove-member", "reset"}
	dead := []string{"record-node", "remove-member", "stop-machine", "drain", "detach"}
	for name, c := range map[string]struct {
		dead string
		want map[string][]string
	}{
		"live": {"", map[string][]string{"masterNode-1": live, "masterNode-2": live}},
		"dead": {"masterNode-2", map[string][]string{"masterNode-1": live, "masterNode-2": dead}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			id := l.Instantiated("instantiate_sandbox.json", append(virtual(t), clustertest.Sized("complex", 0))...)
			if c.dead != "" {
				l.stop(c.dead)
			}
			got, released := map[string][]string{}, 0
			var mu sync.Mutex
			m := l.Process(func(cfg *vnflcm.Config) {
				cfg.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
					mu.Lock()
					defer mu.Unlock()
					name := l.NameOf(s.On)
					switch {
					case s.Name == "release-address":
						released++
					case s.Name == "record-node" && released != 2:
						t.Error("a node leaves before the virtual address does")
					}
					if s.Phase == "scale_start" && s.Name != "release-address" && c.want[name] != nil {
						got[name] = append(got[name], s.Name)
					}
					return next(ctx)
				}
			})
			opID, err := m.Scale(t.Context(), id, masters(vnflcm.ScaleIn, 1))
			l.Must(opID, err, m)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("steps:\n%s", diff)
			}
			l.wantMembers("masterNode-0")
			l.wantShared(1)
		})
	}
}

// TestScaleBothAspects scales to a level: the control plane out, the workers in. Then both the other way round.
func TestScaleBothAspects(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	id := l.Instantiated("instantiate_sandbox.json", append(virtual(t), atLevel("instantiation_level_3"))...)
	for _, c := range []struct {
		level           string
		masters, worker int
	}{{"instantiation_level_2", 3, 3}, {"instantiation_level_3", 1, 1}} {
		l.Must(l.ScaleToLevel(t.Context(), id, vnflcm.ScaleVnfToLevelRequest{InstantiationLevelID: c.level}))
		l.want(c.masters, c.worker, 0)
	}
	l.Must(l.ScaleToLevel(t.Context(), id, vnflcm.ScaleVnfToLevelRequest{ScaleInfo: []vnflcm.ScaleInfo{{AspectID: "master_instance", ScaleLevel: 1}, {AspectID: "worker_instance", ScaleLevel: 1}}}))
	l.Must(l.ScaleToLevel(t.Context(), id, vnflcm.ScaleVnfToLevelRequest{ScaleInfo: []vnflcm.ScaleInfo{{AspectID: "master_instance", ScaleLevel: 2}, {AspectID: "worker_instance"}}}))
	l.want(5, 1, 0)
	l.wantShared(5)
}

// TestRollBackControlPlane rolls back scale-outs that have failed at different points. etcd has the members that it had.
func TestRollBackControlPlane(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"reach/masterNode-2", "join/masterNode-2", "members/masterNode-1", "helm/masterNode-1"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			l := openLab(t, setup{pkg: helmPackage(t, helmInstaller)})
			id := l.Instantiated("instantiate_sandbox.json", append(virtual(t), atLevel(oneMaster), with(t, helmParams))...)
			before := l.outcome(id)
			m := l.Process(func(c *vnflcm.Config) {
				c.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
					err := next(ctx)
					if l.stepName(s) == "scale_end/"+at {
						return fmt.Errorf("cut after %s: %w", at, vnflcm.ErrState)
					}
					return err
				}
			})
			opID, err := m.Scale(t.Context(), id, masters(vnflcm.ScaleOut, 1))
			_ = l.Fails(opID, err, m)
			l.RollBack(opID)
			l.wantControlPlane(id, 1)
			l.wantShared(1)
			after := l.outcome(id)
			before.Records, after.Records = nil, nil // those of the operation
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("another end than before:\n%s", diff)
			}
			l.Must(l.Scale(t.Context(), id, masters(vnflcm.ScaleOut, 1)))
			l.wantControlPlane(id, 3)
		})
	}
}

// sortedNames returns the names of the machines.
func (l *lab) sortedNames() (names []string) {
	for _, h := range l.World.Hosts() {
		names = append(names, h.Name())
	}
	slices.Sort(names)
	return names
}
