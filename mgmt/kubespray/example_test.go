package kubespray_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/netip"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/mgmt/kubespray"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// An Ansible server sets up a Kubernetes cluster on the machines of a VNF. All machines of this example are simulated by
// the sandbox. The request is what a client would send, with the parameters of Tacker's kubespray sample.
func Example() {
	ctx := context.Background()
	world, err := sandbox.Open(sandbox.Config{Ansible: []sandbox.AnsibleServer{
		{Address: netip.MustParseAddr("10.9.0.1"), User: "ansible", Password: "secret", Version: "2.14.18", Kubespray: "2.23.3", Sshpass: true},
	}})
	if err != nil {
		panic(err)
	}
	defer world.Close()
	pool := sshexec.NewPool(sshexec.Options{Dial: world.Dial})
	defer pool.Close()
	manager, err := vnflcm.New(ctx, vnflcm.Config{
		Store: store.NewMemory(), Key: []byte(rand.Text()),
		Packages: vnflcm.DirPackages("../../examples/packages/k8s-cluster-kubespray"),
		Infra:    map[string]vnflcm.InfraDriver{"sandbox": world},
		Mgmt:     map[string]vnflcm.MgmtDriver{"mgmt-drivers-kubespray": kubespray.New(kubespray.Config{Pool: pool})},
	})
	if err != nil {
		panic(err)
	}
	defer manager.Close(ctx)

	var request vnflcm.InstantiateVnfRequest
	_, err = vnflcm.DecodeRequest([]byte(`{
		"flavourId": "simple",
		"vimConnectionInfo": [{"id": "1", "vimType": "sandbox", "accessInfo": {"any": "thing"}}],
		"additionalParams": {"k8s_cluster_installation_param": {
			"ansible": {"ip_address": "10.9.0.1", "username": "ansible", "password": "secret", "kubespray_root_path": "/home/ansible/kubespray"},
			"master_node": {"ssh_cp_name": "masterNode_CP1", "username": "ubuntu", "password": "ubuntu"},
			"worker_node": {"ssh_cp_name": "workerNode_CP2", "username": "ubuntu", "password": "ubuntu"},
			"external_lb_param": {"ssh_cp_name": "externalLB_CP1", "ssh_username": "ubuntu", "ssh_password": "ubuntu"}
		}}}`), &request)
	if err != nil {
		panic(err)
	}
	vnf, err := manager.Create(ctx, vnflcm.CreateVnfRequest{VnfdID: "1b7a4b52-4c1f-4f0e-8c43-6f2e1a9d5c70"})
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
		fmt.Println("control plane:", node.ControlPlane, "ready:", node.Ready)
	}
	// Output:
	// control plane: true ready: true
	// control plane: false ready: true
}
