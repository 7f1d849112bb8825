package vnflcm

import (
	"context"
	"log/slog"
	"reflect"

	"github.com/vnfkit/vnfkit/internal/bounded"
)

// Bounds of texts that drivers give, in which peers may be quoted.
const (
	maxText     = 32 << 10 // an error, an event, an entry of the log
	maxStepText = 4 << 10  // a field of a StepFailure: an operation may have one for each VNFC
)

// maskedLogger masks the texts that drivers log of an operation, and bounds them.
func maskedLogger(log *slog.Logger, mask *masker) *slog.Logger {
	return slog.New(&maskHandler{Handler: log.Handler(), mask: mask})
}

type maskHandler struct {
	slog.Handler
	mask *masker
}

func (h *maskHandler) Handle(ctx context.Context, r slog.Record) error {
	out := slog.NewRecord(r.Time, r.Level, bounded.Text(h.mask.apply(r.Message), maxText), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		out.AddAttrs(h.attr(a))
		return true
	})
	return h.Handler.Handle(ctx, out)
}

func (h *maskHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	masked := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		masked[i] = h.attr(a)
	}
	return &maskHandler{h.Handler.WithAttrs(masked), h.mask}
}

func (h *maskHandler) WithGroup(name string) slog.Handler {
	return &maskHandler{h.Handler.WithGroup(name), h.mask}
}

func (h *maskHandler) attr(a slog.Attr) slog.Attr {
	switch v := a.Value.Resolve(); v.Kind() {
	case slog.KindGroup:
		group := make([]slog.Attr, 0, len(v.Group()))
		for _, member := range v.Group() {
			group = append(group, h.attr(member))
		}
		return slog.Attr{Key: a.Key, Value: slog.GroupValue(group...)}
	case slog.KindString, slog.KindAny:
		if err, isError := v.Any().(error); isError && !isNil(err) {
			return slog.String(a.Key, h.mask.applyTo(err))
		}
		return slog.String(a.Key, bounded.Text(h.mask.labelled(a.Key, v.String()), maxText))
	default:
		return a
	}
}

// isNil reports whether an error is a nil pointer, whose methods may panic.
func isNil(err error) bool {
	v := reflect.ValueOf(err)
	return v.Kind() == reflect.Pointer && v.IsNil()
}
