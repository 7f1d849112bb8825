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
		fmt.Println(hook, "->", f.Hooks[hook].Driver)
	}
	// Output:
	// 1, 3 or 5 control plane nodes behind a virtual address and 1 to 50 workers
	// heal_end -> mgmt-drivers-kubernetes
	// heal_start -> mgmt-drivers-kubernetes
	// instantiate_end -> mgmt-drivers-kubernetes
	// scale_end -> mgmt-drivers-kubernetes
	// scale_start -> mgmt-drivers-kubernetes
	// terminate_end -> mgmt-drivers-kubernetes
	// terminate_start -> mgmt-drivers-kubernetes
}

// The example prints the number of machines at an instantiation level and after scaling.
func ExampleFlavour_Scale() {
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
	size, err := f.InitialSize(tosca.TargetSize{InstantiationLevelID: "instantiation_level_2"})
	fmt.Println(size.Instances, size.ScaleStatus, err)

	size, err = f.Scale(size, tosca.Scaling{Type: tosca.ScaleOut, AspectID: "worker_instance", NumberOfSteps: 5})
	fmt.Println(size.Instances, size.ScaleStatus, err)

	_, err = f.Scale(size, tosca.Scaling{Type: tosca.ScaleIn, AspectID: "worker_instance", NumberOfSteps: 9})
	fmt.Println(err)
	// Output:
	// map[masterNode:1 workerNode:3] map[master_instance:0 worker_instance:2] <nil>
	// map[masterNode:1 workerNode:8] map[master_instance:0 worker_instance:7] <nil>
	// tosca: numberOfSteps: "9": aspect worker_instance at level -2: scale level out of range (0 to 49)
}

// The example prints the VNFCs that one more step of each aspect adds.
func ExampleFlavour_Step() {
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
	for _, a := range f.Aspects {
		added, err := f.Step(a.ID, 0)
		fmt.Println(a.ID, "scales", f.VDUsOf(a.ID), "and adds", added, err)
	}
	// Output:
	// master_instance scales [masterNode] and adds map[masterNode:2] <nil>
	// worker_instance scales [workerNode] and adds map[workerNode:1] <nil>
}

// The example prints the VDUs of a flavour.
func ExampleVNFD_Flavour() {
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
	for _, v := range f.VDUs {
		fmt.Println(v.ID, v.Min, "to", v.Max, v.Compute.FlavourName)
	}

	_, err = p.VNFD().Flavour("huge")
	fmt.Println(err)
	// Output:
	// masterNode 1 to 1 m1.medium
	// workerNode 1 to 50 m1.medium
	// tosca: flavourId: "huge": flavour is not in the VNFD (flavours: complex, simple)
}

// Every fault is reported with its position and a stable code.
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
