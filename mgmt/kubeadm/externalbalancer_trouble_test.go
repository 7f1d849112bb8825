package kubeadm_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestBalancerByScript checks that the package's script gets the addresses of all nodes, and runs only on the load
// balancer.
func TestBalancerByScript(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{sandbox: sandbox.Config{Takes: takes}, pkg: balancerPackage, driver: kubeadm.Config{Parallel: 1}}) // one task at a time: no two tasks wait for each other
	id := l.Instantiated("instantiate_sandbox.json", append(behind(t, "simple", 1),
		with(t, `{"external_lb_param":{"nic_cp_name":null,"ssh_cp_name":"externalLB_CP2","script_path":"Scripts/install_external_lb.sh"}}`))...)
	l.want(1, 2, 0)
	l.wantRoutes(id)
	var nodes []string
	for _, n := range l.World.Nodes() {
		nodes = append(nodes, n.Address.String())
	}
	ran := ""
	for _, h := range l.World.Hosts() {
		for _, r := range h.Commands() {
			if line := strings.Join(r.Argv, " "); strings.Contains(line, "install_external_lb.sh -m") && r.Argv[0] == "bash" {
				ran += h.Name() + " " + line + "\n"
			}
		}
	}
	for _, address := range nodes {
		if !strings.HasPrefix(ran, "externalLB-0 ") || strings.Count(ran, "\n") != 1 || !strings.Contains(ran, address) {
			t.Errorf("%s is not in:\n%s", address, ran)
		}
	}
}

// TestBalancerElsewhere: the new load balancer has another address, where the nodes do not look for the API, so the
// operation fails before it changes anything.
func TestBalancerElsewhere(t *testing.T) {
	t.Parallel()
	l := newBalancedLab(t)
	id := l.balanced("simple", 1)
	elsewhere := params(t, `{"external_lb_param":{"nic_cp_name":"externalLB_CP1"}}`)
	for name, begin := range map[string]func() (string, error){
		"heal": func() (string, error) {
			return l.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: l.vnfcs(id, "externalLB-0"), AdditionalParams: elsewhere})
		},
		"scale out": func() (string, error) {
			return l.Scale(t.Context(), id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance", AdditionalParams: elsewhere})
		},
	} {
		opID, err := begin()
		err = l.Fails(opID, err)
		want := "the cluster was made with its API at " + l.address(id, "externalLB_CP2") + ":8383, where its nodes look for it, and now it would be at " +
			l.address(id, "externalLB_CP1") + ":8383"
		if !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "heal the whole VNF") {
			t.Errorf("%s: %v", name, err)
		}
		if err := l.Fail(t.Context(), opID); err != nil {
			t.Fatal(err)
		}
	}
	opID, err := l.Heal(t.Context(), id, vnflcm.HealVnfRequest{AdditionalParams: mustParams(`{"restore": "none", "k8s_cluster_installation_param": {"external_lb_param": {"nic_cp_name": "externalLB_CP1"}}}`)})
	l.Must(opID, err)
	l.want(1, 3, 0) // with the machine that the abandoned scale-out left behind
}

// TestNoBalancer checks that no control plane is created if the load balancer cannot be installed, and that the error says
// why.
func TestNoBalancer(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{sandbox: sandbox.Config{Commands: programs("haproxy", 1)}, pkg: balancerPackage})
	_, opID, err := l.Begin("instantiate_sandbox.json", behind(t, "simple", 0)...)
	err = l.Fails(opID, err)
	if !strings.Contains(err.Error(), "first-routes") || !strings.Contains(err.Error(), "the control plane is not made") {
		t.Errorf("the error is %v", err)
	}
	for _, r := range l.host("masterNode-0").Commands() {
		if r.Argv[0] == "kubeadm" && slices.Contains(r.Argv, "init") && !slices.Contains(r.Argv, "phase") {
			t.Errorf("it was begun: %q", r.Argv)
		}
	}
}

// TestScaleOutWithoutBalancer: a scale-out fails because the load balancer does not answer. Rolling back succeeds without
// it.
func TestScaleOutWithoutBalancer(t *testing.T) {
	t.Parallel()
	l := newBalancedLab(t)
	id := l.balanced("simple", 0)
	if err := l.World.Stop("externalLB-0"); err != nil {
		t.Fatal(err)
	}
	opID, err := l.Scale(t.Context(), id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"})
	if err := l.Fails(opID, err); !strings.Contains(err.Error(), ":8383") {
		t.Errorf("the error is %v", err)
	}
	l.RollBack(opID)
	if !strings.Contains(l.Log(), "the load balancer could not be brought up to date") {
		t.Error("nobody was told of the load balancer")
	}
	l.Must(l.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: l.vnfcs(id, "externalLB-0")}))
	l.want(1, 1, 0)
	l.wantRoutes(id)
}
