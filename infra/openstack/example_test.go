package openstack_test

import (
	"context"
	"fmt"

	"github.com/vnfkit/vnfkit/infra/openstack"
	"github.com/vnfkit/vnfkit/infra/openstack/hot"
	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// The user data function adds a parameter to the result of DefaultUserData.
func ExampleUserData() {
	withSecurityGroup := func(ctx context.Context, req openstack.UserDataRequest) (openstack.Definition, error) {
		def, err := openstack.DefaultUserData(ctx, req)
		if err == nil {
			def.Parameters["security_group"] = "web"
		}
		return def, err
	}
	driver := openstack.New(openstack.Config{UserData: map[string]openstack.UserData{"SampleUserData": withSecurityGroup}})
	defer driver.Close()
	infra := map[string]vnflcm.InfraDriver{openstack.VimTypeV1: driver, openstack.VimTypeV2: driver}
	fmt.Println(len(infra))
	// Output: 2
}

// The example prints the values that DefaultUserData computes for the sample package.
func ExampleDefaultUserData() {
	ctx := context.Background()
	pkg, err := tosca.Open(ctx, "../../examples/packages/k8s-cluster")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pkg.Close()
	flavour, err1 := pkg.VNFD().Flavour("simple")
	template, err2 := hot.Load(pkg, "simple")
	if err1 != nil || err2 != nil {
		fmt.Println(err1, err2)
		return
	}
	op := &vnflcm.Operation{OperationData: vnflcm.OperationData{Kind: vnflcm.OpInstantiate, Package: pkg, Flavour: flavour, Levels: map[string]int{"worker_instance": 2},
		Connectivity: []vnflcm.ExtVirtualLinkData{{ID: "net0", ResourceID: "b0b84da3", ExtCps: []vnflcm.VnfExtCpData{
			{CpdID: "masterNode_CP1"}, {CpdID: "workerNode_CP2"}}}}}}
	def, err := openstack.DefaultUserData(ctx, openstack.UserDataRequest{Op: op, Template: template})
	if err != nil {
		fmt.Println(err)
		return
	}
	nfv := def.Parameters["nfv"].(map[string]any)
	fmt.Println(nfv["VDU"].(map[string]any)["workerNode"])
	fmt.Println(nfv["CP"].(map[string]any)["workerNode_CP2"])
	// Output:
	// map[computeFlavourId:m1.medium desired_capacity:3 vcImageId:ubuntu-24.04-server-cloudimg-amd64]
	// map[network:b0b84da3]
}
