// Package controlplane runs a real Kubernetes control plane on this machine for tests: etcd, kube-apiserver,
// kube-controller-manager and scheduler, and kwok, which plays nodes whose pods are ready at once. Nothing in a pod
// runs: what is real is the API and all that looks at it.
//
//	cluster, err := controlplane.Start(ctx, controlplane.Config{...}) // about 10 seconds
//	defer cluster.Close()
//	client, err := kubernetes.NewForConfig(cluster.Client())
package controlplane
