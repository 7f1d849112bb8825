package kubeadm_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// node returns a machine with an address at the connection point M (control-plane nodes) or W, and a floating address if given.
func node(role, addr, floating string) mgmt.Node {
	ip, cpd := netip.MustParseAddr(addr), map[string]string{"master": "M", "worker": "W"}[role]
	cp := vnflcm.ConnectionPoint{CPD: cpd, Fixed: []netip.Addr{ip}}
	if floating != "" {
		cp.Floating = netip.MustParseAddr(floating)
	}
	name := mgmt.HostName(role, ip)
	return mgmt.Node{VNFC: vnflcm.VNFC{ID: name, CPs: []vnflcm.ConnectionPoint{cp}}, HostName: name, IP: ip}
}

func point(cpd, addr, floating string) vnflcm.ConnectionPoint {
	cp := vnflcm.ConnectionPoint{CPD: cpd, Fixed: []netip.Addr{netip.MustParseAddr(addr)}}
	if floating != "" {
		cp.Floating = netip.MustParseAddr(floating)
	}
	return cp
}

var (
	oneControlPlane   = []mgmt.Node{node("master", "10.10.0.10", "203.0.113.9")}
	threeControlPlane = []mgmt.Node{node("master", "10.10.0.10", "203.0.113.9"), node("master", "10.10.1.11", ""), node("master", "10.10.2.12", "")}
	// balancerNode is a load balancer in two networks, with a floating address in the clients' network.
	balancerNode = mgmt.Node{VNFC: vnflcm.VNFC{ID: "lb", CPs: []vnflcm.ConnectionPoint{point("E", "192.0.2.7", "203.0.113.7"), point("N", "10.10.0.7", "")}},
		HostName: "lb-10-10-0-7", IP: netip.MustParseAddr("10.10.0.7")}
	worker = []mgmt.Node{node("worker", "10.10.3.13", "")}
)

// sites are the clusters whose files are rendered, by the name of their golden files.
var sites = map[string]struct {
	param        string
	controlPlane []mgmt.Node
	workers      []mgmt.Node
	points       []vnflcm.ConnectionPoint
}{
	"one-control-plane-node": {`{"master_node":{"cluster_cp_name":"M"}}`, oneControlPlane, worker, nil},
	"v1beta3": {`{"kubernetes_version":"1.30.14","master_node":{"cluster_cp_name":"M","taints":[]},
		"worker_node":{"labels":{"disk":"ssd","example.org/tier":"1"},"taints":"dedicated=media:NoSchedule"}}`, oneControlPlane, worker, nil},
	"previous-minor": {`{"kubernetes_version":"1.34.4","master_node":{"cluster_cp_name":"M"}}`, oneControlPlane, worker, nil},
	"newest-minor":   {`{"kubernetes_version":"1.37.2","master_node":{"cluster_cp_name":"M"}}`, oneControlPlane, worker, nil},
	"virtual-address": {`{"master_node":{"cluster_cp_name":"vip_CP","pod_cidr":"10.244.0.0/16"}}`, threeControlPlane, worker,
		[]vnflcm.ConnectionPoint{point("vip_CP", "10.10.0.200", "203.0.113.10")}},
	"outside": {`{"api_endpoint":"api.example.org","kubelet_configuration":{"cgroupDriver":"cgroupfs","maxPods":200,
		"featureGates":{"KubeletInUserNamespace":true},"failSwapOn":false,"evictionPressureTransitionPeriod":"30s"},
		"kube_proxy_configuration":{"mode":"nftables","conntrack":{"maxPerCore":0,"min":0}},"ignore_preflight_errors":["NumCPU","Mem"],
		"master_node":{"labels":{"kubernetes.io/role":"m","zone":"a"},"taints":["example.org/a:NoExecute"]}}`, threeControlPlane, worker, nil},
	"user-configuration":         {userParams, threeControlPlane, worker, nil},
	"user-configuration-v1beta3": {`{"kubernetes_version":"1.30.14",` + userParams[1:], threeControlPlane, worker, nil},
	"load-balancer":              {`{"external_lb_param":{"ssh_cp_name":"E","nic_cp_name":"N"}}`, oneControlPlane, append([]mgmt.Node{balancerNode}, worker...), nil},
	"ipv6": {`{"master_node":{"cluster_cp_name":"vip_CP","pod_cidr":"fd01::/56","cluster_cidr":"fd02::/112"}}`,
		[]mgmt.Node{node("master", "2001:db8::a", ""), node("master", "2001:db8:0:1::b", "")}, []mgmt.Node{node("worker", "2001:db8::c", "")},
		[]vnflcm.ConnectionPoint{point("vip_CP", "2001:db8::f", "")}},
}

func site(t *testing.T, name string) kubeadm.Site {
	t.Helper()
	s := sites[name]
	out, err := kubeadm.NewSite(s.param, s.controlPlane, s.workers, s.points)
	if err != nil {
		t.Fatal(err)
	}
	if faults := out.Faults(); len(faults) > 0 {
		t.Fatalf("%v", faults)
	}
	return out
}

// TestDocuments compares kubeadm's configuration. "kubeadm config validate" has accepted the golden files.
func TestDocuments(t *testing.T) {
	t.Parallel()
	for name, c := range sites {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := site(t, name)
			initial, err := s.Init()
			if err != nil {
				t.Fatal(err)
			}
			clustertest.Golden(t, name+".init.yaml", bootstrapToken.ReplaceAll(initial, []byte("abcdef.0123456789abcdef")))
			last := c.controlPlane[len(c.controlPlane)-1]
			for kind, n := range map[string]mgmt.Node{"control-plane": last, "worker": c.workers[0]} {
				join, err := s.Join(n, kind == "control-plane")
				if err != nil {
					t.Fatal(err)
				}
				clustertest.Golden(t, name+".join-"+kind+".yaml", join)
			}
		})
	}
}

