package hot_test

import (
	"fmt"
	"os"

	"github.com/vnfkit/vnfkit/infra/openstack/hot"
)

func ExampleLoad() {
	t, err := hot.Load(os.DirFS("../../../examples/packages/k8s-cluster"), "simple")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, g := range t.Groups() {
		fmt.Println(g.Name, g.Servers, g.Parameter)
	}
	fmt.Println(len(t.Files()), "nested templates")
	// Output:
	// master_instance [masterNode] [nfv VDU masterNode desired_capacity]
	// worker_instance [workerNode] [nfv VDU workerNode desired_capacity]
	// 2 nested templates
}
