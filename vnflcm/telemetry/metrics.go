package telemetry

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// instruments are the metrics of a Manager.
type instruments struct {
	meter                     metric.Meter
	operations, steps, stores metric.Float64Histogram
	takeovers, losses         metric.Int64Counter
	active, queue, ending     metric.Int64ObservableGauge
}

func newInstruments(meter metric.Meter) (*instruments, error) {
	m, errs := &instruments{meter: meter}, [8]error{}
	m.operations, errs[0] = meter.Float64Histogram("vnfkit.operation.duration", metric.WithUnit("s"),
		metric.WithDescription("Time from the start of an operation until it ended or failed temporarily"), metric.WithExplicitBucketBoundaries(1, 5, 10, 30, 60, 120, 300, 600, 1200, 3600))
	m.steps, errs[1] = meter.Float64Histogram("vnfkit.step.duration", metric.WithUnit("s"),
		metric.WithDescription("Duration of the steps of operations"), metric.WithExplicitBucketBoundaries(.01, .05, .1, .5, 1, 5, 10, 30, 60, 300, 1200))
	m.stores, errs[2] = meter.Float64Histogram("vnfkit.store.duration", metric.WithUnit("s"),
		metric.WithDescription("Duration of calls of the store"), metric.WithExplicitBucketBoundaries(.0001, .0005, .001, .005, .01, .05, .1, .5, 1, 5))
	m.takeovers, errs[3] = meter.Int64Counter("vnfkit.operation.takeovers", metric.WithUnit("{operation}"),
		metric.WithDescription("Operations that this process has continued after another one"))
	m.losses, errs[4] = meter.Int64Counter("vnfkit.operation.losses", metric.WithUnit("{operation}"),
		metric.WithDescription("Operations that this process has lost to another one"))
	m.active, errs[5] = meter.Int64ObservableGauge("vnfkit.operation.active", metric.WithUnit("{operation}"),
		metric.WithDescription("Operations in the store that have not ended"))
	m.queue, errs[6] = meter.Int64ObservableGauge("vnfkit.operation.queue", metric.WithUnit("{operation}"),
		metric.WithDescription("Operations in the store that no process works on yet"))
	m.ending, errs[7] = meter.Int64ObservableGauge("vnfkit.instance.certificates", metric.WithUnit("{instance}"),
		metric.WithDescription("VNF instances by the days until the first of their certificates ends"))
	return m, errors.Join(errs[:]...)
}

// event records what an event reports.
func (m *instruments) event(e vnflcm.Event) {
	ctx := context.Background()
	if !m.steps.Enabled(ctx) { // none of them is
		return
	}
	kind := keyType.String(string(e.Operation))
	switch e.Kind {
	case vnflcm.OperationChanged:
		if e.State.Final() || e.State == vnflcm.FailedTemp {
			m.operations.Record(ctx, e.Duration.Seconds(), metric.WithAttributes(kind, keyState.String(string(e.State))))
		}
	case vnflcm.OperationTaken:
		m.takeovers.Add(ctx, 1, metric.WithAttributes(kind))
	case vnflcm.OperationLost:
		m.losses.Add(ctx, 1, metric.WithAttributes(kind))
	case vnflcm.StepDone, vnflcm.StepFailed:
		result := map[vnflcm.EventKind]string{vnflcm.StepDone: "done", vnflcm.StepFailed: "failed"}[e.Kind]
		m.steps.Record(ctx, e.Duration.Seconds(), metric.WithAttributes(keyPhase.String(e.Phase), keyStep.String(e.Name), keyResult.String(result)))
	}
}

// open are the states of operations that have not ended.
var open = []vnflcm.OperationState{vnflcm.Starting, vnflcm.Processing, vnflcm.FailedTemp, vnflcm.RollingBack}

// limits are the states of records of certificates: the limits in days that have passed before the first end, 0 after it.
var limits = []string{"365", "60", "30", "14", "7", "3", "1", "0"}

// watch reads the gauges from a store. Registration fails only for instruments of another meter.
func (m *instruments) watch(db store.Store) {
	_, _ = m.meter.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		states := make([]string, len(open))
		counts := map[string]int64{}
		for i, s := range open {
			states[i], counts[string(s)] = string(s), 0
		}
		operations, err := db.List(ctx, store.Query{Kind: "operation", States: states})
		if err != nil {
			return err
		}
		certificates, err := db.List(ctx, store.Query{Kind: "certificates", States: limits})
		if err != nil {
			return err
		}
		waiting, err := db.List(ctx, store.Query{Kind: "claim", States: []string{"free"}})
		if err != nil {
			return err
		}
		for _, r := range operations {
			counts[r.Index.State]++
		}
		for state, n := range counts {
			o.ObserveInt64(m.active, n, metric.WithAttributes(keyState.String(state)))
		}
		o.ObserveInt64(m.queue, int64(len(waiting)))
		for _, limit := range limits {
			n := 0
			for _, r := range certificates {
				if r.Index.State == limit {
					n++
				}
			}
			o.ObserveInt64(m.ending, int64(n), metric.WithAttributes(keyDays.String(limit)))
		}
		return nil
	}, m.active, m.queue, m.ending)
}

// timedStore measures the calls of a store.
type timedStore struct {
	store.Store
	m *instruments
}

// timed returns a store that measures its calls, and watches if the store can.
func (m *instruments) timed(s store.Store) store.Store {
	timed := timedStore{s, m}
	if watcher, able := s.(store.Watcher); able {
		return struct {
			timedStore
			store.Watcher
		}{timed, watcher}
	}
	return timed
}

func (s timedStore) measure(ctx context.Context, method string, start time.Time, err error) {
	if !s.m.stores.Enabled(ctx) {
		return
	}
	attributes := []attribute.KeyValue{keyMethod.String(method)}
	if err != nil {
		attributes = append(attributes, keyErrorType.String(errorType(err)))
	}
	s.m.stores.Record(ctx, time.Since(start).Seconds(), metric.WithAttributes(attributes...))
}

// Get implements store.Store.
func (s timedStore) Get(ctx context.Context, kind, id string) (r store.Record, err error) {
	start := time.Now()
	r, err = s.Store.Get(ctx, kind, id)
	s.measure(ctx, "Get", start, err)
	return r, err
}

// List implements store.Store.
func (s timedStore) List(ctx context.Context, q store.Query) (list []store.Record, err error) {
	start := time.Now()
	list, err = s.Store.List(ctx, q)
	s.measure(ctx, "List", start, err)
	return list, err
}

// Apply implements store.Store.
func (s timedStore) Apply(ctx context.Context, b store.Batch) error {
	start := time.Now()
	err := s.Store.Apply(ctx, b)
	s.measure(ctx, "Apply", start, err)
	return err
}

// Feed implements store.Store.
func (s timedStore) Feed(ctx context.Context, after string, limit int) (list []store.Record, next string, err error) {
	start := time.Now()
	list, next, err = s.Store.Feed(ctx, after, limit)
	s.measure(ctx, "Feed", start, err)
	return list, next, err
}
