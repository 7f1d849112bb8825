// Package e2e runs whole VNF lifecycles against real parts. Its tests run when VNFKIT_E2E names the part,
// and skip otherwise:
//
//	ssh   Manager, kubeadm driver and sshexec against real OpenSSH servers, on hosts with their own files,
//	      processes and network (package vmhost). Shell, sudo, sshd and sftp are real; kubeadm, apt-get and
//	      their kin are a small program that asks the test process, where the strict simulation of the
//	      sandbox answers. Needs Linux, root, and the Debian packages openssh-server, sudo and iproute2.
package e2e
