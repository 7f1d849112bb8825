// Package kubeadmconf reads configuration files of kubeadm as kubeadm 1.35 does: the documents of kubeadm.k8s.io/v1beta3 and v1beta4
// that init and join take, and of the kubelet and kube-proxy beside them.
//
// It refuses what "kubeadm config validate" refuses: fields that a version does not have, values of a wrong form, networks of a
// wrong size. Init and join of the real kubeadm only warn about unknown fields; here they fail, because a driver must not misspell
// one. It does not know the fields of the kubelet and of kube-proxy, external etcd, and discovery by a file.
package kubeadmconf
