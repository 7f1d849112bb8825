// Package cluster works on a running Kubernetes cluster that is reached only through its control-plane nodes: it lists
// nodes and their readiness, drains nodes, applies manifests, and creates accounts for other programs.
//
//	kube := cluster.New(controlPlane) // mgmt.Nodes, or another type that reads a file and opens a connection
//	if err := kube.Apply(ctx, manifest); err != nil { ... }
//	err := kube.WaitReady(ctx, machines, func(message string) { op.Report(ctx, message) })
//
// All control-plane nodes are equal: each call asks them in turn until one answers. It reads the administrator's kubeconfig
// on the node, connects to the API server of that node, and verifies its certificate against the CA of the kubeconfig.
// The connection is kept for the next call, until Close; a call replaces a connection that no longer works.
package cluster
