package sandbox_test

import (
	"context"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// greeter is a management driver of one's own: it writes a file on every worker.
type greeter struct {
	idle
	pool *sshexec.Pool
}

func (g greeter) Hooks() vnflcm.Hooks {
	hooks := g.idle.Hooks()
	hooks[vnflcm.InstantiateEnd] = func(ctx context.Context, op *vnflcm.Operation) error {
		access := mgmt.Access{CP: "workerNode_CP2", Login: mgmt.Login{Username: "ubuntu", Password: vnflcm.NewSecret("ubuntu")}}
		workers, err := access.Nodes(op, g.pool, "worker")
		if err != nil {
			return err
		}
		return vnflcm.Each(ctx, 0, workers, func(ctx context.Context, n mgmt.Node) error {
			return n.Do(ctx, op, "greet", time.Minute, func(ctx context.Context) error {
				return n.SSH.Upload(ctx, strings.NewReader("hello "+n.HostName+"\n"), sshexec.File{Path: "/etc/motd", Root: true})
			})
		})
	}
	return hooks
}

// Test your own driver without a cloud.
func Example() {
	ctx := context.Background()
	world, err := sandbox.Open(sandbox.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = world.Close() }()
	pool := sshexec.NewPool(sshexec.Options{Dial: world.Dial})
	defer func() { _ = pool.Close() }()
	manager, err := vnflcm.New(ctx, vnflcm.Config{
		Store: store.NewMemory(), Key: []byte("32 bytes that seal all records.."),
		Packages: vnflcm.DirPackages("../../examples/packages/k8s-cluster"),
		Infra:    map[string]vnflcm.InfraDriver{"sandbox": world},
		Mgmt:     map[string]vnflcm.MgmtDriver{"mgmt-drivers-kubernetes": greeter{pool: pool}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = manager.Close(ctx) }()
	if err := manager.VIMs().Put(ctx, vnflcm.VimConnectionInfo{VimID: "sandbox", VimType: "sandbox"}); err != nil {
		log.Fatal(err)
	}
	instance, err := manager.Create(ctx, vnflcm.CreateVnfRequest{VnfdID: "6a1c2f0e-1d6e-4f4e-9a3c-0d5b6a7c8ea0"})
	if err != nil {
		log.Fatal(err)
	}
	operation, err := manager.Instantiate(ctx, instance.ID, vnflcm.InstantiateVnfRequest{FlavourID: "simple",
		VimConnectionInfo: vnflcm.VimConnections{{VimID: "sandbox"}}})
	if err != nil {
		log.Fatal(err)
	}
	occ, err := manager.Wait(ctx, operation)
	if err != nil {
		log.Fatal(err)
	}
	motd, err := world.Host("workerNode-0").FS().Open("/etc/motd")
	if err != nil {
		log.Fatal(err)
	}
	var text [64]byte
	n, err := motd.Read(text[:])
	fmt.Print(occ.OperationState, ": ", string(text[:n]))
	if err != nil {
		log.Fatal(err)
	}
	// Output: COMPLETED: hello worker-198-18-1-11
}
