package telemetry_test

import (
	"context"
	"fmt"
	"log"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
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
		Store: vnflcm.NewMemoryStore(), Key: []byte("32 bytes that seal all records.."),
		Packages: vnflcm.PackagesFunc(func(context.Context, string) (tosca.Source, error) { return tosca.FS(files), nil }),
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
