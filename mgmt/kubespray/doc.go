// Package kubespray sets up a Kubernetes cluster on the machines of a VNF by running kubespray's playbooks on an Ansible
// server, with a load balancer for the cluster's API and services:
//
//	driver := kubespray.New(kubespray.Config{Pool: pool})
//	manager, err := vnflcm.New(ctx, vnflcm.Config{Mgmt: map[string]vnflcm.MgmtDriver{"mgmt-drivers-kubespray": driver}, ...})
//
// Requests have the parameters of Tacker's kubespray driver (additionalParams.k8s_cluster_installation_param): ansible,
// master_node, worker_node, proxy, external_lb_param, vim_name. The driver checks all of them and reports every fault
// before it changes anything. Parameters beyond Tacker are private_key, passphrase and become_password of machines, port,
// host_key and vault_password of the Ansible server, kubespray_groups, drain_policy and vim_registration.
//
// # Operations
//
// Instantiate runs cluster.yml, sets up the load balancer at the same time, waits until all nodes are Ready, and registers
// the cluster as a VIM with its CA. Scale-out runs facts.yml and scale.yml for the new workers, then adds them to the
// routes of the load balancer. Before a worker is removed by scale-in or replaced by heal, the load balancer waits until
// the worker's connections have ended, and the driver drains the worker. Scale-in then runs remove-node.yml. The driver
// deletes Node objects of dead and of healed workers after their machines. A healed load balancer gets all routes of the
// old one, including those to services of CNFs. Control-plane nodes are healed only with the whole VNF, because kubespray
// has no playbook that replaces one.
//
// A playbook runs as a job on the Ansible server: it continues when this process ends or loses its lease, and the process
// that resumes the operation follows the same run. The driver stops a playbook when the user cancels the operation, and at
// its deadline. Config.Output receives what the playbook prints.
//
// # On the Ansible server
//
// Each instance has a separate directory, transferring_inventory_path or .vnfkit/kubespray/<instance> in the login user's
// home, of mode 0700, with the inventory, group variables, host keys, logs and Ansible's facts of the nodes. The sockets of
// SSH connections to the nodes are in .vnfkit/cp in the home, in one directory per instance: sockets need short paths. If
// the directory has files that the driver did not write, the request fails (ErrDirectory). Terminate removes what the
// driver created. The driver first copies the variables of kubespray's sample inventory, and operators may edit the copies;
// the driver's own variables are in files named zz_vnfkit.yml, which take precedence.
//
// Passwords are in one file of mode 0600, encrypted with vault_password if the request has one. Private keys are beside it,
// of mode 0600, without their passphrase. Ansible trusts only the host keys that the driver has recorded, whatever
// kubespray's ansible.cfg says. While Ansible runs tasks on a node, the URL of a proxy, with its password, is visible on
// command lines of the node, because Ansible sets the environment of tasks there.
package kubespray
