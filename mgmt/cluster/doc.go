// Package cluster works on a running Kubernetes cluster that is reached only through its control-plane nodes:
// which nodes there are and whether they are Ready, draining, manifests, accounts for others.
//
//	kube := cluster.New(masters) // mgmt.Nodes, or whatever else reads a file and opens a connection
//	if err := kube.Apply(ctx, manifest); err != nil { ... }
//	err := kube.WaitReady(ctx, addresses, func(message string) { op.Report(ctx, message) })
//
// No node is special: each call asks the control-plane nodes until one answers. It reads the administrator's
// kubeconfig there, connects to the API server of that node, and verifies its certificate against the CA of the
// kubeconfig. Nothing of it is kept: when a call returns, its connections are closed, and the next one finds a
// cluster that has been made anew meanwhile.
package cluster