// TestFlannel compares the manifest of clusters whose package has no pod network.
func TestFlannel(t *testing.T) {
	t.Parallel()
	for name, param := range map[string]string{
		"flannel.yaml":         `{"master_node":{"cluster_cp_name":"M","pod_cidr":"10.244.0.0/16"}}`,
		"flannel-host-gw.yaml": `{"flannel":{"image":"registry.example.org:5000/net/flannel:v1","cni_plugin_image":"r:5000/p@sha256:` + strings.Repeat("0", 64) + `","backend":"host-gw"},"master_node":{"cluster_cp_name":"M","pod_cidr":"fd01::/56"}}`,
	} {
		s, err := kubeadm.NewSite(param, oneControlPlane, worker, nil)
		if err != nil {
			t.Fatal(err)
		}
		if faults := s.Faults(); len(faults) > 0 {
			t.Errorf("%v", faults)
		}
		got, err := s.Network()
		if err != nil {
			t.Fatal(err)
		}
		clustertest.Golden(t, name, got)
		if strings.Contains(string(got), "@image") || strings.Contains(string(got), "@cni") || strings.Contains(string(got), "@net") {
			t.Errorf("%s: something was not filled in", name)
		}
	}
}

// TestBalancer compares the files of haproxy and keepalived. "haproxy -c" and "keepalived -t" have accepted the golden
// files.
func TestBalancer(t *testing.T) {
	t.Parallel()
	const (
		four = "1: lo    inet 127.0.0.1/8 scope host lo\\ valid_lft forever\n2: ens3    inet 192.168.9.4/24 brd 192.168.9.255 scope global ens3\\ valid_lft 1sec\n" +
			"3: ens4@if7    inet 10.10.0.200/32 scope global ens4\\ valid_lft forever\n3: ens4@if7    inet 10.10.1.11/16 scope global ens4\\ valid_lft forever\n"
		six = "1: lo    inet6 ::1/128 scope host \\ valid_lft forever\n2: ens3    inet6 fe80::1/64 scope link \\ valid_lft forever\n2: ens3    inet6 2001:db8::a/48 scope global \\ valid_lft forever\n"
	)
	for name, addresses := range map[string]string{"virtual-address": four, "ipv6": six} {
		s := site(t, name)
		haproxy, keepalived, err := s.Balancer(sites[name].controlPlane[1], addresses)
		if err != nil || !s.Balanced() {
			t.Fatalf("%v, %v", err, s.Balanced())
		}
		clustertest.Golden(t, name+".haproxy.cfg", []byte(haproxy))
		clustertest.Golden(t, name+".keepalived.conf", []byte(keepalived))
	}
	for _, name := range []string{"one-control-plane-node", "outside"} {
		if site(t, name).Balanced() {
			t.Errorf("%s: nobody asked for a load balancer", name)
		}
	}
}

// TestContainerd compares the configuration for each version, on machines that are containers and on others.
func TestContainerd(t *testing.T) {
	t.Parallel()
	const images = "registry.k8s.io/kube-apiserver:v1.35.4\nregistry.k8s.io/coredns/coredns:v1.13.1\nregistry.k8s.io/pause:3.10.1\n"
	const whole, limited = "Name:\tsystemd\nCapBnd:\t000001ffffffffff\n", "CapEff:\t000001ffffffffff\nCapBnd:\t000001fffeffffff\n"
	for name, c := range map[string]struct{ site, version, status string }{
		"containerd-1.6.toml": {"one-control-plane-node", "containerd github.com/containerd/containerd 1.6.20~ds1 1.6.20~ds1-1+deb12u1", whole},
		"containerd-1.7.toml": {"outside", "containerd containerd.io 1.7.27 05044ec0a9a75232cad458027ca83437aae3f4da", limited},
		"containerd-2.0.toml": {"one-control-plane-node", "containerd github.com/containerd/containerd/v2 v2.0.5 fb4c30d4ede3531652d86197bf3fc9515e5276d9", whole},
		"containerd-2.2.toml": {"outside", "containerd github.com/containerd/containerd/v2 2.2.1 x", limited},
	} {
		got, err := site(t, c.site).ContainerdConfig(c.version, images, c.status)
		if err != nil {
			t.Fatal(err)
		}
		clustertest.Golden(t, name, got)
	}
	for _, version := range []string{"", "containerd", "containerd x 3.0.0", "containerd x 0.9.1", "runc version 1.1.5"} {
		if _, err := site(t, "one-control-plane-node").ContainerdConfig(version, images, whole); err == nil {
			t.Errorf("%q is a version", version)
		}
	}
}

// TestNodeLabels checks the labels from the VIM and from the request.
func TestNodeLabels(t *testing.T) {
	t.Parallel()
	s := site(t, "v1beta3")
	n := worker[0]
	n.Host, n.Zone = "compute-01.example.org", "zone a"
	want := map[string]string{"CIS-node": "compute-01.example.org", "disk": "ssd", "example.org/tier": "1"}
	if diff := cmp.Diff(want, s.Labels(n)); diff != "" {
		t.Error(diff)
	}
	n.Zone = "a"
	want["kubernetes.io/zone"], want["topology.kubernetes.io/zone"] = "a", "a"
	if diff := cmp.Diff(want, s.Labels(n)); diff != "" {
		t.Error(diff)
	}
}
