// Package controlplane runs a real Kubernetes control plane on this machine for tests: etcd, kube-apiserver,
// kube-controller-manager, scheduler and kwok. kwok simulates nodes, on which pods are ready at once; the containers of
// these pods do not run. The API server, the controllers and the scheduler are real.
//
//	cluster, err := controlplane.Start(ctx, controlplane.Config{...}) // about 10 seconds
//	defer cluster.Close()
//	client, err := kubernetes.NewForConfig(cluster.Client())
package controlplane
