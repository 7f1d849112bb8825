// Package openstack creates VNFs on OpenStack through Heat: it implements vnflcm.InfraDriver.
//
// Register the driver with a Manager under the vimTypes that requests use, and register the VIM:
//
//	driver := openstack.New(openstack.Config{})
//	defer driver.Close()
//	manager, err := vnflcm.New(ctx, vnflcm.Config{
//		Infra: map[string]vnflcm.InfraDriver{openstack.VimTypeV1: driver, openstack.VimTypeV2: driver},
//		…
//	})
//	vim, err := openstack.VIMFromClouds("mycloud") // or build a vnflcm.VimConnectionInfo from your own credentials
//	vim.VimID = "mycloud"
//	err = manager.VIMs().Put(ctx, vim)
//
// Each VNF instance is one Heat stack. Its template is the base HOT of the deployment flavour, in BaseHOT/<flavour> of
// the package. Resources of the template have the names of the VDUs, connection points and virtual links of the VNFD.
// DefaultUserData computes the values that the template reads from its parameter nfv. You can register your own function:
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
// Every operation computes the complete definition of the stack from the package, the request, the scale levels and the
// current parameters of the stack. The driver asks Heat to create, update or delete the stack and waits until Heat has
// finished. Events of the stack become progress events of the operation.
//
// Scaling sets the exact capacity of groups in one update, for any number of steps, and removes exactly the VNFCs that
// Plan has announced. Healing replaces the servers of VNFCs and keeps their ports. Driver.Heal describes how a whole VNF
// is healed.
//
// A change of the VNF package changes the VNFCs batch by batch, each under its id, with its ports and volumes (Driver.ChangePackage).
// Driver.PlanPackage compares the templates and parameters of the two packages beforehand and names the data that would end.
//
// If the image of a VDU is a file of the package, the driver uploads it before it creates the stack. All VNF instances of
// the project that use the image share one upload; terminating the last of these instances deletes the image. If the
// grant or the request names an image of the VIM, the driver uses that image and uploads none.
//
// The driver reports the SSH host key of a server (vnflcm.VNFC.HostKey) in two cases: the base HOT has the parameter
// ssh_host_keys, so that the driver generates the key; or extra.host_keys of the VIM is "console", so that the driver
// reads the key from the console log.
//
// # Failures
//
// A *StackError names the first resource that failed, with Heat's reason. The driver reads the reason from the events
// before it removes anything. It leaves the failed stack in place. A retry of an instantiation deletes the failed stack
// and creates a new one; a retry of any other operation updates the stack once more. The driver itself repeats a
// deletion that fails, up to Config.DeleteAttempts times.
//
// If the process dies, Heat continues. The next process finds the stack by its name, which contains the id of the
// instance, waits until Heat has finished, and then does the remaining work. A stack with this name belongs to another
// program if it has neither the id that the Manager has recorded nor the tags of the instance. The driver does not change
// or delete a stack of another program (ErrForeignStack).
package openstack
