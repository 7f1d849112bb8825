package kubeadm_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/mgmt/loadbalancer"
	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// The sample package with a load balancer was made for kubespray. Here the kubeadm driver has the name that this package
// requires.
const (
	balancerPackage = "../../examples/packages/k8s-cluster-kubespray"
	balancerDriver  = "mgmt-drivers-kubespray"
)

// newBalancedLab returns a lab whose package has a machine for a load balancer.
func newBalancedLab(t *testing.T) *lab {
	t.Helper()
	return openLab(t, *balancerSetup())
}

// behind returns the changes of a request for a cluster behind the load balancer.
func behind(t testing.TB, flavour string, moreWorkers int) []mgmttest.Change {
	return []mgmttest.Change{with(t, `{"external_lb_param":{"ssh_cp_name":"externalLB_CP1","nic_cp_name":"externalLB_CP2",
		"ssh_username":"ubuntu","ssh_password":"ubuntu"},"master_node":{"cluster_cp_name":null},"cni_manifest_path":null}`), clustertest.Sized(flavour, moreWorkers)}
}

// balanced instantiates a cluster behind the load balancer.
func (l *lab) balanced(flavour string, moreWorkers int) string {
	l.t.Helper()
	return l.Instantiated("instantiate_sandbox.json", behind(l.t, flavour, moreWorkers)...)
}

// routes returns the nodes to which the load balancer forwards, by group.
func (l *lab) routes(id string) (controlPlane, workers []string) {
	l.t.Helper()
	data, err := afero.ReadFile(l.host("externalLB-0").FS(), loadbalancer.PartsFile)
	if err != nil {
		l.t.Fatal(err)
	}
	var kept struct {
		Parts map[string]loadbalancer.Part `json:"parts"`
	}
	if err := json.Unmarshal(data, &kept); err != nil {
		l.t.Fatal(err)
	}
	groups := kept.Parts[loadbalancer.ClusterOwner(id)].Groups
	for _, s := range groups[loadbalancer.ControlPlane] {
		controlPlane = append(controlPlane, s.Name)
	}
	for _, s := range groups[loadbalancer.Workers] {
		workers = append(workers, s.Name)
	}
	slices.Sort(controlPlane)
	slices.Sort(workers)
	return controlPlane, workers
}

// wantRoutes checks that the load balancer forwards to all nodes of the cluster, and that the API answers at the address in
// the VIM registry's entry.
func (l *lab) wantRoutes(id string) {
	l.t.Helper()
	var wantControlPlane, wantWorkers []string
	for _, n := range l.World.Nodes() {
		if n.ControlPlane {
			wantControlPlane = append(wantControlPlane, n.Name)
		} else {
			wantWorkers = append(wantWorkers, n.Name)
		}
	}
	slices.Sort(wantControlPlane)
	slices.Sort(wantWorkers)
	controlPlane, workers := l.routes(id)
	if diff := cmp.Diff([][]string{wantControlPlane, wantWorkers}, [][]string{controlPlane, workers}); diff != "" {
		l.t.Errorf("routes:\n%s", diff)
	}
	entry, _ := l.Entry(kubeadm.VIMID(id))
	if want := "https://" + l.address(id, "externalLB_CP2") + ":8383"; entry.AuthURL != want {
		l.t.Errorf("the API is at %s, want %s", entry.AuthURL, want)
	}
	if code, _, err := l.Ask(entry, http.MethodGet, nodesPath, ""); code != http.StatusOK {
		l.t.Errorf("through the load balancer: %d, %v", code, err)
	}
}

// address returns the address of the load balancer at a connection point.
func (l *lab) address(id, cpd string) string {
	l.t.Helper()
	for _, v := range l.VNFCs(id) {
		for _, cp := range v.VnfcCpInfo {
			if cp.CpdID == cpd {
				return cp.CpProtocolInfo[0].IPOverEthernet.IPAddresses[0].Addresses[0]
			}
		}
	}
	l.t.Fatal("no address at " + cpd)
	return ""
}

