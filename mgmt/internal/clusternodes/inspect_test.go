package clusternodes

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/cluster"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestCompare finds each kind of difference between machines and nodes.
func TestCompare(t *testing.T) {
	t.Parallel()
	var machines []mgmt.Node
	for i, name := range []string{"good", "missing", "ill", "cordoned"} {
		machines = append(machines, mgmt.Node{VNFC: vnflcm.VNFC{ID: "id-" + name, Name: name}, IP: netip.AddrFrom4([4]byte{10, 0, 0, byte(i)})})
	}
	node := func(name string, last byte, ready bool) cluster.Node {
		return cluster.Node{Node: corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "uid"}}, Address: netip.AddrFrom4([4]byte{10, 0, 0, last}), Ready: ready, Reason: "no network"}
	}
	nodes := []cluster.Node{node("a", 0, true), node("b", 2, false), node("c", 3, true), node("d", 9, true)}
	nodes[2].Spec.Unschedulable = true
	if diff := cmp.Diff([]vnflcm.Finding{
		{Kind: vnflcm.Missing, Resource: "node", ID: "id-missing", Name: "missing", Detail: "the cluster has no node with the address 10.0.0.1"},
		{Kind: vnflcm.Differs, Resource: "node", ID: "id-ill", Name: "ill", Detail: "the node b is not ready: no network"},
		{Kind: vnflcm.Differs, Resource: "node", ID: "id-cordoned", Name: "cordoned", Detail: "the node c takes no pods: it is cordoned"},
		{Kind: vnflcm.Stray, Resource: "node", ID: "uid", Name: "d", Detail: "no machine of the VNF has the address 10.0.0.9"},
	}, compare(machines, nodes)); diff != "" {
		t.Error(diff)
	}
}
