package vnflcm_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"slices"
	"testing/fstest"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// The program instantiates a VNF, scales it out, heals one machine and terminates the VNF.
func Example() {
	ctx := context.Background()
	manager := newExampleManager(nil)
	defer func() { _ = manager.Close(ctx) }()
	instance, err := manager.Create(ctx, vnflcm.CreateVnfRequest{VnfdID: "pool"})
	if err != nil {
		log.Fatal(err)
	}
	wait := func(opID string, err error) {
		if err != nil {
			log.Fatal(err) // the request was refused and changed nothing
		}
		occ, err := manager.Wait(ctx, opID)
		if err != nil {
			log.Fatal(err)
		}
		instance, err := manager.Get(ctx, occ.VnfInstanceID)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(occ.Operation, occ.OperationState, instance.InstantiationState)
		for _, v := range occ.ResourceChanges.AffectedVnfcs {
			fmt.Println(" ", v.ChangeType, v.ID)
		}
	}
	wait(manager.Instantiate(ctx, instance.ID, vnflcm.InstantiateVnfRequest{FlavourID: "small",
		VimConnectionInfo: vnflcm.VimConnections{{VimID: "lab"}}}))
	wait(manager.Scale(ctx, instance.ID, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "workers"}))
	wait(manager.Heal(ctx, instance.ID, vnflcm.HealVnfRequest{VnfcInstanceID: []string{"worker-1"}}))
	wait(manager.Terminate(ctx, instance.ID, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
	// Output:
	// INSTANTIATE COMPLETED INSTANTIATED
	//   ADDED worker-0
	// SCALE COMPLETED INSTANTIATED
	//   ADDED worker-1
	// HEAL COMPLETED INSTANTIATED
	//   MODIFIED worker-1
	// TERMINATE COMPLETED NOT_INSTANTIATED
	//   REMOVED worker-0
	//   REMOVED worker-1
}

// An interrupted hook runs again from its beginning. A completed step is not repeated.
func ExampleRun() {
	tries := 0
	hook := func(ctx context.Context, op *vnflcm.Operation) error {
		endpoint, err := vnflcm.Run(ctx, op, vnflcm.Step[string]{Name: "init", On: op.VNFCs[0].ID,
			Do: func(context.Context) (string, error) {
				fmt.Println("setting up", op.VNFCs[0].Name)
				return "https://" + op.VNFCs[0].Name + ":6443", nil
			}})
		if err != nil {
			return err
		}
		if tries++; tries == 1 {
			return errors.New("the network is down")
		}
		fmt.Println("joining", endpoint)
		return nil
	}
	ctx := context.Background()
	manager := newExampleManager(hook)
	defer func() { _ = manager.Close(ctx) }()
	instance, err := manager.Create(ctx, vnflcm.CreateVnfRequest{VnfdID: "pool"})
	if err != nil {
		log.Fatal(err)
	}
	opID, err := manager.Instantiate(ctx, instance.ID, vnflcm.InstantiateVnfRequest{FlavourID: "small",
		VimConnectionInfo: vnflcm.VimConnections{{VimID: "lab"}}})
	if err != nil {
		log.Fatal(err)
	}
	occ, err := manager.Wait(ctx, opID)
	fmt.Println(occ.OperationState, err)
	if err := manager.Retry(ctx, opID); err != nil {
		log.Fatal(err)
	}
	occ, err = manager.Wait(ctx, opID)
	fmt.Println(occ.OperationState, err)
	// Output:
	// setting up worker0
	// FAILED_TEMP the network is down
	// joining https://worker0:6443
	// COMPLETED <nil>
}

// newExampleManager returns a Manager with the drivers below. hook runs at the end of an instantiation.
func newExampleManager(hook func(context.Context, *vnflcm.Operation) error) *vnflcm.Manager {
	ctx := context.Background()
	manager, err := vnflcm.New(ctx, vnflcm.Config{
		Store:    store.NewMemory(),
		Key:      []byte("32 bytes that seal all records.."),
		Packages: vnflcm.PackagesFunc(func(context.Context, string, string) (tosca.Source, error) { return tosca.FS(poolPackage), nil }),
		Infra:    map[string]vnflcm.InfraDriver{"memory": exampleCloud},
		Mgmt:     map[string]vnflcm.MgmtDriver{"pool-driver": poolDriver{hook}},
	})
	if err != nil {
		log.Fatal(err)
	}
	access, err := vnflcm.ParseParams([]byte(`{"username": "admin", "password": "secret"}`))
	if err != nil {
		log.Fatal(err)
	}
	if err := manager.VIMs().Put(ctx, vnflcm.VimConnectionInfo{VimID: "lab", VimType: "memory", AccessInfo: access}); err != nil {
		log.Fatal(err)
	}
	return manager
}

// exampleCloud has the machines of the examples.
var exampleCloud = &memoryCloud{machines: map[string][]vnflcm.VNFC{}}

// poolPackage is a VNF of one to three workers.
var poolPackage = fstest.MapFS{"pool.yaml": {Data: []byte(`tosca_definitions_version: tosca_simple_yaml_1_2
metadata: {template_name: pool, template_author: example, template_version: '1.0'}
node_types:
  example.VNF: {derived_from: tosca.nodes.nfv.VNF}
topology_template:
  substitution_mappings: {node_type: example.VNF, properties: {flavour_id: small}}
  node_templates:
    VNF:
      type: example.VNF
      properties: {descriptor_id: pool, descriptor_version: '1.0', provider: Example, product_name: Pool, software_version: '1.0',
        vnfm_info: ['0:vnfkit'], flavour_id: small, flavour_description: workers}
      artifacts:
        pool-driver: {type: tosca.artifacts.Implementation.Python, file: driver.py}
      interfaces:
        Vnflcm:
          instantiate: []
          instantiate_end: {implementation: pool-driver}
    worker:
      type: tosca.nodes.nfv.Vdu.Compute
      properties: {name: worker, description: worker, vdu_profile: {min_number_of_instances: 1, max_number_of_instances: 3}}
    worker_cp:
      type: tosca.nodes.nfv.VduCp
      properties: {layer_protocols: [ipv4]}
      requirements: [virtual_binding: worker]
  policies:
    - aspects:
        type: tosca.policies.nfv.ScalingAspects
        properties: {aspects: {workers: {name: workers, description: workers, max_scale_level: 2, step_deltas: [one]}}}
    - initial: {type: tosca.policies.nfv.VduInitialDelta, targets: [worker], properties: {initial_delta: {number_of_instances: 1}}}
    - deltas: {type: tosca.policies.nfv.VduScalingAspectDeltas, targets: [worker], properties: {aspect: workers, deltas: {one: {number_of_instances: 1}}}}
`)}, "driver.py": {Data: []byte("# vnfkit has the driver in Go")}}

// poolDriver is a management driver with one hook.
type poolDriver struct {
	atEnd func(context.Context, *vnflcm.Operation) error
}

func (d poolDriver) Validate(context.Context, *vnflcm.Operation) error { return nil }

func (d poolDriver) Hooks() vnflcm.Hooks {
	return vnflcm.Hooks{vnflcm.InstantiateEnd: func(ctx context.Context, op *vnflcm.Operation) error {
		if d.atEnd == nil {
			return nil
		}
		return d.atEnd(ctx, op)
	}}
}

// memoryCloud is an infrastructure driver whose machines are entries of a map. Its methods are idempotent: existing machines stay.
type memoryCloud struct {
	machines map[string][]vnflcm.VNFC // by VNF instance
}

func (c *memoryCloud) Plan(_ context.Context, op *vnflcm.Operation) (change vnflcm.Change, err error) {
	size := 1 + op.Levels["workers"]
	switch {
	case op.Heal != nil:
		for _, v := range op.VNFCs {
			if slices.Contains(op.Heal.VnfcInstanceID, v.ID) {
				change.Replaced = append(change.Replaced, v)
			}
		}
	case op.Kind == vnflcm.OpTerminate:
		change.Removed = op.VNFCs
	case size < len(op.VNFCs):
		change.Removed = op.VNFCs[size:]
	default:
		for range size - len(op.VNFCs) {
			change.Added = append(change.Added, vnflcm.VNFC{VDU: "worker"})
		}
	}
	return change, nil
}

func (c *memoryCloud) Instantiate(ctx context.Context, op *vnflcm.Operation) error {
	return c.Scale(ctx, op)
}

func (c *memoryCloud) Scale(_ context.Context, op *vnflcm.Operation) error {
	list := c.machines[op.InstanceID]
	for size := 1 + op.Levels["workers"]; len(list) < size; {
		n := len(list)
		list = append(list, vnflcm.VNFC{ID: fmt.Sprint("worker-", n), VDU: "worker", Name: fmt.Sprint("worker", n), ResourceID: fmt.Sprint("server-", n)})
	}
	c.machines[op.InstanceID] = list[:1+op.Levels["workers"]]
	return nil
}

func (c *memoryCloud) Heal(_ context.Context, op *vnflcm.Operation) error {
	for i, v := range c.machines[op.InstanceID] {
		if slices.ContainsFunc(op.Change.Replaced, func(r vnflcm.VNFC) bool { return r.ID == v.ID }) {
			c.machines[op.InstanceID][i].ResourceID = "server-of-" + op.ID
		}
	}
	return nil
}

func (c *memoryCloud) Terminate(_ context.Context, op *vnflcm.Operation) error {
	delete(c.machines, op.InstanceID)
	return nil
}

func (c *memoryCloud) Resources(_ context.Context, op *vnflcm.Operation) (vnflcm.Resources, error) {
	return vnflcm.Resources{VNFCs: slices.Clone(c.machines[op.InstanceID])}, nil
}

// DecodeRequest reports all faults with their paths. It returns a warning for each attribute without effect.
func ExampleDecodeRequest() {
	var request vnflcm.InstantiateVnfRequest
	warnings, err := vnflcm.DecodeRequest([]byte(`{
		"flavourId": {},
		"instantiationLevel": "large",
		"vimConnectionInfo": {"vim1": {"vimType": "openstack", "accessInfo": "***"}}
	}`), &request)
	fmt.Println("warnings:", warnings)
	fmt.Println(err)
	fmt.Println(errors.Is(err, vnflcm.ErrInvalidRequest))
	// Output:
	// warnings: [instantiationLevel: is no attribute of this request; did you mean "instantiationLevelId"?]
	// flavourId: must be a string
	// vimConnectionInfo[0].accessInfo: this value was masked when it was written and cannot be read back
	// true
}

// A driver decodes its parameters into a struct. Secrets print as ***.
func ExampleParams_Decode() {
	params, err := vnflcm.ParseParams([]byte(`{"master_node": {"username": "ubuntu", "password": "s3cret"}, "replicas": "3"}`))
	if err != nil {
		log.Fatal(err)
	}
	var own struct {
		Master struct {
			Username string        `json:"username"`
			Password vnflcm.Secret `json:"password"`
		} `json:"master_node"`
		Replicas int `json:"replicas"`
	}
	unknown, err := params.Decode(&own)
	fmt.Println(unknown, err)
	fmt.Printf("%+v %v\n", own, params)
	fmt.Println(vnflcm.SecretPaths(own))
	// Output:
	// [] <nil>
	// {Master:{Username:ubuntu Password:***} Replicas:3} ***
	// [master_node.password]
}
