package etcd_test

import (
	"fmt"

	"github.com/vnfkit/vnfkit/mgmt/kubeadm/etcd"
)

// Two of five control-plane nodes are dead. Both may be removed. A third, healthy one may not be removed while they are
// members.
func ExamplePlanRemoval() {
	members := []etcd.Member{
		{ID: 1, Name: "master-1", Healthy: true}, {ID: 2, Name: "master-2", Healthy: true}, {ID: 3, Name: "master-3", Healthy: true},
		{ID: 4, Name: "master-4"}, {ID: 5, Name: "master-5"},
	}
	fmt.Println(etcd.PlanRemoval(members, 4, 5))
	fmt.Println(etcd.PlanRemoval(members, 3))
	// Output:
	// [4 5] <nil>
	// [] removing master-3 leaves etcd 4 voting members of which 2 are healthy: 3 are needed; bring back master-4, master-5 first, or heal the whole VNF, which makes a new cluster
}
