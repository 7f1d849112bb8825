// Package etcd lists and removes etcd members of a cluster that kubeadm created, and decides whether control-plane nodes
// may be removed.
//
// First decide whether the cluster keeps its quorum without the members, then remove them in the order that PlanRemoval
// returns:
//
//	client, err := etcd.Open(etcd.Config{Endpoint: "https://10.0.0.11:2379", TLS: tls, Dial: node.DialContext})
//	defer client.Close()
//	members, err := client.Members(ctx, nil)
//	order, err := etcd.PlanRemoval(members, dead.ID)
//	for _, id := range order {
//		err = client.Remove(ctx, id)
//	}
//
// PlanRemoval and CheckJoin depend only on their arguments. Only the Client sends requests.
package etcd
