package vnflcm_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// A machine that was removed by hand is found.
func ExampleManager_Diagnose() {
	ctx := context.Background()
	manager := newExampleManager(nil)
	defer func() { _ = manager.Close(ctx) }()
	id := instantiateExample(ctx, manager)
	delete(exampleCloud.machines, id) // an administrator of the cloud
	findings, err := manager.Diagnose(ctx, id)
	for _, f := range findings {
		fmt.Println(f.Kind, f.Resource, f.Name)
	}
	fmt.Println(err)
	// Output:
	// missing machine worker0
	// <nil>
}

// What Purge would remove now. A program with notifications also gives the places of its subscribers: notify.Notifier.Unsent.
func ExampleManager_PlanPurge() {
	ctx := context.Background()
	manager := newExampleManager(nil)
	defer func() { _ = manager.Close(ctx) }()
	plan, err := manager.PlanPurge(ctx, vnflcm.Retention{Completed: 90 * 24 * time.Hour, Failed: 365 * 24 * time.Hour})
	fmt.Printf("%+v %v\n", plan, err)
	// Output:
	// {Completed:0 Failed:0 Changes:0} <nil>
}

// instantiateExample instantiates the VNF of the examples and returns its id.
func instantiateExample(ctx context.Context, manager *vnflcm.Manager) string {
	instance, err := manager.Create(ctx, vnflcm.CreateVnfRequest{VnfdID: "pool"})
	if err != nil {
		log.Fatal(err)
	}
	opID, err := manager.Instantiate(ctx, instance.ID, vnflcm.InstantiateVnfRequest{FlavourID: "small", VimConnectionInfo: vnflcm.VimConnections{{VimID: "lab"}}})
	if err == nil {
		_, err = manager.Wait(ctx, opID)
	}
	if err != nil {
		log.Fatal(err)
	}
	return instance.ID
}
