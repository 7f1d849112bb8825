package registry_test

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/mgmt/registry"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// The driver sets up a private registry on the machine of a VNF, here one of the sandbox, and the instance has the
// connection for clients. The request is a typical one: a registry with TLS, a name, and a user.
func Example() {
	ctx := context.Background()
	world, err := sandbox.Open(sandbox.Config{PublicImages: []string{"registry:latest"}})
	if err != nil {
		panic(err)
	}
	defer world.Close()
	pool := sshexec.NewPool(sshexec.Options{Dial: world.Dial})
	defer pool.Close()
	manager, err := vnflcm.New(ctx, vnflcm.Config{
		Store: store.NewMemory(), Key: []byte(rand.Text()),
		Packages: vnflcm.DirPackages("../../examples/packages/private-registry"),
		Infra:    map[string]vnflcm.InfraDriver{"sandbox": world},
		Mgmt:     map[string]vnflcm.MgmtDriver{"mgmt-drivers-private-registry": registry.New(registry.Config{Pool: pool})},
	})
	if err != nil {
		panic(err)
	}
	defer manager.Close(ctx)

	var request vnflcm.InstantiateVnfRequest
	_, err = vnflcm.DecodeRequest([]byte(`{
		"flavourId": "simple",
		"vimConnectionInfo": [{"id": "1", "vimType": "sandbox", "accessInfo": {"any": "thing"}}],
		"additionalParams": {"private_registry_installation_param": {
			"ssh_cp_name": "CP1", "ssh_username": "ubuntu", "ssh_password": "ubuntu",
			"server_name": "registry.example.org", "tls": {},
			"users": [{"username": "cluster", "password": "a-password"}]
		}}}`), &request)
	if err != nil {
		panic(err)
	}
	vnf, err := manager.Create(ctx, vnflcm.CreateVnfRequest{VnfdID: "b3d9c1e4-7a52-4c0e-9f1b-2e6a8d4c5f71"})
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

	instance, err := manager.Get(ctx, vnf.ID)
	if err != nil {
		panic(err)
	}
	connection, err := registry.ConnectionOf(instance.InstantiatedVnfInfo.VnfcResourceInfo[0])
	if err != nil {
		panic(err)
	}
	connection.Username, connection.Password = "cluster", vnflcm.NewSecret("a-password") // the instance has no secrets
	fmt.Println(connection.Server, connection.HostsString, connection.Password)
	fmt.Println(connection.CACertificate[:27])
	// Output:
	// registry.example.org:5000 198.18.0.10 registry.example.org ***
	// -----BEGIN CERTIFICATE-----
}