// TestBehindBalancer runs all operations on clusters behind a load balancer of the VNF.
func TestBehindBalancer(t *testing.T) {
	for name, c := range map[string]struct {
		flavour                   string
		controlPlane, moreWorkers int
		healed                    []string // dead machines to heal
		healedWithTheBalancers    []string
	}{
		"one control-plane node":    {"simple", 1, 1, []string{"workerNode-0"}, []string{"workerNode-0"}},
		"three control-plane nodes": {"complex", 3, 0, []string{"masterNode-0"}, []string{"masterNode-1", "workerNode-0"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			l := newBalancedLab(t)
			id := l.balanced(c.flavour, c.moreWorkers)
			workers := 1 + c.moreWorkers
			l.want(c.controlPlane, workers, 0)
			l.wantRoutes(id)

			l.Must(l.Scale(ctx, id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"}))
			l.want(c.controlPlane, workers+1, 0)
			l.wantRoutes(id)
			l.Must(l.Scale(ctx, id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleIn, AspectID: "worker_instance"}))
			l.want(c.controlPlane, workers, 0)
			l.wantRoutes(id)

			heal := func(machines ...string) {
				t.Helper()
				for _, m := range machines {
					if err := l.World.Stop(m); err != nil {
						t.Fatal(err)
					}
				}
				l.Must(l.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: l.vnfcs(id, machines...)}))
				l.want(c.controlPlane, workers, 0)
				l.wantRoutes(id)
			}
			heal(c.healed...)
			heal("externalLB-0")
			heal(append(c.healedWithTheBalancers, "externalLB-0")...)

			l.Must(l.Heal(ctx, id, wholeHeal))
			l.want(c.controlPlane, workers, 0)
			l.wantRoutes(id)
			l.Must(l.Terminate(ctx, id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
			if err := l.Delete(ctx, id, ""); err != nil {
				t.Error(err)
			}
			l.Forgotten()
		})
	}
}

// order runs an operation and returns its steps in the order in which they ended: name/machine.
func (l *lab) order(begin func(m *vnflcm.Manager) (string, error)) (steps []string) {
	l.t.Helper()
	var mu sync.Mutex
	m := l.Process(func(c *vnflcm.Config) {
		c.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
			err := next(ctx)
			_, step, _ := strings.Cut(l.stepName(s), "/")
			mu.Lock()
			defer mu.Unlock()
			steps = append(steps, step)
			return err
		}
	})
	opID, err := begin(m)
	l.Must(opID, err, m)
	return steps
}

// inOrder checks that these steps ended in this order.
func inOrder(t *testing.T, steps []string, want ...string) {
	t.Helper()
	at := -1
	for _, step := range want {
		i := slices.Index(steps, step)
		if i < at || i < 0 {
			t.Errorf("%s is not where it belongs: %q", step, steps)
			return
		}
		at = i
	}
}

// TestBalancerOrder checks that the load balancer forwards only to nodes that are Ready and not being drained. It waits for
// the connections of workers, but not for those of dead nodes and of control-plane nodes.
func TestBalancerOrder(t *testing.T) {
	t.Parallel()
	l := newBalancedLab(t)
	id := l.Created()
	heal := func(machines ...string) []string {
		return l.order(func(m *vnflcm.Manager) (string, error) {
			return m.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: l.vnfcs(id, machines...)})
		})
	}
	steps := l.order(func(m *vnflcm.Manager) (string, error) {
		return m.Instantiate(t.Context(), id, l.Request("instantiate_sandbox.json", behind(t, "complex", 1)...))
	})
	inOrder(t, steps, "load-balancer/externalLB-0", "first-routes/externalLB-0", "init/masterNode-0", "ready/", "routes/externalLB-0", "register-vim/")

	steps = l.order(func(m *vnflcm.Manager) (string, error) {
		return m.Scale(t.Context(), id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"})
	})
	inOrder(t, steps, "join/workerNode-2", "ready/", "routes/externalLB-0")
	steps = l.order(func(m *vnflcm.Manager) (string, error) {
		return m.Scale(t.Context(), id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleIn, AspectID: "worker_instance"})
	})
	inOrder(t, steps, "alive/workerNode-2", "drain-routes/externalLB-0", "routes/externalLB-0", "drain/workerNode-2")

	steps = heal("masterNode-1", "workerNode-1")
	inOrder(t, steps, "drain-routes/externalLB-0", "routes/externalLB-0", "drain/workerNode-1", "remove-member/masterNode-1", "ready/")
	if slices.Contains(steps, "alive/masterNode-1") {
		t.Errorf("the connections of a control-plane node were waited for: %q", steps)
	}
	if err := l.World.Stop("workerNode-1"); err != nil {
		t.Fatal(err)
	}
	if steps = heal("workerNode-1"); slices.Contains(steps, "drain-routes/externalLB-0") {
		t.Errorf("a dead worker was waited for: %q", steps)
	}
	inOrder(t, heal("externalLB-0", "workerNode-1"), "first-routes/externalLB-0", "parts/externalLB-0", "join/workerNode-1", "ready/", "routes/externalLB-0", "register-vim/")
	l.wantRoutes(id)
}

// TestBalancerKeepsParts checks that a new load balancer has the routes to services of CNFs.
func TestBalancerKeepsParts(t *testing.T) {
	t.Parallel()
	l := newBalancedLab(t)
	id := l.balanced("simple", 1)
	entry, _ := l.Entry(kubeadm.VIMID(id))
	object, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": "vnfkit-lb-1", "labels": map[string]string{"vnfkit.io/loadbalancer": "part"}},
		"data":     map[string]string{"part.json": `{"frontends":[{"name":"web","port":30080,"to":["workers"],"toward":30080}]}`}})
	if err != nil {
		t.Fatal(err)
	}
	if code, _, err := l.Ask(entry, http.MethodPost, "/api/v1/namespaces/kube-system/configmaps", string(object)); code != http.StatusCreated {
		t.Fatalf("%d, %v", code, err)
	}
	l.Must(l.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: l.vnfcs(id, "externalLB-0")}))
	if n := strings.Count(l.file("externalLB-0", loadbalancer.ConfigFile), ":30080\n"); n != 3 { // a port line and two server lines
		t.Errorf("%d ports:\n%s", n, l.file("externalLB-0", loadbalancer.ConfigFile))
	}
}
