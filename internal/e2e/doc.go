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
package e2e
