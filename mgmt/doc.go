// Package mgmt holds what management drivers share: how they find the machines of a VNF and log in to them,
// how nodes are named, how proxies and the hosts file are set up.
//
// A driver that runs something on every worker of a VNF:
//
//	access := mgmt.Access{CP: "workerNode_CP2", Login: mgmt.Login{Username: "ubuntu", Password: password}}
//	nodes, err := access.Nodes(op, pool, "worker")
//	err = vnflcm.Each(ctx, 16, nodes, func(ctx context.Context, n mgmt.Node) error {
//		return vnflcm.Do(ctx, op, "greet", n.ID, func(ctx context.Context) error {
//			return n.SSH.Run(ctx, []string{"echo", "hello"}, nil, nil, nil)
//		})
//	})
//
// Host keys are accepted when a machine is first seen and kept in the instance's state under the resource id
// of the machine: the key of a replaced machine is another machine's key, so nothing is ever forgotten by
// hand, and a changed key is always an error.
package mgmt
