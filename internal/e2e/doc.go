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
//	      cloud), and the kubeadm driver, simulated as above, on hosts at the addresses of its servers.
//	kubeadm
//	      mgmt/kubeadm with real kubeadm, kubelet, containerd, etcd, haproxy, keepalived, apt and a private
//	      registry, on machines with systemd that share one kernel (package kube); mgmt/cluster and
//	      mgmt/kubeadm/etcd against the API server and etcd. Builds Kubernetes the first time.
package e2e
