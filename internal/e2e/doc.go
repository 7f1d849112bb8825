// Package e2e runs drivers and whole VNF lifecycles against real parts. Its tests run when VNFKIT_E2E names the part,
// and skip otherwise:
//
//	ssh   sshexec, Manager and kubeadm driver against real OpenSSH servers, on hosts with separate files,
//	      processes and networks (package vmhost), with Debian's programs or busybox, with and without
//	      systemd and SFTP. Shell, sudo, sshd, sftp, ssh-agent, ssh-keygen and ssh-keyscan are real.
//	      A small program stands in for kubeadm, apt-get and other programs of nodes: it asks the test
//	      process, where the strict simulation of the sandbox answers. Needs Linux, root, and the Debian
//	      packages openssh-server, sudo, iproute2, systemd and busybox. A benchmark compares with Ansible
//	      if Ansible is installed.
//	openstack
//	      infra/openstack against Keystone, Heat, Nova, Neutron, Placement and Glance of Debian (package
//	      cloud). This part creates no hosts, so it can run at the same time as another part.
//	kubeadm
//	      mgmt/kubeadm with real kubeadm, kubelet, containerd, etcd, haproxy, keepalived, apt and a private
//	      registry, on machines with systemd that share one kernel (package kube); mgmt/cluster and
//	      mgmt/kubeadm/etcd against the API server and etcd. nfs-ganesha replaces the NFS server of the
//	      kernel, and libnfs the client. The first run builds Kubernetes.
//	kubeadm-full
//	      long scenarios of mgmt/kubeadm on the same machines: nodes that a script of the package sets up, and a CNF
//	      that the helm program installs on three control-plane nodes, one of which dies; the life of a cluster on
//	      machines with Debian 13. Where the packages of OpenStack are installed, three control-plane nodes run at the
//	      addresses of OpenStack's servers.
//	kubeadm-restore
//	      control-plane nodes are lost for good, and etcd is restored on the same machines, under load. A cluster whose
//	      machines have no route to public servers lives from a registry of mgmt/registry and from mirrors of packages.
//	helm
//	      helmclient and infra/kubernetes on etcd, kube-apiserver, kube-controller-manager and scheduler; kwok
//	      simulates the nodes (package controlplane). Helm 3 and 4 run in the test process, and their programs on
//	      machines behind sshd. The chart repository and Debian's registry have passwords and certificates.
//	all
//	      a cluster VNF, a registry VNF, and a CNF whose chart runs on the cluster with an image of the registry: on
//	      machines of an infrastructure driver of the tests and, if OpenStack's packages are installed, on machines at
//	      the addresses of OpenStack's servers. On these also the kubeadm driver, simulated as in part ssh.
//	tacker
//	      the life of a cluster on that OpenStack; Tacker's conductor runs its hooks (examples/tacker-mgmt-driver).
//	kubespray
//	      mgmt/kubespray and mgmt/loadbalancer with Debian's Ansible on one machine, playbooks with kubespray's names and
//	      contract that build real clusters on other machines, and haproxy from packages; a client that counts failed
//	      requests.
//	kubespray-real
//	      mgmt/kubespray with kubespray's playbooks from the checkout that VNFKIT_KUBESPRAY names. The files that the
//	      playbooks download are built from the Go module proxy.
//	registry
//	      mgmt/registry with Docker and the registry of Debian, apt and disks, on the same machines; machines
//	      with containerd and with Docker, and a cluster, pull from the registry. A benchmark compares with scp.
package e2e
