// Package loadbalancer sets up haproxy on a machine as the load balancer of a Kubernetes cluster: for its API, and for
// services in the cluster that clients outside use.
//
//	lb := loadbalancer.On(node.SSH)
//	err := lb.Install(ctx, proxy)
//	err = lb.Put(ctx, "cluster/"+instanceID, loadbalancer.Cluster(0, controlPlane, workers))
//	err = lb.Put(ctx, "cnf/"+other, loadbalancer.Part{Frontends: []loadbalancer.Frontend{
//		{Name: "web", Port: 30080, To: []string{loadbalancer.ControlPlane, loadbalancer.Workers}, Toward: 30080},
//	}})
//	left, err := lb.Drain(ctx, []string{worker.ID}, time.Minute)
//
// # Parts
//
// The configuration of haproxy is made of parts. Each part has an owner: a cluster, or a VNF with services in it. Owners
// are independent; each puts and removes only its part. A service names the groups of machines of the cluster, so it
// follows the cluster when that is scaled. The parts are stored on the machine, in [PartsFile], and haproxy.cfg is
// rendered from all of them. Concurrent writers lose no changes: a writer replaces the version that it has read, and
// reads again if another writer was faster. If a writer dies, the machine has the old state, the new state, or new parts
// with the old haproxy.cfg, which the next writer completes.
//
// haproxy itself checks each configuration before it replaces the current one. The haproxy.cfg from before the first
// change is kept as haproxy.cfg.before-vnfkit.
//
// # Connections
//
// haproxy is reloaded, never restarted: its new worker takes over the listening sockets, and the old worker keeps its
// connections. Put returns when the new worker alone serves all ports.
//
// Drain removes the machines from haproxy.cfg, which has effect also after changes by other writers, and counts the
// connections of all workers, old and new, with ss(8). It does not use haproxy's control socket: a command there affects
// one worker until the next reload, and a minimal Debian or Ubuntu has no program that can use the socket, while iproute2
// is always installed.
package loadbalancer
