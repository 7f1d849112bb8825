package tosca_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"testing/fstest"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

func Example() {
	p, err := tosca.Open(context.Background(), "../examples/packages/k8s-cluster")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()

	f, err := p.VNFD().Flavour("complex")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(f.Description)
	for _, hook := range slices.Sorted(maps.Keys(f.Hooks)) {
		fmt.Println(hook, "->", f.Hooks[hook])
	}
	// Output:
	// 3 to 5 control plane nodes behind a virtual address and 1 to 50 workers
	// heal_end -> mgmt-drivers-kubernetes
	// heal_start -> mgmt-drivers-kubernetes
	// instantiate_end -> mgmt-drivers-kubernetes
	// scale_end -> mgmt-drivers-kubernetes
	// scale_start -> mgmt-drivers-kubernetes
	// terminate_end -> mgmt-drivers-kubernetes
	// terminate_start -> mgmt-drivers-kubernetes
}

// How many machines does a request ask for?
func ExampleFlavour_Instances() {
	p, err := tosca.Open(context.Background(), "../examples/packages/k8s-cluster")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	f, err := p.VNFD().Flavour("simple")
	if err != nil {
		fmt.Println(err)
		return
	}
	levels, err := f.LevelsOf("instantiation_level_2")
	if err != nil {
		fmt.Println(err)
		return
	}
	levels["worker_instance"] += 5
	numbers, err := f.Instances(levels)
	fmt.Println(numbers, err)

	_, err = f.Instances(map[string]int{"worker_instance": 50, "gpu_instance": 1})
	fmt.Println(err)
	// Output:
	// map[masterNode:1 workerNode:8] <nil>
	// tosca: scaling aspect "gpu_instance" is not in the VNFD (aspects of flavour simple: master_instance, worker_instance)
	// tosca: aspect worker_instance at level 50: scale level out of range (0 to 49)
}

// Every fault is reported, with its place and a stable code.
func Example_problems() {
	_, err := tosca.OpenFS(context.Background(), fstest.MapFS{
		"vnfd.yaml": {Data: []byte(`tosca_definitions_version: tosca_simple_yaml_1_2
imports: [ ../other.yaml, missing.yaml ]
topology_template:
  node_templates:
    VNF: { type: tosca.nodes.nfv.VNF }
`)},
	})
	var problems problem.List
	if errors.As(err, &problems) {
		for _, p := range problems {
			fmt.Println(p.Position, p.Code)
		}
	}
	fmt.Println(errors.Is(err, problem.Problem{Code: problem.ImportMissing}))
	// Output:
	// vnfd.yaml:2:12 tosca.import-outside-package
	// vnfd.yaml:2:27 tosca.import-missing
	// vnfd.yaml:5:5 vnfd.missing-property
	// vnfd.yaml:5:5 vnfd.missing-property
	// vnfd.yaml:5:5 vnfd.missing-property
	// vnfd.yaml:5:5 vnfd.missing-property
	// vnfd.yaml:5:5 vnfd.missing-property
	// true
}

// Files of the package are read as from any file system.
func ExamplePackage_Artifact() {
	p, err := tosca.Open(context.Background(), "../examples/packages/k8s-cluster")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	name, err := p.Artifact("../Scripts/driver.txt")
	if err != nil {
		fmt.Println(err)
		return
	}
	content, err := fs.ReadFile(p, name)
	fmt.Println(name, len(content) > 0, err)
	// Output:
	// Scripts/driver.txt true <nil>
}
