package inprocess

import (
	"context"
	"log/slog"
	"sync/atomic"

	"k8s.io/klog/v2"
)

// kubernetesLog is where the messages of Kubernetes' Go packages go: the Log of the client that was made last and has
// one. klog has one destination for the process, which may only be changed before it is used.
var kubernetesLog atomic.Pointer[slog.Logger]

func init() {
	klog.SetSlogLogger(slog.New(klogHandler{}))
}

// klogHandler gives messages to kubernetesLog, or discards them while there is none.
type klogHandler struct {
	with []func(slog.Handler) slog.Handler // attributes and groups
}

// Enabled implements slog.Handler.
func (h klogHandler) Enabled(ctx context.Context, level slog.Level) bool {
	log := kubernetesLog.Load()
	return log != nil && log.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (h klogHandler) Handle(ctx context.Context, r slog.Record) error {
	log := kubernetesLog.Load()
	if log == nil {
		return nil
	}
	to := log.Handler()
	for _, with := range h.with {
		to = with(to)
	}
	return to.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h klogHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return h.and(func(to slog.Handler) slog.Handler { return to.WithAttrs(attrs) })
}

// WithGroup implements slog.Handler.
func (h klogHandler) WithGroup(name string) slog.Handler {
	return h.and(func(to slog.Handler) slog.Handler { return to.WithGroup(name) })
}

func (h klogHandler) and(with func(slog.Handler) slog.Handler) klogHandler {
	return klogHandler{append(h.with[:len(h.with):len(h.with)], with)}
}
