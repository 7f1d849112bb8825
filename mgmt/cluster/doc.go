// Package cluster operates a running Kubernetes cluster: its nodes, what is applied to it, the credentials
// that others reach it with.
//
//	kube := cluster.New(masters) // the control-plane nodes, as runners of commands
//	nodes, err := kube.Nodes(ctx)
//	err = kube.Drain(ctx, "worker-10-10-0-7", cluster.DrainOptions{Timeout: 5 * time.Minute})
//
// It asks kubectl on a control-plane node, whichever answers: no node is special.
package cluster
