package telemetry

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// scope is the name of the instrumentation.
const scope = "github.com/vnfkit/vnfkit/vnflcm/telemetry"

// Options configure a Telemetry.
type Options struct {
	// Traces makes spans. It needs IDs as its generator of ids. Default: there are no spans.
	Traces trace.TracerProvider
	// Metrics makes instruments. Default: there are no metrics.
	Metrics metric.MeterProvider
}

// Telemetry shows the operations of one Manager. It is safe for concurrent use.
type Telemetry struct {
	tracer  trace.Tracer
	metrics *instruments
	log     *slog.Logger // of the Manager

	mu        sync.Mutex
	instances map[string]string // VNF instance of each operation that this process works on
}

// New returns a Telemetry for one Manager, or the error of an instrument that cannot be made.
func New(o Options) (*Telemetry, error) {
	if o.Traces == nil {
		o.Traces = tracenoop.NewTracerProvider()
	}
	if o.Metrics == nil {
		o.Metrics = metricnoop.NewMeterProvider()
	}
	metrics, err := newInstruments(o.Metrics.Meter(scope))
	return &Telemetry{tracer: o.Traces.Tracer(scope), metrics: metrics, instances: map[string]string{}, log: slog.New(slog.DiscardHandler)}, err
}

// Attach connects a Manager by its Config, before vnflcm.New. What the Config has already is wrapped and keeps its effect.
func (t *Telemetry) Attach(c *vnflcm.Config) {
	observe, intercept := c.Observe, c.Intercept
	c.Observe = func(e vnflcm.Event) {
		t.observe(e)
		if observe != nil {
			observe(e)
		}
	}
	c.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
		return t.step(ctx, s, func(ctx context.Context) error {
			if intercept == nil {
				return next(ctx)
			}
			return intercept(ctx, s, next)
		})
	}
	if c.Store != nil {
		t.metrics.watch(c.Store)
		c.Store = t.metrics.timed(c.Store)
	}
	c.Logger = slog.New(LogHandler(cmp.Or(c.Logger, slog.Default()).Handler()))
	t.log = c.Logger
}

// observe measures what an event reports, and makes the spans of phases and operations.
func (t *Telemetry) observe(e vnflcm.Event) {
	t.metrics.event(e)
	switch e.Kind {
	case vnflcm.PhaseStarted:
		t.remember(e.OperationID, e.InstanceID)
	case vnflcm.PhaseDone:
		t.phase(e)
	case vnflcm.OperationLost:
		t.forget(e.OperationID)
	case vnflcm.OperationChanged:
		if e.State.Final() {
			t.operation(e)
		}
		if e.State.Final() || e.State == vnflcm.FailedTemp {
			t.forget(e.OperationID)
		}
	}
}

func (t *Telemetry) remember(opID, instance string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.instances[opID] = instance
}

func (t *Telemetry) forget(opID string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.instances, opID)
}

func (t *Telemetry) instance(opID string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.instances[opID]
}

// Keys of attributes. Those without the prefix vnfkit are OpenTelemetry's.
const (
	keyOperation = attribute.Key("vnfkit.operation.id")
	keyType      = attribute.Key("vnfkit.operation.type")
	keyState     = attribute.Key("vnfkit.operation.state")
	keyInstance  = attribute.Key("vnfkit.instance.id")
	keyPhase     = attribute.Key("vnfkit.phase")
	keyStep      = attribute.Key("vnfkit.step")
	keyResult    = attribute.Key("vnfkit.result")
	keyVNFC      = attribute.Key("vnfkit.vnfc.id")
	keyAttempt   = attribute.Key("vnfkit.attempt")
	keyMethod    = attribute.Key("vnfkit.store.method")
	keyDays      = attribute.Key("vnfkit.certificate.days")
	keyClass     = attribute.Key("vnfkit.wait.class")
	keyVIMState  = attribute.Key("vnfkit.vim.state")
	keyHost      = attribute.Key("host.name")
	keyErrorType = attribute.Key("error.type")
)

// errorType returns the code of an error, and OpenTelemetry's word for an error without one.
func errorType(err error) string {
	if code, ok := errors.AsType[vnflcm.Code](err); ok {
		return string(code)
	}
	return "_OTHER"
}
