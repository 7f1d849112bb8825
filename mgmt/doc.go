// Package mgmt holds what management drivers share: how they find the machines of a VNF and log in to them,
// how nodes are named, how proxies and the hosts file are set up.
//
// A driver that runs something on every worker of a VNF:
//
//	access := mgmt.Access{CP: "workerNode_CP2", Login: mgmt.Login{Username: "ubuntu", Password: password}}
//	nodes, err := access.Nodes(op, pool, "worker")
//	err = vnflcm.Each(ctx, 16, nodes, func(ctx context.Context, n mgmt.Node) error {
//		return n.Do(ctx, op, "greet", time.Minute, func(ctx context.Context) error {
//			return n.SSH.Run(ctx, []string{"echo", "hello"}, nil, nil, nil)
//		})
//	})
//
// A machine is known by the host key that the VIM tells (vnflcm.VNFC.HostKey), or by one of Access.HostKeys. Without both its key is
// accepted when the machine is first seen, with a warning. Keys are kept in the instance's state under the resource id of the machine. A machine that replaces another has another resource id, so a key that differs from the kept one is
// always an error. A driver calls ForgetHostKey for machines that have been removed.
package mgmt
