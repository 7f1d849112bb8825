package kubeadm_test

import (
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/vnflcm"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares with a file of testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s:\n%s", name, diff)
	}
}

// node is a machine with an address at the connection point M (masters) or W, and a floating one if given.
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
	oneMaster    = []mgmt.Node{node("master", "10.10.0.10", "203.0.113.9")}
	threeMasters = []mgmt.Node{node("master", "10.10.0.10", "203.0.113.9"), node("master", "10.10.1.11", ""), node("master", "10.10.2.12", "")}
	worker       = []mgmt.Node{node("worker", "10.10.3.13", "")}
)

// sites are the clusters whose files are rendered, by the names of the golden files.
var sites = map[string]struct {
	param   string
	masters []mgmt.Node
	workers []mgmt.Node
	points  []vnflcm.ConnectionPoint
}{
	"one-master": {`{"master_node":{"cluster_cp_name":"M"}}`, oneMaster, worker, nil},
	"v1beta3": {`{"kubernetes_version":"1.30.14","master_node":{"cluster_cp_name":"M","taints":[]},
		"worker_node":{"labels":{"disk":"ssd","example.org/tier":"1"},"taints":"dedicated=media:NoSchedule"}}`, oneMaster, worker, nil},
	"virtual-address": {`{"master_node":{"cluster_cp_name":"vip_CP","pod_cidr":"10.244.0.0/16"}}`, threeMasters, worker,
		[]vnflcm.ConnectionPoint{point("vip_CP", "10.10.0.200", "203.0.113.10")}},
	"outside": {`{"api_endpoint":"api.example.org","kubelet_configuration":{"cgroupDriver":"cgroupfs","maxPods":200,
		"featureGates":{"KubeletInUserNamespace":true},"failSwapOn":false,"evictionPressureTransitionPeriod":"30s"},
		"kube_proxy_configuration":{"mode":"nftables","conntrack":{"maxPerCore":0,"min":0}},"ignore_preflight_errors":["NumCPU","Mem"],
		"master_node":{"labels":{"kubernetes.io/role":"m","zone":"a"},"taints":["example.org/a:NoExecute"]}}`, threeMasters, worker, nil},
	"ipv6": {`{"master_node":{"cluster_cp_name":"vip_CP","pod_cidr":"fd01::/56","cluster_cidr":"fd02::/112"}}`,
		[]mgmt.Node{node("master", "2001:db8::a", ""), node("master", "2001:db8:0:1::b", "")}, []mgmt.Node{node("worker", "2001:db8::c", "")},
		[]vnflcm.ConnectionPoint{point("vip_CP", "2001:db8::f", "")}},
}

func site(t *testing.T, name string) kubeadm.Site {
	t.Helper()
	s := sites[name]
	out, err := kubeadm.NewSite(s.param, s.masters, s.workers, s.points)
	if err != nil {
		t.Fatal(err)
	}
	if faults := out.Faults(); len(faults) > 0 {
		t.Fatalf("%v", faults)
	}
	return out
}

// TestDocuments: what kubeadm is given, which "kubeadm config validate" has been seen to accept.
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
			golden(t, name+".init.yaml", bootstrapToken.ReplaceAll(initial, []byte("abcdef.0123456789abcdef")))
			last := c.masters[len(c.masters)-1]
			for kind, n := range map[string]mgmt.Node{"control-plane": last, "worker": c.workers[0]} {
				join, err := s.Join(n, kind == "control-plane")
				if err != nil {
					t.Fatal(err)
				}
				golden(t, name+".join-"+kind+".yaml", join)
			}
		})
	}
}

// TestFlannel: the manifest of clusters whose package brings no network.
func TestFlannel(t *testing.T) {
	t.Parallel()
	for name, param := range map[string]string{
		"flannel.yaml":         `{"master_node":{"cluster_cp_name":"M","pod_cidr":"10.244.0.0/16"}}`,
		"flannel-host-gw.yaml": `{"flannel":{"image":"registry.example.org:5000/net/flannel:v1","cni_plugin_image":"r:5000/p@sha256:` + strings.Repeat("0", 64) + `","backend":"host-gw"},"master_node":{"cluster_cp_name":"M","pod_cidr":"fd01::/56"}}`,
	} {
		s, err := kubeadm.NewSite(param, oneMaster, worker, nil)
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
		golden(t, name, got)
		if strings.Contains(string(got), "@image") || strings.Contains(string(got), "@cni") || strings.Contains(string(got), "@net") {
			t.Errorf("%s: something was not filled in", name)
		}
	}
}
