package vnflcm_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// A whole life: instantiate, scale out, heal one machine, terminate. The cloud and the cluster are toys of this
// package's tests.
func Example() {
	ctx, toys := context.Background(), newWorld()
	manager, err := vnflcm.New(ctx, vnflcm.Config{
		Store:    vnflcm.NewMemoryStore(),
		Key:      []byte("32 bytes that seal all records.."),
		Packages: toyPackage("cluster"),
		Infra:    map[string]vnflcm.InfraDriver{"toy": &cloud{world: toys}},
		Mgmt:     map[string]vnflcm.MgmtDriver{"cluster": &cluster{world: toys}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = manager.Close(ctx) }()
	instance, err := manager.Create(ctx, vnflcm.CreateVnfRequest{VnfdID: toyVNFD})
	if err != nil {
		log.Fatal(err)
	}
	wait := func(opID string, err error) {
		if err != nil {
			log.Fatal(err) // the request was refused: nothing was touched
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
	access, err := vnflcm.ParseParams([]byte(`{"username": "admin", "password": "secret"}`))
	if err != nil {
		log.Fatal(err)
	}
	wait(manager.Instantiate(ctx, instance.ID, vnflcm.InstantiateVnfRequest{FlavourID: "plain",
		VimConnectionInfo: vnflcm.VimConnections{{VimType: "toy", AccessInfo: access}}}))
	wait(manager.Scale(ctx, instance.ID, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "workers"}))
	wait(manager.Heal(ctx, instance.ID, vnflcm.HealVnfRequest{VnfcInstanceID: []string{"worker-1"}}))
	wait(manager.Terminate(ctx, instance.ID, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
	// Output:
	// INSTANTIATE COMPLETED INSTANTIATED
	//   ADDED master-0
	//   ADDED worker-0
	//   ADDED worker-1
	// SCALE COMPLETED INSTANTIATED
	//   ADDED worker-2
	// HEAL COMPLETED INSTANTIATED
	//   MODIFIED worker-1
	// TERMINATE COMPLETED NOT_INSTANTIATED
	//   REMOVED master-0
	//   REMOVED worker-0
	//   REMOVED worker-1
	//   REMOVED worker-2
}

// A hook that was interrupted runs again from its beginning. The step that was done is not.
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
	manager, instanceID := managerWithHook(hook)
	ctx := context.Background()
	defer func() { _ = manager.Close(ctx) }()

	opID, err := manager.Instantiate(ctx, instanceID, vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
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
	// setting up master0
	// FAILED_TEMP the network is down
	// joining https://master0:6443
	// COMPLETED <nil>
}

// managerWithHook composes a Manager of toys whose cluster driver has that instantiate_end.
func managerWithHook(hook func(context.Context, *vnflcm.Operation) error) (*vnflcm.Manager, string) {
	ctx := context.Background()
	w := newWorld()
	hooks := (&cluster{world: w}).Hooks()
	hooks[vnflcm.InstantiateEnd] = hook
	manager, err := vnflcm.New(ctx, vnflcm.Config{Store: vnflcm.NewMemoryStore(), Key: testKey, Packages: toyPackage("cluster"),
		Infra: map[string]vnflcm.InfraDriver{"toy": &cloud{world: w}}, Mgmt: map[string]vnflcm.MgmtDriver{"cluster": hooked{hooks}}})
	if err != nil {
		log.Fatal(err)
	}
	instance, err := manager.Create(ctx, vnflcm.CreateVnfRequest{VnfdID: toyVNFD})
	err = errors.Join(err, manager.VIMs().Put(ctx, vnflcm.VimConnectionInfo{VimID: "vim1", VimType: "toy"}), manager.VIMs().SetDefault(ctx, "vim1"))
	if err != nil {
		log.Fatal(err)
	}
	return manager, instance.ID
}

// Every fault is found at once, by its path; what is unknown is named, for a warning.
func ExampleDecodeRequest() {
	var request vnflcm.InstantiateVnfRequest
	unknown, err := vnflcm.DecodeRequest([]byte(`{
		"flavourId": {},
		"instantiationLevel": "large",
		"vimConnectionInfo": {"vim1": {"vimType": "openstack", "accessInfo": "***"}}
	}`), &request)
	fmt.Println("unknown:", unknown)
	fmt.Println(err)
	fmt.Println(errors.Is(err, vnflcm.ErrInvalidRequest))
	// Output:
	// unknown: [instantiationLevel]
	// flavourId: must be a string
	// vimConnectionInfo[0].accessInfo: this value was masked when it was written and cannot be read back
	// true
}

// A driver reads its parameters into a struct; secrets stay masked, whatever prints them.
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
