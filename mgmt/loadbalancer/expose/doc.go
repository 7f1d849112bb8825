// Package expose is the management driver for CNFs whose services are reached from outside through the load balancer of
// their cluster, like Tacker's driver for NodePorts: for each port of their Services of type NodePort or LoadBalancer, the
// load balancer listens at the same port number and forwards to all nodes of the cluster. It follows the cluster when that
// is scaled or healed.
//
//	driver := expose.New(expose.Config{Pool: pool})
//	m, err := vnflcm.New(ctx, vnflcm.Config{..., Mgmt: map[string]vnflcm.MgmtDriver{"mgmt-drivers-cnf-nodeport": driver}})
//
// The VNFD names it for instantiate_end, scale_end, heal_start, heal_end, and terminate_start or terminate_end. The
// request has the login of the load balancer:
//
//	"additionalParams": {
//	  "lcm-kubernetes-def-files": ["Files/kubernetes/shop.yaml"],
//	  "lcm-kubernetes-external-lb": {
//	    "external_lb_param": {"ssh_ip": "192.0.2.10", "ssh_username": "ubuntu", "ssh_password": "..."}
//	  }
//	}
//
// ssh_ip may also be a host name, and have a port. Instead of ssh_password, ssh_private_key (PEM) with ssh_passphrase is
// possible. host_key is the key of the machine in authorized_keys form; without it, the first key that the machine shows
// is trusted for the life of the instance. When the load balancer is healed, the driver of its cluster stores the new host
// key in the cluster (below), and this driver trusts that key. The machine must already be the load balancer of the cluster
// (package loadbalancer). Tacker's script_path is accepted and not run: it would write into haproxy.cfg, which the load
// balancer renders completely.
//
// haproxy cannot balance UDP and SCTP: such ports are left out, with a warning.
//
// The exposed ports are also stored in the cluster, as a ConfigMap, so that they are restored when the machine of the load
// balancer is healed. If the cluster does not allow that, the driver logs a warning.
//
// When the VNF is terminated and the load balancer cannot be reached for Timeouts.Reach, it is left unchanged, with a
// warning. Any other failure fails the operation, unless the termination is forceful.
package expose
