// Package loadbalancer makes a machine the load balancer of a Kubernetes cluster, with haproxy: for its API, and for
// what runs in it and is to be reached from outside.
//
//	lb := loadbalancer.On(node.SSH)
//	err := lb.Install(ctx, proxy)
//	err = lb.Put(ctx, "cluster/"+instanceID, loadbalancer.Cluster(0, masters, workers))
//	err = lb.Put(ctx, "cnf/"+other, loadbalancer.Part{Frontends: []loadbalancer.Frontend{
//		{Name: "web", Port: 30080, To: []string{"masters", "workers"}, Toward: 30080},
//	}})
//	left, err := lb.Drain(ctx, []string{worker.ID}, time.Minute)
//
// # Parts
//
// What haproxy does is the sum of the parts of owners who know nothing of each other: a cluster and the services of
// several VNFs in it. An owner puts its part and takes it away again; the services name the groups of machines of the
// cluster, and so follow it when it grows and shrinks. The parts are kept on the machine, in [PartsFile], and
// haproxy.cfg is rendered whole from them. Writers who come at once lose nothing of each other: each replaces what it
// has read, and reads anew when somebody was faster. A writer that dies leaves the old state or the new one, or new
// parts with the old haproxy.cfg, which the next writer mends.
//
// haproxy itself checks each configuration before it takes the place of the last one. A haproxy.cfg that was there
// before is kept once, as haproxy.cfg.before-vnfkit.
//
// # Connections
//
// haproxy is reloaded, never restarted: its new worker takes over the listening sockets, and the old one goes on with
// the connections that it has. Put returns when all that is meant to be served is, by the new worker alone.
//
// Drain renders the machines out of haproxy.cfg, which makes it hold across whatever others do meanwhile, and counts the
// connections of all workers, old and new, with ss(8). haproxy's own interface, a UNIX socket, is not used: it takes
// effect in one worker only, until the next reload, and a minimal Debian or Ubuntu has no program to speak to it, while
// iproute2 is there for the network itself.
package loadbalancer
