package kubeadm_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/crashtest"
	"github.com/vnfkit/vnfkit/vnflcm/telemetry"
	"github.com/vnfkit/vnfkit/vnflcm/timeline"
)

// traced connects a process to the exporter, by providers that no other process has.
func (l *lab) traced(to sdktrace.SpanExporter) func(*vnflcm.Config) {
	l.t.Helper()
	traces := sdktrace.NewTracerProvider(sdktrace.WithSyncer(to), sdktrace.WithIDGenerator(telemetry.IDs()))
	l.t.Cleanup(func() {
		if err := traces.Shutdown(context.WithoutCancel(l.t.Context())); err != nil {
			l.t.Error(err)
		}
	})
	tel, err := telemetry.New(telemetry.Options{Traces: traces})
	if err != nil {
		l.t.Fatal(err)
	}
	return tel.Attach
}

// TestOneTrace kills the process of an instantiation and resumes it in another one: the spans of both are one trace, with one root, from
// which the critical path can be read.
func TestOneTrace(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	id := l.Created()
	spans := tracetest.NewInMemoryExporter()
	doomed := l.doomed("instantiate_end/join/workerNode-0", crashtest.BeforeJournal)
	opID, err := doomed.Run(t.Context(), l.Process(doomed.Attach, l.traced(spans)), func(m *vnflcm.Manager) (string, error) {
		return m.Instantiate(t.Context(), id, l.Request("instantiate_sandbox.json"))
	})
	if err == nil {
		_, err = doomed.Resume(t.Context(), l.Process(doomed.AttachNext, l.traced(spans)), opID)
	}
	if err != nil {
		t.Fatal(err)
	}
	root := rootSpan(t, spans.GetSpans())
	chart := &timeline.Chart{Operation: vnflcm.OpInstantiate, Start: root.StartTime, End: root.EndTime}
	attempts := map[int64]bool{}
	for _, s := range spans.GetSpans() {
		if s.SpanContext.TraceID() != root.SpanContext.TraceID() {
			t.Errorf("%s is in another trace", s.Name)
		}
		if s.SpanContext.SpanID() != root.SpanContext.SpanID() && s.Parent.SpanID() != root.SpanContext.SpanID() {
			t.Errorf("%s is not below the root span", s.Name)
		}
		attempts[attributeOf(s, "vnfkit.attempt").AsInt64()] = true
		if step := attributeOf(s, "vnfkit.step").AsString(); step != "" {
			chart.Work = append(chart.Work, vnflcm.Performed{Step: step, Host: attributeOf(s, "host.name").AsString(), Start: s.StartTime, End: s.EndTime})
		}
	}
	delete(attempts, 0) // of the root span
	if len(attempts) != 2 {
		t.Errorf("attempts %v", attempts)
	}
	var path []string
	for _, p := range chart.CriticalPath(time.Now()) {
		path = append(path, p.Step)
	}
	if len(path) < 5 || path[0] != "create-vm" || path[len(path)-1] != "register-vim" {
		t.Errorf("the critical path is %q", path)
	}
}

// rootSpan returns the only span without a parent.
func rootSpan(t *testing.T, spans tracetest.SpanStubs) (root tracetest.SpanStub) {
	t.Helper()
	var err error
	for _, s := range spans {
		if !s.Parent.IsValid() {
			if root.Name != "" {
				err = errors.New("two root spans")
			}
			root = s
		}
	}
	if err != nil || root.Name != "INSTANTIATE" || root.SpanKind != trace.SpanKindInternal {
		t.Fatalf("root span %q: %v", root.Name, err)
	}
	return root
}

func attributeOf(s tracetest.SpanStub, key attribute.Key) (value attribute.Value) {
	for _, a := range s.Attributes {
		if a.Key == key {
			value = a.Value
		}
	}
	return value
}
