package telemetry

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/trace"
)

// LogHandler returns a handler that adds the attributes trace_id and span_id to records whose context has a span, and trace_id to
// other records of an operation, which have its id in the attribute operation. Attach wraps the Logger of a Manager with it.
func LogHandler(h slog.Handler) slog.Handler { return logHandler{Handler: h} }

type logHandler struct {
	slog.Handler
	operation string // attribute of the logger
}

// Handle implements slog.Handler.
func (h logHandler) Handle(ctx context.Context, r slog.Record) error {
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		r = r.Clone()
		r.AddAttrs(slog.String("trace_id", span.TraceID().String()), slog.String("span_id", span.SpanID().String()))
		return h.Handler.Handle(ctx, r)
	}
	operation := h.operation
	r.Attrs(func(a slog.Attr) bool {
		operation = operationIn(operation, a)
		return true
	})
	if operation != "" {
		id, _ := rootOf(operation)
		r = r.Clone()
		r.AddAttrs(slog.String("trace_id", id.String()))
	}
	return h.Handler.Handle(ctx, r)
}

// operationIn returns the id of the operation in an attribute, or else the id known so far.
func operationIn(known string, a slog.Attr) string {
	if a.Key == "operation" && a.Value.Kind() == slog.KindString {
		return a.Value.String()
	}
	return known
}

// WithAttrs implements slog.Handler.
func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	for _, a := range attrs {
		h.operation = operationIn(h.operation, a)
	}
	h.Handler = h.Handler.WithAttrs(attrs)
	return h
}

// WithGroup implements slog.Handler.
func (h logHandler) WithGroup(name string) slog.Handler {
	h.Handler = h.Handler.WithGroup(name)
	return h
}
