// Package kubeadm is the management driver that sets up a Kubernetes cluster on the machines of a VNF.
//
//	pool := sshexec.NewPool(sshexec.Options{})
//	manager, err := vnflcm.New(ctx, vnflcm.Config{
//		Mgmt: map[string]vnflcm.MgmtDriver{"mgmt-drivers-kubernetes": kubeadm.New(kubeadm.Config{Pool: pool})},
//		...
//	})
//
// The VNFD names the driver, under the key of its artifact, for the hooks instantiate_end, scale_start, scale_end,
// heal_start, heal_end, terminate_start and terminate_end. The instantiate request says in
// additionalParams.k8s_cluster_installation_param which machines are control-plane nodes and which are workers, how to log
// in, and the networks of the cluster. The attributes are Tacker's. docs/kubeadm.md of this module lists all of them, and
// describes how a cluster is created, healed and terminated.
//
// Nodes are prepared in one of two ways:
//
//   - With script_path, the driver runs a script of the package on each node, with the arguments, environment and
//     output lines of Tacker's contract. The script names nodes by the last part of their address, so the driver
//     finds nodes by their InternalIP, and refuses addresses that would get the same name.
//   - Without script_path, the driver sets up the machine itself: hosts file, kernel settings, packages in a fixed
//     version from a signed repository or from the package sources of the machine's image, containerd, and haproxy
//     and keepalived if the API has a virtual address. Then it runs kubeadm with configuration documents on standard
//     input. Nodes are named by role and whole address.
//
// With external_lb_param another machine of the VNF is a load balancer, through which nodes and clients reach the API
// (package loadbalancer).
//
// The driver works on all machines concurrently. Control-plane nodes join one after the other if they are healed or added, with a script
// of the package, and before Kubernetes 1.31: etcd accepts one new member at a time, and later versions of kubeadm can be told
// to wait long enough. Join tokens are created for each operation, pinned to the cluster's CA, and revoked after it.
//
// Healing single nodes does not need the lost machines. Control-plane nodes can be healed as long as etcd keeps its quorum
// (package etcd). The driver sends requests to the Kubernetes API and to etcd through SSH, by way of any remaining
// control-plane node that answers. The cluster is registered as a VIM, with an account whose role and token the request may
// choose.
//
// The driver is a vnflcm.PackageBatcher: nodes get the machines of another package one batch at a time while the cluster runs.
//
// The driver is a vnflcm.Maintainer: it renews the certificates of the control plane when it is asked to.
//
// Control-plane nodes can be added and removed, to an odd number of them, if the API is at a virtual address or a load balancer.
//
// A machine of the VNF can export its volumes to the nodes over NFS.
package kubeadm
