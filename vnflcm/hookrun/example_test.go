package hookrun_test

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/hookrun"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// greeter is a management driver: it greets each machine, once.
type greeter struct{}

func (greeter) Validate(context.Context, *vnflcm.Operation) error { return nil }

func (greeter) Hooks() vnflcm.Hooks {
	return vnflcm.Hooks{vnflcm.InstantiateEnd: func(ctx context.Context, op *vnflcm.Operation) error {
		for _, v := range op.VNFCs {
			_, err := vnflcm.Run(ctx, op, vnflcm.Step[string]{Name: "greet", On: v.ID, Do: func(ctx context.Context) (string, error) {
				fmt.Println("hello", v.Name)
				return v.Name, op.Publish(ctx, v, map[string]string{"greeted": v.Name})
			}})
			if err != nil {
				return err
			}
		}
		return nil
	}}
}

// A program that makes machines itself has a driver work on them. The second call returns the result of the first one.
func ExampleRunner() {
	ctx := context.Background()
	pkg, err := tosca.Open(ctx, "../../examples/packages/k8s-cluster")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pkg.Close()
	runner := hookrun.Runner{Store: store.NewMemory(), Key: []byte(rand.Text()), Driver: greeter{}}
	for range 2 {
		result, err := runner.Run(ctx, hookrun.Call{
			OperationID: "op-1", InstanceID: "vnf-1", Hook: vnflcm.InstantiateEnd,
			Request: vnflcm.InstantiateVnfRequest{FlavourID: "simple"}, Package: pkg,
			Resources: vnflcm.Resources{VNFCs: []vnflcm.VNFC{{ID: "1", ResourceID: "server-1", VDU: "masterNode", Name: "m1"}}},
		})
		fmt.Println(result.Published, err)
	}
	// Output:
	// hello m1
	// map[server-1:map[greeted:m1]] <nil>
	// map[server-1:map[greeted:m1]] <nil>
}
