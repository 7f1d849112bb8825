package vnfkit_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"log"

	"github.com/vnfkit/vnfkit/examples/packages"
	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// A VNF package and a request become a Kubernetes cluster, on machines that live in this process.
func Example() {
	ctx, sample := context.Background(), packages.KubernetesCluster
	world := must(sandbox.Open(sandbox.Config{}))
	defer world.Close()
	pool := sshexec.NewPool(sshexec.Options{Dial: world.Dial})
	defer pool.Close()
	manager := must(vnflcm.New(ctx, vnflcm.Config{
		Store:    store.NewMemory(),
		Key:      []byte(rand.Text()), // seals the state, which ends with the program; docs/store.md keeps both
		Packages: vnflcm.PackagesFunc(sample.Find),
		Infra:    map[string]vnflcm.InfraDriver{"sandbox": world},
		Mgmt:     map[string]vnflcm.MgmtDriver{"mgmt-drivers-kubernetes": kubeadm.New(kubeadm.Config{Pool: pool})},
	}))
	defer manager.Close(ctx)
	check(manager.VIMs().Put(ctx, vnflcm.VimConnectionInfo{VimID: "sandbox", VimType: "sandbox"}))

	vnf := must(manager.Create(ctx, vnflcm.CreateVnfRequest{VnfdID: sample.VNFDID}))
	request := must(sample.Request("instantiate_sandbox.json"))
	operation := must(manager.Wait(ctx, must(manager.Instantiate(ctx, vnf.ID, request))))
	fmt.Println(operation.OperationState)
	for _, node := range world.Nodes() {
		fmt.Printf("control plane: %t, ready: %t\n", node.ControlPlane, node.Ready)
	}
	// Output:
	// COMPLETED
	// control plane: true, ready: true
	// control plane: false, ready: true
}

// must and check end the program: an example cannot return an error.
func must[T any](v T, err error) T { check(err); return v }

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
