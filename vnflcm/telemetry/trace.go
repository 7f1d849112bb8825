package telemetry

import (
	"context"
	"crypto/rand"
	"crypto/sha256"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// rootOf returns the ids of the root span of an operation. They depend on the id of the operation alone.
func rootOf(opID string) (trace.TraceID, trace.SpanID) {
	sum := sha256.Sum256([]byte("vnfkit operation " + opID))
	return trace.TraceID(sum[:16]), trace.SpanID(sum[16:24])
}

// below returns a context whose spans are below the root span of an operation, which can be exported later and by another process.
func below(ctx context.Context, opID string) context.Context {
	traceID, spanID := rootOf(opID)
	return trace.ContextWithRemoteSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: traceID, SpanID: spanID, TraceFlags: trace.FlagsSampled}))
}

// Generator makes the ids of spans. It implements sdk/trace.IDGenerator.
type Generator struct{}

// IDs returns the generator of ids for the TracerProvider in Options. Ids are random except those of the root spans of operations.
func IDs() Generator { return Generator{} }

// rootKey is the key of the id of an operation in the context of its root span.
type rootKey struct{}

// NewIDs implements sdk/trace.IDGenerator.
func (Generator) NewIDs(ctx context.Context) (id trace.TraceID, span trace.SpanID) {
	if opID, isRoot := ctx.Value(rootKey{}).(string); isRoot {
		return rootOf(opID)
	}
	_, _ = rand.Read(id[:]) // crypto/rand does not fail
	_, _ = rand.Read(span[:])
	return id, span
}

// NewSpanID implements sdk/trace.IDGenerator.
func (Generator) NewSpanID(context.Context, trace.TraceID) (span trace.SpanID) {
	_, _ = rand.Read(span[:])
	return span
}

// step runs a step in a span.
func (t *Telemetry) step(ctx context.Context, s vnflcm.StepInfo, do func(context.Context) error) error {
	ctx, span := t.tracer.Start(below(ctx, s.OperationID), s.Name)
	if !span.IsRecording() {
		return do(ctx)
	}
	defer span.End() // also when the step panics
	span.SetAttributes(keyOperation.String(s.OperationID), keyInstance.String(t.instance(s.OperationID)), keyPhase.String(s.Phase), keyStep.String(s.Name), keyAttempt.Int(s.Attempt))
	if s.On != "" {
		span.SetAttributes(keyVNFC.String(s.On), keyHost.String(s.Host))
	}
	err := do(ctx)
	if err != nil {
		fail(span, errorType(err))
	}
	return err
}

// phase exports the span of a phase that has ended.
func (t *Telemetry) phase(e vnflcm.Event) {
	_, span := t.tracer.Start(below(context.Background(), e.OperationID), e.Phase, trace.WithTimestamp(e.Time.Add(-e.Duration)), trace.WithAttributes(
		keyOperation.String(e.OperationID), keyInstance.String(e.InstanceID), keyPhase.String(e.Phase), keyAttempt.Int(e.Attempt)))
	span.End(trace.WithTimestamp(e.Time))
}

// operation exports the root span of an operation that has ended.
func (t *Telemetry) operation(e vnflcm.Event) {
	ctx := context.WithValue(context.Background(), rootKey{}, e.OperationID)
	_, span := t.tracer.Start(ctx, string(e.Operation), trace.WithNewRoot(), trace.WithTimestamp(e.Time.Add(-e.Duration)), trace.WithAttributes(
		keyOperation.String(e.OperationID), keyInstance.String(e.InstanceID), keyType.String(string(e.Operation)), keyState.String(string(e.State))))
	if e.State != vnflcm.Completed {
		fail(span, string(e.State))
	}
	span.End(trace.WithTimestamp(e.Time))
}

// fail marks a span as failed for a reason that is a code.
func fail(span trace.Span, code string) {
	span.SetStatus(codes.Error, code)
	span.SetAttributes(attribute.String(string(keyErrorType), code))
}
