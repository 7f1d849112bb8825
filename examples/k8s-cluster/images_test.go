package main

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWriteNeeds compares the lines that scripts read.
func TestWriteNeeds(t *testing.T) {
	t.Parallel()
	for repository, want := range map[string]string{
		"": `image registry.k8s.io/kube-apiserver:v1.37.2
image registry.k8s.io/kube-controller-manager:v1.37.2
image registry.k8s.io/kube-scheduler:v1.37.2
image registry.k8s.io/kube-proxy:v1.37.2
image registry.k8s.io/coredns/coredns:v1.14.6
image registry.k8s.io/pause:3.10.2
image registry.k8s.io/etcd:3.7.0-0
upgrade-image registry.k8s.io/etcd:3.6.11-0
image ghcr.io/flannel-io/flannel:v0.28.4
image ghcr.io/flannel-io/flannel-cni-plugin:v1.9.1-flannel1
package containerd
package conntrack
package kubelet=1.37.2-*
package kubeadm=1.37.2-*
package kubectl=1.37.2-*
package haproxy
package keepalived
`,
		"r.example:5000/k8s": `image registry.k8s.io/kube-apiserver:v1.37.2 r.example:5000/k8s/kube-apiserver:v1.37.2
image registry.k8s.io/kube-controller-manager:v1.37.2 r.example:5000/k8s/kube-controller-manager:v1.37.2
image registry.k8s.io/kube-scheduler:v1.37.2 r.example:5000/k8s/kube-scheduler:v1.37.2
image registry.k8s.io/kube-proxy:v1.37.2 r.example:5000/k8s/kube-proxy:v1.37.2
image registry.k8s.io/coredns/coredns:v1.14.6 r.example:5000/k8s/coredns:v1.14.6
image registry.k8s.io/pause:3.10.2 r.example:5000/k8s/pause:3.10.2
image registry.k8s.io/etcd:3.7.0-0 r.example:5000/k8s/etcd:3.7.0-0
upgrade-image registry.k8s.io/etcd:3.6.11-0 r.example:5000/k8s/etcd:3.6.11-0
image ghcr.io/flannel-io/flannel:v0.28.4 r.example:5000/k8s/flannel:v0.28.4
image ghcr.io/flannel-io/flannel-cni-plugin:v1.9.1-flannel1 r.example:5000/k8s/flannel-cni-plugin:v1.9.1-flannel1
package containerd
package conntrack
package kubelet=1.37.2-*
package kubeadm=1.37.2-*
package kubectl=1.37.2-*
package haproxy
package keepalived
`} {
		var got bytes.Buffer
		if err := writeNeeds(&got, []string{"1.37.2"}, repository); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got.String()); diff != "" {
			t.Errorf("%q:\n%s", repository, diff)
		}
	}
}
