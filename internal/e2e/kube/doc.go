// Package kube makes machines that real Kubernetes clusters run on, for end-to-end tests: Debian under systemd with
// containerd, kubelet and kubeadm built from the Go module proxy, and all images of a cluster at hand.
package kube
