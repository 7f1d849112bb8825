// Package openstack creates VNFs on OpenStack through Heat: it implements vnflcm.InfraDriver.
//
// Give it to a Manager under the vimTypes that requests use, and register the VIM:
//
//	driver := openstack.New(openstack.Config{})
//	defer driver.Close()
//	manager, err := vnflcm.New(ctx, vnflcm.Config{
//		Infra: map[string]vnflcm.InfraDriver{openstack.VimTypeV1: driver, openstack.VimTypeV2: driver},
//		…
//	})
//	vim, err := openstack.VIMFromClouds("mycloud") // or from wherever credentials are kept
//	vim.VimID = "mycloud"
//	err = manager.VIMs().Put(ctx, vim)
//
// A VNF is one stack. Its template is the base HOT of the deployment flavour, in BaseHOT/<flavour> of the
// package; resources are named as the VDUs, connection points and virtual links of the VNFD. What the
// template takes from its parameter nfv is filled in by DefaultUserData, or by a function of your own:
//
//	openstack.Config{UserData: map[string]openstack.UserData{
//		"SampleUserData": func(ctx context.Context, req openstack.UserDataRequest) (openstack.Definition, error) {
//			def, err := openstack.DefaultUserData(ctx, req)
//			def.Parameters["security_group"] = "web"
//			return def, err
//		},
//	}}
//
// # What happens in an operation
//
// Every operation computes the whole definition of the stack anew, from the package, the request, the scale
// levels and the parameters that the stack has, and asks Heat for that: it is created, updated or deleted, and
// waited for. Events of the stack become progress events of the operation.
//
// Scaling sets the capacity of groups exactly, in one update for any number of steps, and removes those
// VNFCs that were announced. Healing replaces the servers of VNFCs and keeps their ports. See Driver.Heal for
// what healing a whole VNF does.
//
// An image that is a file of the package is uploaded before the stack is made, once for all VNF instances of the project that use it,
// and deleted when the last of them is terminated. A grant or a request that names an image of the VIM comes first.
//
// The driver tells the SSH host key of a server (vnflcm.VNFC.HostKey) where it has made the key, for a base HOT with the parameter
// ssh_host_keys, or has read it from the console log, for a VIM whose extra.host_keys is "console".
//
// # When it fails
//
// A *StackError names the first resource that failed with Heat's reason, read from the events before
// anything is removed. The stack is left as it is: a retry makes it anew (instantiation) or updates it again.
// A deletion that fails is tried several times by itself.
//
// A process that dies leaves Heat working. The next one finds the stack by its name, which contains the id of the instance,
// waits until it is at rest, and does what is missing. A stack of that name that has neither the id that the Manager has recorded
// nor the tags was made by another program and is not touched (ErrForeignStack).
package openstack
