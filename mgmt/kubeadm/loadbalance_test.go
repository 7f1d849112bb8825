package kubeadm_test

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// rebalancing is the driver. In a scale-out it configures haproxy with all control-plane nodes except for the last.
type rebalancing struct{ *kubeadm.Driver }

func (r rebalancing) Hooks() vnflcm.Hooks {
	hooks := r.Driver.Hooks()
	hooks[vnflcm.ScaleStart] = func(ctx context.Context, op *vnflcm.Operation) error {
		return kubeadm.Balance(ctx, r.Driver, op, func(controlPlane []mgmt.Node) []mgmt.Node { return controlPlane[:len(controlPlane)-1] })
	}
	return hooks
}

// TestBalance checks that the API answers at the virtual address, whichever node has it, and that a control-plane node can
// be removed from haproxy.
func TestBalance(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	id := l.Instantiated("instantiate_sandbox.json", append(virtual(t), clustertest.Sized("complex", 0))...)
	l.want(3, 1, 0)
	vim, err := l.VIMs().Get(t.Context(), "", kubeadm.VIMID(id))
	if err != nil || !strings.Contains(string(vim.AccessInfo.Reveal()), ":16443") {
		t.Errorf("the cluster is registered elsewhere: %v", err)
	}
	before := l.file("masterNode-0", "/etc/keepalived/keepalived.conf")
	info, err := l.host("masterNode-0").FS().Stat("/etc/keepalived/keepalived.conf")
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others can read the password: %v, %v", info, err)
	}
	if l.file("masterNode-0", "/etc/haproxy/haproxy.cfg") != l.file("masterNode-1", "/etc/haproxy/haproxy.cfg") {
		t.Error("haproxy is not the same on all")
	}
	for _, line := range []string{"virtual_router_id", "auth_pass"} {
		if lineOf(before, line) == "" || lineOf(before, line) != lineOf(l.file("masterNode-2", "/etc/keepalived/keepalived.conf"), line) {
			t.Errorf("%s is not the same on all", line)
		}
	}
	if lineOf(before, "priority") == lineOf(l.file("masterNode-1", "/etc/keepalived/keepalived.conf"), "priority") {
		t.Error("two nodes have the same priority")
	}

	// The node that has the address and the node that leads etcd die. The remaining nodes take over both.
	if err := l.World.Stop("masterNode-0"); err != nil {
		t.Fatal(err)
	}
	pool := sshexec.NewPool(sshexec.Options{Dial: l.World.Dial})
	t.Cleanup(func() { _ = pool.Close() })
	m := l.Process(func(c *vnflcm.Config) {
		c.Mgmt = map[string]vnflcm.MgmtDriver{driverName: rebalancing{kubeadm.New(kubeadm.Config{Pool: pool})}}
	})
	opID, err := m.Scale(t.Context(), id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"})
	l.Must(opID, err, m)
	haproxy := l.file("masterNode-1", "/etc/haproxy/haproxy.cfg")
	if n := strings.Count(haproxy, "    server "); n != 2 || strings.Contains(haproxy, "master-198-18-2-12") {
		t.Errorf("haproxy knows %d servers:\n%s", n, haproxy)
	}
	if after := l.file("masterNode-1", "/etc/keepalived/keepalived.conf"); lineOf(after, "auth_pass") != lineOf(before, "auth_pass") {
		t.Error("the password has changed: the nodes do not agree any more")
	}
	if !strings.Contains(l.Log(), "the load balancer of a node could not be brought up to date") {
		t.Error("nobody was told of the dead node")
	}
	for _, name := range []string{"/etc/haproxy/haproxy.cfg.vnfkit-new", "/etc/keepalived/keepalived.conf.vnfkit-new"} {
		if _, err := l.host("masterNode-1").FS().Stat(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left: %v", name, err)
		}
	}
}

func lineOf(text, keyword string) string {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), keyword+" ") {
			return line
		}
	}
	return ""
}

// TestRefusedByHaproxy: haproxy keeps its configuration if it refuses the new one.
func TestRefusedByHaproxy(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{sandbox: sandbox.Config{Commands: programs("haproxy", 1)}})
	_, opID, err := l.Begin("instantiate_sandbox.json", virtual(t)...)
	err = l.Fails(opID, err)
	if exit, ok := errors.AsType[*sshexec.ExitError](err); !ok || !strings.HasPrefix(exit.Command, "haproxy -c -f") {
		t.Errorf("the error is %v", err)
	}
	if _, err := l.host("masterNode-0").FS().Stat("/etc/haproxy/haproxy.cfg"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it was replaced: %v", err)
	}
}

// TestEndpoints checks the API at a load balancer outside of the VNF, and the names that a floating address can have.
func TestEndpoints(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{})
	id := l.Instantiated("instantiate_sandbox.json", with(t, `{"api_endpoint":"198.18.0.10","master_node":{"cluster_cp_name":null}}`))
	l.want(1, 1, 0)
	vim, err := l.VIMs().Get(t.Context(), "", kubeadm.VIMID(id))
	if err != nil || !strings.Contains(string(vim.AccessInfo.Reveal()), `"https://198.18.0.10:6443"`) {
		t.Errorf("the cluster is registered elsewhere: %v", err)
	}

	floating := []mgmt.Node{node("master", "198.18.0.10", "203.0.113.9")}
	for param, want := range map[string]bool{
		`{"master_node":{"cluster_cp_name":"M","cluster_fip_name":"M"}}`:               true,
		`{"master_node":{"cluster_cp_name":"M","cluster_fip_name":"cluster_fip"}}`:     true, // the floating address of M
		`{"master_node":{"cluster_cp_name":"vip_CP","cluster_fip_name":"M"}}`:          true,
		`{"master_node":{"cluster_cp_name":"vip_CP","cluster_fip_name":"vip_CP_fip"}}`: false,
		`{"api_endpoint":"lb.example.org","master_node":{"cluster_fip_name":"x"}}`:     false,
		`{"master_node":{"cluster_cp_name":"N"}}`:                                      false,
	} {
		_, err := kubeadm.NewSite(param, floating, nil, []vnflcm.ConnectionPoint{point("vip_CP", "198.18.0.200", "")})
		if (err == nil) != want {
			t.Errorf("%s: %v", param, err)
		}
	}
}

// TestHealBehindVirtualAddress: haproxy on the surviving nodes is configured without the dead control-plane node before its
// etcd member is removed, and with the new machine after it has joined.
func TestHealBehindVirtualAddress(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	id := l.Instantiated("instantiate_complex.json")
	l.want(3, 1, 0)
	if err := l.World.Stop("masterNode-0"); err != nil {
		t.Fatal(err)
	}
	known := -1 // servers in haproxy's configuration on a surviving node when the etcd member is removed
	m := l.Process(func(c *vnflcm.Config) {
		c.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
			if s.Name == "remove-member" {
				known = strings.Count(l.file("masterNode-1", "/etc/haproxy/haproxy.cfg"), "    server ")
			}
			return next(ctx)
		}
	})
	opID, err := m.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: l.vnfcs(id, "masterNode-0")})
	l.Must(opID, err, m)
	l.want(3, 1, 0)
	if known != 2 {
		t.Errorf("haproxy knew %d control-plane nodes when one was taken out", known)
	}
	for _, name := range []string{"masterNode-0", "masterNode-1", "masterNode-2"} {
		if n := strings.Count(l.file(name, "/etc/haproxy/haproxy.cfg"), "    server "); n != 3 {
			t.Errorf("haproxy on %s knows %d control-plane nodes", name, n)
		}
	}
}
