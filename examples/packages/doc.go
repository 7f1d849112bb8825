// Package packages has the sample VNF packages of this module and their requests, so that a program outside of a checkout can
// run them:
//
//	sample := packages.KubernetesCluster
//	manager, err := vnflcm.New(ctx, vnflcm.Config{Packages: vnflcm.PackagesFunc(sample.Find), ...})
//	vnf, err := manager.Create(ctx, vnflcm.CreateVnfRequest{VnfdID: sample.VNFDID})
//	request, err := sample.Request("instantiate_sandbox.json")
//	operation, err := manager.Instantiate(ctx, vnf.ID, request)
//
// Each package has a second version (Sample.Next), to which running VNFs can be changed; examples/next-packages writes them into a folder.
//
// To write a package of your own, begin with a copy of a folder beside this file; docs/packages.md says what a package has.
package packages
