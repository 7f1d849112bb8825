// Package hookrun runs one hook of a management driver for a program that manages the lifecycle of VNFs itself: another VNFM, a
// workflow, a script. The program makes the machines, then a driver sets up a cluster or a registry on them:
//
//	runner := hookrun.Runner{Store: store, Key: key, Driver: kubeadm.New(kubeadm.Config{Pool: pool})}
//	result, err := runner.Run(ctx, hookrun.Call{
//		OperationID: "op-1", InstanceID: "vnf-1", Hook: vnflcm.InstantiateEnd,
//		Request: request, Package: pkg, Resources: vnflcm.Resources{VNFCs: machines},
//	})
//
// store is any store.Store; a file of vnflcm/store/sqlite is enough. It keeps, sealed under Key, the steps that are done,
// the results, and the data that the driver needs in later hooks, such as host keys. A vnflcm.Manager is not needed.
//
// # When it fails, or the process dies
//
// Call Run again with the same operation and hook. Steps that are done are not repeated, and the hook continues. After it has
// succeeded, Run returns the same result without running anything. One process at a time works on a hook: a second call waits
// for the first one and returns its result. If the first process dies, the second one continues after LeaseTTL.
//
// # The end of an instance
//
// TerminateEnd and InstantiateRollbackEnd remove the stored data of the instance. If the VNFD names neither hook for the
// driver, call Forget when the instance no longer exists.
package hookrun
