// Package registry is the management driver that sets up a private container registry on a machine of a VNF.
//
//	pool := sshexec.NewPool(sshexec.Options{})
//	manager, err := vnflcm.New(ctx, vnflcm.Config{
//		Mgmt: map[string]vnflcm.MgmtDriver{"mgmt-drivers-private-registry": registry.New(registry.Config{Pool: pool})},
//		...
//	})
//
// The VNFD names it, under the key of its artifact, for the hooks instantiate_end and heal_end. The instantiate
// request has additionalParams.private_registry_installation_param with the login of the machine and the settings of
// the registry. The attributes are Tacker's, with extensions for TLS, users and a volume. docs/registry.md lists all
// of them.
//
// The result is one container, private_registry, with Docker's restart policy "always" and the settings of the request.
// The driver replaces any other container of that name, also a stopped one or one of another program. It leaves a
// container with the right settings running.
//
// A cluster that is to pull from the registry takes its connection from the instance:
//
//	instance, err := manager.Get(ctx, id)
//	connection, err := registry.ConnectionOf(instance.InstantiatedVnfInfo.VnfcResourceInfo[0])
//
// and puts it, with a username and password if needed, into the parameters of its request:
//
//	params, err := vnflcm.NewParams(map[string]any{"k8s_cluster_installation_param": map[string]any{
//		"private_registry_connection_info": client.Connections{connection}, ...}})
package registry
