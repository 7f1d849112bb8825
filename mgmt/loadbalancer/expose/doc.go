// Package expose is the management driver of CNFs whose services are to be reached from outside through the load balancer
// of their cluster, as Tacker's driver for NodePorts does it: each port of their Services of type NodePort or LoadBalancer
// gets the port of that number at the load balancer, and leads to all nodes of the cluster there. It follows the cluster
// when that is scaled or healed.
//
//	driver := expose.New(expose.Config{Pool: pool})
//	m, err := vnflcm.New(ctx, vnflcm.Config{..., Mgmt: map[string]vnflcm.MgmtDriver{"mgmt-drivers-cnf-nodeport": driver}})
//
// The VNFD names it for instantiate_end, scale_end, heal_start, heal_end, and terminate_start or terminate_end. A request
// says where the load balancer is:
//
//	"additionalParams": {
//	  "lcm-kubernetes-def-files": ["Files/kubernetes/shop.yaml"],
//	  "lcm-kubernetes-external-lb": {
//	    "external_lb_param": {"ssh_ip": "192.0.2.10", "ssh_username": "ubuntu", "ssh_password": "..."}
//	  }
//	}
//
// ssh_ip may be a host name too, and have a port. Instead of ssh_password there may be ssh_private_key (PEM) with
// ssh_passphrase; host_key is the key of the machine in authorized_keys form, otherwise the first that it shows is kept for
// the life of the instance. When the load balancer is healed, the driver of its cluster leaves the new key in the cluster
// (below), and that is trusted. The machine must be the load balancer of the cluster already (package loadbalancer).
// Tacker's script_path is accepted and not run: it would write into a haproxy.cfg that is rendered whole.
//
// UDP and SCTP cannot be balanced by haproxy: such ports are left out, with a warning.
//
// What is served is kept in the cluster too, as a ConfigMap, so that it comes back when the machine of the load balancer is
// healed. A cluster that does not allow that is warned of.
//
// When the VNF is terminated, a load balancer that cannot be reached for Timeouts.Reach is left as it is, with a warning.
// Whatever else is wrong with it fails the operation, unless the termination is forceful.
package expose
