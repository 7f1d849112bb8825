// Package e2e runs drivers and whole VNF lifecycles against real parts. Its tests run when VNFKIT_E2E names the part,
// and skip otherwise:
//
//	ssh   sshexec, Manager and kubeadm driver against real OpenSSH servers, on hosts with their own files,
//	      processes and network (package vmhost), with Debian's programs or those of busybox, with and
//	      without systemd and SFTP. Shell, sudo, sshd and sftp are real, as are ssh-agent, ssh-keygen and
//	      ssh-keyscan; kubeadm, apt-get and their kin are a small program that asks the test process,
//	      where the strict simulation of the sandbox answers. Needs Linux, root, and the Debian packages
//	      openssh-server, sudo, iproute2, systemd and busybox. A benchmark compares with Ansible where
//	      that is installed.
//	openstack
//	      infra/openstack against Keystone, Heat, Nova, Neutron, Placement and Glance of Debian (package
//	      cloud). It makes no hosts, so it can run beside another part.
//	kubeadm
//	      mgmt/kubeadm with real kubeadm, kubelet, containerd, etcd, haproxy, keepalived, apt and a private
//	      registry, on machines with systemd that share one kernel (package kube); mgmt/cluster and
//	      mgmt/kubeadm/etcd against the API server and etcd. nfs-ganesha plays the NFS server of the kernel, and
//	      libnfs the client. Builds Kubernetes the first time.
//	kubeadm-full
//	      long scenarios of mgmt/kubeadm on the same machines: nodes that a script of the package makes, a CNF by the helm
//	      program on three control-plane nodes of which one dies, and, where the packages of OpenStack are installed, three
//	      control-plane nodes at the addresses of OpenStack's servers.
//	helm
//	      helmclient and infra/kubernetes on etcd, kube-apiserver, kube-controller-manager and scheduler, whose nodes
//	      kwok plays (package controlplane): Helm 3 and 4 in the test process, and their programs on machines behind sshd;
//	      chart repository and Debian's registry with passwords and certificates.
//	all
//	      a cluster VNF, a registry VNF, and a CNF whose chart runs on the one with its image in the other: on machines
//	      of an infrastructure driver of the tests, and on those at the addresses of OpenStack's servers, where its
//	      packages are installed. There also the kubeadm driver, simulated as in ssh.
//	tacker
//	      the life of a cluster on that OpenStack whose hooks Tacker's conductor runs (examples/tacker-mgmt-driver)
//	kubespray
//	      mgmt/kubespray and mgmt/loadbalancer with Debian's Ansible on one machine, playbooks with kubespray's names and
//	      contract that build real clusters on others, and haproxy from packages; a client that counts what fails.
//	kubespray-real
//	      mgmt/kubespray with kubespray's own playbooks of a checkout that VNFKIT_KUBESPRAY names, and what they download
//	      built from the Go module proxy.
//	registry
//	      mgmt/registry with Docker and the registry of Debian, apt and disks, on the same machines; machines
//	      with containerd and with Docker, and a cluster, pull from it. A benchmark compares with scp.
package e2e
