package mgmttest

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// told collects the log and the events of the processes of a lab.
type told struct {
	mu     sync.Mutex
	log    bytes.Buffer
	events []vnflcm.Event
	hosts  map[string]string // machine by VNFC
}

// Write implements io.Writer for the log.
func (t *told) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.log.Write(p)
}

func (t *told) observe(e vnflcm.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.events = append(t.events, e)
	if e.Host != "" {
		t.hosts[e.On] = e.Host
	}
}

// Log returns the log of the processes.
func (l *Lab) Log() string {
	l.told.mu.Lock()
	defer l.told.mu.Unlock()
	return l.told.log.String()
}

// Events returns the events of all processes.
func (l *Lab) Events() []vnflcm.Event {
	l.told.mu.Lock()
	defer l.told.mu.Unlock()
	return slices.Clone(l.told.events)
}

// NameOf returns the machine that a VNFC has had, "" if there was none.
func (l *Lab) NameOf(vnfc string) string {
	l.told.mu.Lock()
	defer l.told.mu.Unlock()
	return l.told.hosts[vnfc]
}

// panicReporter is a log handler that fails the test for each panic of a driver, with the stack that the Manager logs.
type panicReporter struct {
	slog.Handler
	t testing.TB
}

// Handle implements slog.Handler.
func (h panicReporter) Handle(ctx context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "stack" {
			h.t.Errorf("%s\n%s", r.Message, a.Value)
		}
		return true
	})
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h panicReporter) WithAttrs(attrs []slog.Attr) slog.Handler {
	return panicReporter{h.Handler.WithAttrs(attrs), h.t}
}

// WithGroup implements slog.Handler.
func (h panicReporter) WithGroup(name string) slog.Handler {
	return panicReporter{h.Handler.WithGroup(name), h.t}
}
