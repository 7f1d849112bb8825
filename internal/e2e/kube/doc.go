// Package kube creates machines for real Kubernetes clusters, for end-to-end tests: Debian with systemd, with containerd,
// kubelet and kubeadm built from the Go module proxy, and with all images of a cluster.
package kube
