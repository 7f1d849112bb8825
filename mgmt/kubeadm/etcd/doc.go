// Package etcd looks after the etcd members of a cluster that kubeadm made: it answers whether control-plane
// nodes may be taken away, and takes their members out.
//
// First ask whether the cluster survives it, then remove, in the order that the answer gives:
//
//	client, err := etcd.Open(etcd.Config{Endpoint: "https://10.0.0.11:2379", TLS: tls, Dial: master.DialContext})
//	defer client.Close()
//	members, err := client.Members(ctx, nil)
//	order, err := etcd.PlanRemoval(members, dead.ID)
//	for _, id := range order {
//		err = client.Remove(ctx, id)
//	}
//
// The decision is a pure function of what the members are; nothing but the client does any I/O.
package etcd
