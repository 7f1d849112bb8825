package sshotel_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.uber.org/goleak"

	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshotel"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Each command of a host becomes a span below the span of its caller.
func Example() {
	ctx := context.Background()
	exporter := tracetest.NewInMemoryExporter() // a real program uses the exporter for its collector
	traces := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
	observer, err := sshotel.New(traces, nil)
	if err != nil {
		log.Fatal(err)
	}
	host, err := sshtest.New(sshtest.Config{Name: "web-1", User: "ubuntu", Password: "ubuntu"})
	if err != nil {
		log.Fatal(err)
	}
	pool := sshexec.NewPool(sshexec.Options{Observe: observer.Command})
	web := pool.Host(sshexec.Target{Name: "web-1", Addr: host.Addr(), User: "ubuntu", Auth: []sshexec.Auth{sshexec.Password("ubuntu")}, HostKeys: sshexec.InsecureIgnoreHostKeys()})
	if err := web.Run(ctx, []string{"echo", "hello"}, nil, io.Discard, nil); err != nil {
		log.Fatal(err)
	}
	for _, span := range exporter.GetSpans() {
		fmt.Println(span.Name, span.Attributes[0].Value.AsString())
	}
	_ = errors.Join(pool.Close(), host.Close(), traces.Shutdown(ctx))
	// Output: ssh echo web-1
}

// TestCommands checks that spans and durations contain the host, the program and the exit code, and neither arguments nor output.
func TestCommands(t *testing.T) {
	t.Parallel()
	spans, reader := tracetest.NewInMemoryExporter(), metric.NewManualReader()
	traces := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	observer, err := sshotel.New(traces, metric.NewMeterProvider(metric.WithReader(reader)))
	if err != nil {
		t.Fatal(err)
	}
	host := sshtest.Start(t, sshtest.Config{Name: "web-1", User: "ubuntu", Password: "ubuntu"})
	pool := sshexec.NewPool(sshexec.Options{Observe: observer.Command, Dial: observer.Dial((&net.Dialer{}).DialContext)})
	web := pool.Host(sshexec.Target{Name: "web-1", Addr: host.Addr(), User: "ubuntu", Auth: []sshexec.Auth{sshexec.Password("ubuntu")}, HostKeys: sshexec.InsecureIgnoreHostKeys()})
	ctx, above := traces.Tracer("test").Start(t.Context(), "above")
	if err := web.Exec(ctx, sshexec.Command{Argv: []string{"/bin/echo", "hunter2"}, Root: true}); err != nil {
		t.Error(err)
	}
	if err := web.Exec(ctx, sshexec.Command{Argv: []string{"sh", "-c", "echo hunter2 >&2; exit 3"}}); err == nil {
		t.Error("no error")
	}
	if got := connections(t, reader); got != 1 {
		t.Errorf("%d connections", got)
	}
	if err := pool.Close(); err != nil {
		t.Error(err)
	}
	if got := connections(t, reader); got != 0 {
		t.Errorf("%d connections after Close", got)
	}
	above.End()
	var got []string
	for _, s := range spans.GetSpans() {
		line := s.Name
		if s.Parent.SpanID() == above.SpanContext().SpanID() {
			line += " below"
		}
		for _, a := range s.Attributes {
			line += fmt.Sprintf(" %s=%s", a.Key, a.Value.String())
		}
		got = append(got, strings.TrimSpace(line+" "+s.Status.Description))
	}
	want := []string{
		"ssh echo below host.name=web-1 process.executable.name=echo process.owner=root",
		"ssh sh below host.name=web-1 process.executable.name=sh error.type=exit 3 process.exit.code=3 exit 3",
		"above",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// connections returns the value of the metric.
func connections(t *testing.T, reader metric.Reader) int64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	for _, m := range all.ScopeMetrics[0].Metrics {
		if m.Name == "ssh.connections" {
			return m.Data.(metricdata.Sum[int64]).DataPoints[0].Value //nolint:forcetypeassert // a counter
		}
	}
	return -1
}

// TestErrors checks the value of the error attribute for every error.
func TestErrors(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{"exit 7": &sshexec.ExitError{Code: 7}, "canceled": context.Canceled, "timeout": context.DeadlineExceeded,
		"connect": sshexec.ErrConnect, "_OTHER": io.ErrUnexpectedEOF} {
		spans := tracetest.NewInMemoryExporter()
		observer, failed := sshotel.New(sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)), nil)
		if failed != nil {
			t.Fatal(failed)
		}
		observer.Command(t.Context(), sshexec.CommandEvent{Host: "web-1", Command: "true", Done: true, Err: fmt.Errorf("web-1: %w", err)})
		if got := spans.GetSpans()[0].Status.Description; got != want {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
}
