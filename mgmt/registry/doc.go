// Package registry is the management driver that turns a machine of a VNF into a private container registry.
//
//	pool := sshexec.NewPool(sshexec.Options{})
//	manager, err := vnflcm.New(ctx, vnflcm.Config{
//		Mgmt: map[string]vnflcm.MgmtDriver{"mgmt-drivers-private-registry": registry.New(registry.Config{Pool: pool})},
//		...
//	})
//
// The VNFD names it, under the key of its artifact, for the hooks instantiate_end and heal_end. The instantiate
// request says in additionalParams.private_registry_installation_param how to log in to the machine and what the
// registry is to be; the attributes are Tacker's, and ours beside them: TLS, users, a volume.
// docs/registry.md of this module has all of them.
//
// What is there in the end is one container, private_registry, of Docker's restart policy "always", with the settings
// of the request. Whatever is found instead, an older one, a stopped one, one of somebody else by that name, is brought
// there; a container that is right already is left alone.
//
// A cluster that is to pull from the registry takes its connection from the instance:
//
//	instance, err := manager.Get(ctx, id)
//	connection, err := registry.ConnectionOf(instance.InstantiatedVnfInfo.VnfcResourceInfo[0])
//
// and has it, with a username and password if need be, in the parameters of its request:
//
//	params, err := vnflcm.NewParams(map[string]any{"k8s_cluster_installation_param": map[string]any{
//		"private_registry_connection_info": client.Connections{connection}, ...}})
package registry
