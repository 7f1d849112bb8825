package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync/atomic"
	"testing/fstest"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
	"github.com/vnfkit/vnfkit/vnflcm/telemetry"
)

// The trace of an instantiation. A program takes an exporter for its collector (go.opentelemetry.io/otel/exporters) instead of
// the one in memory, with sdktrace.WithBatcher.
func Example() {
	ctx := context.Background()
	exporter := tracetest.NewInMemoryExporter()
	traces := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter), sdktrace.WithIDGenerator(telemetry.IDs()))
	t, err := telemetry.New(telemetry.Options{Traces: traces})
	if err != nil {
		log.Fatal(err)
	}
	config := vnflcm.Config{
		Store: store.NewMemory(), Key: []byte("32 bytes that seal all records.."),
		Packages: vnflcm.PackagesFunc(func(context.Context, string, string) (tosca.Source, error) { return tosca.FS(files), nil }),
		Infra:    map[string]vnflcm.InfraDriver{"toy": new(cloud)}, // the drivers of the program
	}
	t.Attach(&config)
	manager, err := vnflcm.New(ctx, config)
	if err != nil {
		log.Fatal(err)
	}
	if err := manager.VIMs().Put(ctx, vnflcm.VimConnectionInfo{VimID: "toy", VimType: "toy"}); err != nil {
		log.Fatal(err)
	}
	vnf, err := manager.Create(ctx, vnflcm.CreateVnfRequest{VnfdID: "web"})
	if err != nil {
		log.Fatal(err)
	}
	operation, err := manager.Instantiate(ctx, vnf.ID, vnflcm.InstantiateVnfRequest{FlavourID: "small", VimConnectionInfo: vnflcm.VimConnections{{VimID: "toy"}}})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := manager.Wait(ctx, operation); err != nil {
		log.Fatal(err)
	}
	for _, span := range exporter.GetSpans() {
		fmt.Println(span.Name, span.Parent.IsValid())
	}
	_ = manager.Close(ctx)
	_ = traces.Shutdown(ctx) // after the Manager: it ends the last spans
	// Output:
	// create-server true
	// start-server true
	// instantiate true
	// INSTANTIATE false
}

var files = fstest.MapFS{"web.yaml": {Data: []byte(`tosca_definitions_version: tosca_simple_yaml_1_2
metadata: {template_name: web, template_author: toys, template_version: '1.0'}
node_types:
  toy.VNF: {derived_from: tosca.nodes.nfv.VNF}
topology_template:
  substitution_mappings: {node_type: toy.VNF, properties: {flavour_id: small}}
  node_templates:
    VNF:
      type: toy.VNF
      properties: {descriptor_id: web, descriptor_version: '1.0', provider: Toys, product_name: Web, software_version: '1.0',
        vnfm_info: ['0:vnfkit'], flavour_id: small, flavour_description: a toy}
`)}}

// cloud makes a server in two steps. The second can fail.
type cloud struct{ broken atomic.Bool }

func (c *cloud) Plan(context.Context, *vnflcm.Operation) (vnflcm.Change, error) {
	return vnflcm.Change{}, nil
}
func (c *cloud) Scale(context.Context, *vnflcm.Operation) error     { return nil }
func (c *cloud) Heal(context.Context, *vnflcm.Operation) error      { return nil }
func (c *cloud) Terminate(context.Context, *vnflcm.Operation) error { return nil }
func (c *cloud) Resources(context.Context, *vnflcm.Operation) (vnflcm.Resources, error) {
	return vnflcm.Resources{}, nil
}

// errQuota quotes what the cloud has said, which has no place in a trace.
var errQuota = errors.New("no quota, password hunter2")

func (c *cloud) Instantiate(ctx context.Context, op *vnflcm.Operation) error {
	for _, name := range []string{"create-server", "start-server"} {
		err := vnflcm.Do(ctx, op, name, "", func(ctx context.Context) error {
			op.Log.InfoContext(ctx, "at work", "step", name)
			if name == "start-server" && c.broken.Load() {
				return errors.Join(errQuota, vnflcm.ErrStore)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
