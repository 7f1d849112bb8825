package telemetry

import (
	"context"
	"errors"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// instruments are the metrics of a Manager.
type instruments struct {
	meter                                              metric.Meter
	operations, steps, stores                          metric.Float64Histogram
	takeovers, losses, failures, givenUp               metric.Int64Counter
	active, queue, suspected, ending, unrenewed, known metric.Int64ObservableGauge
	longest, delay                                     metric.Float64ObservableGauge

	waits waits
	vims  vims
}

func newInstruments(meter metric.Meter) (*instruments, error) {
	m, errs := &instruments{meter: meter}, [15]error{}
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
	m.failures, errs[8] = meter.Int64Counter("vnfkit.step.failures", metric.WithUnit("{step}"),
		metric.WithDescription("Steps that have failed in this process, by the class of the reason"))
	m.givenUp, errs[9] = meter.Int64Counter("vnfkit.notification.failures", metric.WithUnit("{notification}"),
		metric.WithDescription("Notifications that are not sent again, because the subscriber does not take them"))
	m.longest, errs[10] = meter.Float64ObservableGauge("vnfkit.operation.waiting", metric.WithUnit("s"),
		metric.WithDescription("How long the operation of this process that waits longest has waited, by the class of the reason"))
	m.suspected, errs[11] = meter.Int64ObservableGauge("vnfkit.operation.suspected", metric.WithUnit("{operation}"),
		metric.WithDescription("Operations at whose work at least two processes in succession have ended without progress"))
	m.unrenewed, errs[12] = meter.Int64ObservableGauge("vnfkit.vim.unrenewed", metric.WithUnit("{vim}"),
		metric.WithDescription("VIMs whose credentials should have been renewed ten minutes ago"))
	m.known, errs[13] = meter.Int64ObservableGauge("vnfkit.vim.count", metric.WithUnit("{vim}"),
		metric.WithDescription("VIMs by the result of the last login, in the process that checks them"))
	m.delay, errs[14] = meter.Float64ObservableGauge("vnfkit.notification.delay", metric.WithUnit("s"),
		metric.WithDescription("Age of the oldest notification that this process sends again, because the subscriber has not accepted it"))
	m.zero()
	return m, errors.Join(errs[:]...)
}

// event records what an event reports.
func (m *instruments) event(e vnflcm.Event) {
	ctx := context.Background()
	if !m.steps.Enabled(ctx) { // none of them is
		return
	}
	kind := keyType.String(string(e.Operation))
	m.waits.event(e)
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
		if e.Kind == vnflcm.StepFailed {
			m.failures.Add(ctx, 1, metric.WithAttributes(keyClass.String(string(classOf(e)))))
		}
	}
}

// NotificationGivenUp counts a notification that is not sent again: it is for notify.Options.GivenUp.
func (t *Telemetry) NotificationGivenUp(string, error) {
	t.metrics.givenUp.Add(context.Background(), 1)
}

// WatchNotifications reports the age of the oldest delayed notification at each collection: delay is notify.Notifier.Delay.
func (t *Telemetry) WatchNotifications(delay func() time.Duration) error {
	_, err := t.metrics.meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		o.ObserveFloat64(t.metrics.delay, delay().Seconds())
		return nil
	}, t.metrics.delay)
	return err
}

// zero makes the series of the counters. A rate over the first value of a series needs a value before it.
func (m *instruments) zero() {
	ctx := context.Background()
	for _, kind := range kinds {
		m.takeovers.Add(ctx, 0, metric.WithAttributes(keyType.String(string(kind))))
		m.losses.Add(ctx, 0, metric.WithAttributes(keyType.String(string(kind))))
	}
	for _, class := range classes {
		m.failures.Add(ctx, 0, metric.WithAttributes(keyClass.String(string(class))))
	}
	m.givenUp.Add(ctx, 0)
}

// open are the states of operations that have not ended.
var open = []string{string(vnflcm.Starting), string(vnflcm.Processing), string(vnflcm.FailedTemp), string(vnflcm.RollingBack)}

// limits are the states of records of certificates: the limits in days that have passed before the first end, 0 after it.
var limits = []string{"365", "60", "30", "14", "7", "3", "1", "0"}

// watch reads the gauges from a store. Registration fails only for instruments of another meter.
func (m *instruments) watch(db store.Store) {
	_, _ = m.meter.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		operations, err1 := count(ctx, db, store.Query{Kind: "operation", States: open})
		certificates, err2 := count(ctx, db, store.Query{Kind: "certificates", States: limits})
		waiting, err3 := count(ctx, db, store.Query{Kind: "claim", States: []string{"free"}})
		suspects, err4 := count(ctx, db, store.Query{Kind: "suspect"})
		late, err5 := count(ctx, db, store.Query{Kind: "renewal", Before: time.Now().Add(-patience).UnixNano()})
		m.waits.observe(o, m.longest)
		m.vims.observe(o, m.known)
		if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
			return err
		}
		o.ObserveInt64(m.unrenewed, late[""])
		o.ObserveInt64(m.suspected, repeated(suspects))
		for state, n := range operations {
			o.ObserveInt64(m.active, n, metric.WithAttributes(keyState.String(state)))
		}
		o.ObserveInt64(m.queue, waiting["free"])
		for limit, n := range certificates {
			o.ObserveInt64(m.ending, n, metric.WithAttributes(keyDays.String(limit)))
		}
		return nil
	}, m.active, m.queue, m.suspected, m.ending, m.unrenewed, m.known, m.longest)
}

// patience is for how long credentials may be due for a renewal. A renewal is due at half of their life.
const patience = 10 * time.Minute

// repeated returns how many records of suspects, counted by the number of processes that have ended, have at least two.
func repeated(suspects map[string]int64) (n int64) {
	for deaths, records := range suspects {
		if number, err := strconv.Atoi(deaths); err == nil && number >= 2 {
			n += records
		}
	}
	return n
}

// page is how many records are read at once. Records of certificates can have a megabyte.
const page = 100

// count returns how many of the records that q selects are in each of the states of q and in other ones that they have. A record that moves to a later page meanwhile, because its Start is
// another one, is counted once.
func count(ctx context.Context, db store.Store, q store.Query) (map[string]int64, error) {
	found := map[string]string{} // states, by id
	for q.Limit, q.Background = page, true; ; {
		list, err := db.List(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, r := range list {
			found[r.ID] = r.Index.State
		}
		if len(list) < page {
			break
		}
		last := list[len(list)-1]
		q.AfterStart, q.AfterID = last.Index.Start, last.ID
	}
	counts := map[string]int64{}
	for _, state := range q.States {
		counts[state] = 0
	}
	for _, state := range found {
		counts[state]++
	}
	return counts, nil
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
