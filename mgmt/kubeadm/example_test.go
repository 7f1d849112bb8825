package kubeadm_test

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// The driver creates a cluster on the machines of a VNF. The machines are simulated by the sandbox, and the control-plane
// nodes share a virtual address. The request is what a client would send, with the parameters of Tacker's Kubernetes
// samples.
func Example() {
	ctx := context.Background()
	world, err := sandbox.Open(sandbox.Config{Virtual: []string{"vip_CP"}})
	if err != nil {
		panic(err)
	}
	defer world.Close()
	pool := sshexec.NewPool(sshexec.Options{Dial: world.Dial})
	defer pool.Close()
	manager, err := vnflcm.New(ctx, vnflcm.Config{
		Store: store.NewMemory(), Key: []byte(rand.Text()),
		Packages: vnflcm.DirPackages("../../examples/packages/k8s-cluster"),
		Infra:    map[string]vnflcm.InfraDriver{"sandbox": world},
		Mgmt:     map[string]vnflcm.MgmtDriver{"mgmt-drivers-kubernetes": kubeadm.New(kubeadm.Config{Pool: pool})},
	})
	if err != nil {
		panic(err)
	}
	defer manager.Close(ctx)

	var request vnflcm.InstantiateVnfRequest
	_, err = vnflcm.DecodeRequest([]byte(`{
		"flavourId": "complex",
		"vimConnectionInfo": [{"id": "1", "vimType": "sandbox", "accessInfo": {"any": "thing"}}],
		"additionalParams": {"k8s_cluster_installation_param": {
			"master_node": {"ssh_cp_name": "masterNode_CP1", "cluster_cp_name": "vip_CP", "username": "ubuntu", "password": "ubuntu"},
			"worker_node": {"ssh_cp_name": "workerNode_CP2", "username": "ubuntu", "password": "ubuntu"}
		}}}`), &request)
	if err != nil {
		panic(err)
	}
	vnf, err := manager.Create(ctx, vnflcm.CreateVnfRequest{VnfdID: "6a1c2f0e-1d6e-4f4e-9a3c-0d5b6a7c8ea0"})
	if err != nil {
		panic(err)
	}
	operation, err := manager.Instantiate(ctx, vnf.ID, request)
	if err != nil {
		panic(err)
	}
	if _, err := manager.Wait(ctx, operation); err != nil {
		panic(err)
	}
	for _, node := range world.Nodes() {
		fmt.Println(node.Name, node.ControlPlane, node.Ready)
	}
	// Output:
	// master-198-18-0-10 true true
	// master-198-18-1-11 true true
	// master-198-18-2-12 true true
	// worker-198-18-0-13 false true
}
