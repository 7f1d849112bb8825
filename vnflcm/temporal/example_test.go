package temporal_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"testing/fstest"

	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
	"github.com/vnfkit/vnfkit/vnflcm/store/postgres"
	"github.com/vnfkit/vnfkit/vnflcm/temporal"
)

// A process of a VNFM that works on operations at one site. Processes that take requests have the same configuration and no
// Worker; one process has a Worker of the queue vnfm, where the workflows run.
func Example() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	store, err := postgres.Open(ctx, os.Getenv("VNFM_DATABASE"), postgres.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	c, err := client.Dial(client.Options{HostPort: "temporal.example.com:7233", Namespace: "vnfm"})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	if err := temporal.CreateAttributes(ctx, c, "vnfm"); err != nil {
		log.Fatal(err)
	}
	progress := new(temporal.Progress)
	manager, err := vnflcm.New(ctx, vnflcm.Config{
		Store: store, Key: []byte("32 bytes that seal all records.."),
		Packages: vnflcm.DirPackages("packages"),
		Infra:    map[string]vnflcm.InfraDriver{}, // the drivers of the program
		Runner:   temporal.Runner(c, "vnfm"), Observe: progress.Observe,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer manager.Close(context.Background())
	w := temporal.Worker(c, "site-north", manager, temporal.Options{Progress: progress})
	if err := w.Start(); err != nil {
		log.Fatal(err)
	}
	<-ctx.Done()
	w.Stop()
}

// The workflow of an instantiation in the test environment of Temporal's SDK, which needs no server.
func ExampleRegister() {
	ctx := context.Background()
	toCome := make(chan string, 1)
	manager, err := vnflcm.New(ctx, vnflcm.Config{
		Store: store.NewMemory(), Key: []byte("32 bytes that seal all records.."),
		Packages: vnflcm.PackagesFunc(func(context.Context, string, string) (tosca.Source, error) { return tosca.FS(web), nil }),
		Infra:    map[string]vnflcm.InfraDriver{"toy": cloud{}}, // the drivers of the program
		Runner:   queueOf(toCome),
	})
	if err != nil {
		log.Fatal(err)
	}
	defer manager.Close(ctx)
	if err := manager.VIMs().Put(ctx, vnflcm.VimConnectionInfo{VimID: "north", VimType: "toy"}); err != nil {
		log.Fatal(err)
	}
	vnf, err := manager.Create(ctx, vnflcm.CreateVnfRequest{VnfdID: "web"})
	if err != nil {
		log.Fatal(err)
	}
	request := vnflcm.InstantiateVnfRequest{FlavourID: "small", VimConnectionInfo: vnflcm.VimConnections{{VimID: "north"}}}
	if _, err := manager.Instantiate(ctx, vnf.ID, request); err != nil {
		log.Fatal(err)
	}

	suite := new(testsuite.WorkflowTestSuite)
	suite.SetLogger(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	environment := suite.NewTestWorkflowEnvironment()
	temporal.Register(environment, manager, temporal.Options{
		Queue: func(inst *vnflcm.VnfInstance) string { return "site-" + inst.VimConnectionInfo[0].VimID },
	})
	operationID := <-toCome
	environment.ExecuteWorkflow("vnflcm.operation", map[string]string{"id": operationID})
	occ, err := manager.Operation(ctx, operationID)
	fmt.Println(environment.GetWorkflowError(), occ.OperationState, err)
	// Output: <nil> COMPLETED <nil>
}

// queueOf is a Runner that leaves operations to the example.
type queueOf chan string

func (q queueOf) Start(_ context.Context, operationID string) error {
	q <- operationID
	return nil
}

var web = fstest.MapFS{"web.yaml": {Data: []byte(`tosca_definitions_version: tosca_simple_yaml_1_2
metadata: {template_name: web, template_author: example, template_version: '1.0'}
node_types:
  example.VNF: {derived_from: tosca.nodes.nfv.VNF}
topology_template:
  substitution_mappings: {node_type: example.VNF, properties: {flavour_id: small}}
  node_templates:
    VNF:
      type: example.VNF
      properties: {descriptor_id: web, descriptor_version: '1.0', provider: Example, product_name: Web, software_version: '1.0',
        vnfm_info: ['0:vnfkit'], flavour_id: small, flavour_description: no machines}
`)}}

// cloud is an infrastructure driver that has nothing to do.
type cloud struct{}

func (cloud) Plan(context.Context, *vnflcm.Operation) (vnflcm.Change, error) {
	return vnflcm.Change{}, nil
}
func (cloud) Instantiate(context.Context, *vnflcm.Operation) error { return nil }
func (cloud) Scale(context.Context, *vnflcm.Operation) error       { return nil }
func (cloud) Heal(context.Context, *vnflcm.Operation) error        { return nil }
func (cloud) Terminate(context.Context, *vnflcm.Operation) error   { return nil }
func (cloud) Resources(context.Context, *vnflcm.Operation) (vnflcm.Resources, error) {
	return vnflcm.Resources{}, nil
}
