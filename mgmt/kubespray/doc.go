// Package kubespray makes the machines of a VNF a Kubernetes cluster by running kubespray's playbooks on an Ansible server,
// with a load balancer for its API and its services:
//
//	driver := kubespray.New(kubespray.Config{Pool: pool})
//	manager, err := vnflcm.New(ctx, vnflcm.Config{Mgmt: map[string]vnflcm.MgmtDriver{"mgmt-drivers-kubespray": driver}, ...})
//
// Requests have the parameters of Tacker's kubespray driver (additionalParams.k8s_cluster_installation_param): ansible,
// master_node, worker_node, proxy, external_lb_param, vim_name. All of them are checked, and every fault is told, before
// anything is touched. Beyond Tacker there are private_key, passphrase and become_password of machines, port, host_key
// and vault_password of the Ansible server, kubespray_groups, drain_policy and vim_registration.
//
// # Operations
//
// Instantiate runs cluster.yml, makes the load balancer meanwhile, waits until all nodes are Ready, and registers the
// cluster as a VIM with its CA. Scale-out runs facts.yml and scale.yml for the new workers, then leads to them. Scale-in
// and heal have the load balancer wait for the connections of a worker and drain its pods. Scale-in then runs
// remove-node.yml. Node objects of dead and of healed workers are deleted after their machines. A load balancer is healed with
// all its routes, those of CNFs too. Control-plane nodes are healed with the whole VNF only, since kubespray has no playbook
// that replaces one.
//
// A playbook runs by itself: when this process ends, or loses its lease, it goes on, and whoever resumes the operation
// finds it again. It is stopped when the user cancels the operation, and at its deadline. Config.Output gets what it
// writes.
//
// # On the Ansible server
//
// Each instance has a directory of its own, transferring_inventory_path or .vnfkit/kubespray/<instance> in the login
// user's home, of mode 0700, with the inventory, group variables, host keys, logs and what Ansible remembers of the nodes.
// Its connections to them are in .vnfkit/cp in the home, apart by instance: sockets need short paths. Where something is
// there already that is not ours, the request fails (ErrDirectory); terminate removes what we made. Variables
// of kubespray's sample inventory are copied first, and may be edited: ours are in files zz_vnfkit.yml and win.
//
// Passwords are in one file of mode 0600, encrypted with vault_password if there is one; private keys lie beside it, of
// mode 0600, without their passphrase. Ansible trusts the host keys that the driver has seen and no others, whatever the
// ansible.cfg of kubespray says. That a proxy's URL, with its password, is on command lines of nodes while Ansible runs tasks
// there is Ansible's way of setting their environment.
package kubespray
