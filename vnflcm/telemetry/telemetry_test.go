package telemetry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
	"github.com/vnfkit/vnfkit/vnflcm/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// vnfm is a Manager whose spans, metrics and log a test reads.
type vnfm struct {
	*vnflcm.Manager
	t      *testing.T
	store  store.Store
	spans  *tracetest.InMemoryExporter
	reader *metric.ManualReader
	log    bytes.Buffer
}

func start(t *testing.T, c *cloud) *vnfm {
	t.Helper()
	m := &vnfm{t: t, store: store.NewMemory(), spans: tracetest.NewInMemoryExporter(), reader: metric.NewManualReader()}
	traces := sdktrace.NewTracerProvider(sdktrace.WithSyncer(m.spans), sdktrace.WithIDGenerator(telemetry.IDs()))
	metrics := metric.NewMeterProvider(metric.WithReader(m.reader))
	tel, err := telemetry.New(telemetry.Options{Traces: traces, Metrics: metrics})
	check(t, err)
	config := vnflcm.Config{Store: m.store, Key: bytes.Repeat([]byte{1}, 32), Infra: map[string]vnflcm.InfraDriver{"toy": c},
		Packages: vnflcm.PackagesFunc(func(context.Context, string, string) (tosca.Source, error) { return tosca.FS(files), nil }),
		Logger:   slog.New(slog.NewJSONHandler(&m.log, nil))}
	tel.Attach(&config)
	m.Manager, err = vnflcm.New(t.Context(), config)
	check(t, err)
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		check(t, errors.Join(m.Close(ctx), traces.Shutdown(ctx), metrics.Shutdown(ctx)))
	})
	check(t, m.VIMs().Put(t.Context(), vnflcm.VimConnectionInfo{VimID: "toy", VimType: "toy"}))
	return m
}

func (m *vnfm) instantiate() (instance, opID string) {
	m.t.Helper()
	inst, err := m.Create(m.t.Context(), vnflcm.CreateVnfRequest{VnfdID: "web"})
	check(m.t, err)
	opID, err = m.Instantiate(m.t.Context(), inst.ID, vnflcm.InstantiateVnfRequest{FlavourID: "small", VimConnectionInfo: vnflcm.VimConnections{{VimID: "toy"}}})
	check(m.t, err)
	_, _ = m.Wait(m.t.Context(), opID)
	return inst.ID, opID
}

// shown is a span in terms that are the same in every run.
type shown struct {
	Name, Parent, Error string
	Attributes          map[string]string
}

// show returns the ended spans, with ids replaced by what they are the ids of.
func (m *vnfm) show(ids map[string]string) (out []shown) {
	m.t.Helper()
	names := map[trace.SpanID]string{}
	for _, s := range m.spans.GetSpans() {
		names[s.SpanContext.SpanID()] = s.Name
	}
	for _, s := range m.spans.GetSpans() {
		v := shown{Name: s.Name, Parent: names[s.Parent.SpanID()], Error: s.Status.Description, Attributes: map[string]string{}}
		for _, a := range s.Attributes {
			text := a.Value.String()
			if is := ids[text]; is != "" {
				text = is
			}
			v.Attributes[string(a.Key)] = text
		}
		out = append(out, v)
	}
	return out
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestTrace(t *testing.T) {
	t.Parallel()
	m := start(t, &cloud{})
	instance, opID := m.instantiate()
	of := func(more map[string]string) map[string]string {
		maps.Copy(more, map[string]string{"vnfkit.operation.id": "operation", "vnfkit.instance.id": "instance"})
		return more
	}
	want := []shown{
		{Name: "create-server", Parent: "INSTANTIATE", Attributes: of(map[string]string{"vnfkit.phase": "instantiate", "vnfkit.step": "create-server", "vnfkit.attempt": "1"})},
		{Name: "start-server", Parent: "INSTANTIATE", Attributes: of(map[string]string{"vnfkit.phase": "instantiate", "vnfkit.step": "start-server", "vnfkit.attempt": "1"})},
		{Name: "instantiate", Parent: "INSTANTIATE", Attributes: of(map[string]string{"vnfkit.phase": "instantiate", "vnfkit.attempt": "1"})},
		{Name: "INSTANTIATE", Attributes: of(map[string]string{"vnfkit.operation.type": "INSTANTIATE", "vnfkit.operation.state": "COMPLETED"})},
	}
	if diff := cmp.Diff(want, m.show(map[string]string{opID: "operation", instance: "instance"})); diff != "" {
		t.Error(diff)
	}
}

// TestFailure: a failed step and the operation that is given up have codes, and no text.
func TestFailure(t *testing.T) {
	t.Parallel()
	c := &cloud{}
	c.broken.Store(true)
	m := start(t, c)
	_, opID := m.instantiate()
	check(t, m.Fail(t.Context(), opID))
	var failed []string
	for _, s := range m.show(nil) {
		if s.Error != "" {
			failed = append(failed, s.Name+" "+s.Error+" "+s.Attributes["error.type"])
		}
		if strings.Contains(s.Error, "hunter2") {
			t.Errorf("%+v", s)
		}
	}
	if diff := cmp.Diff([]string{"start-server store store", "INSTANTIATE FAILED FAILED"}, failed); diff != "" {
		t.Error(diff)
	}
}

// TestLog: records of an operation have the id of its trace, and those in a step that of its span.
func TestLog(t *testing.T) {
	t.Parallel()
	m := start(t, &cloud{})
	m.instantiate()
	spans := m.spans.GetSpans()
	id := spans[0].SpanContext.TraceID().String()
	inSteps := map[string]string{}
	for line := range strings.Lines(m.log.String()) {
		var r struct {
			Msg, Operation, Step string
			TraceID              string `json:"trace_id"`
			SpanID               string `json:"span_id"`
		}
		check(t, json.Unmarshal([]byte(line), &r))
		if (r.Operation != "") != (r.TraceID == id) {
			t.Errorf("trace: %s", line)
		}
		if r.Msg == "at work" {
			inSteps[r.Step] = r.SpanID
		}
	}
	want := map[string]string{}
	for _, s := range spans[:2] {
		want[s.Name] = s.SpanContext.SpanID().String()
	}
	if diff := cmp.Diff(want, inSteps); diff != "" {
		t.Error(diff)
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	c := &cloud{}
	m := start(t, c)
	m.instantiate()
	c.broken.Store(true)
	m.instantiate()
	for i, limit := range []string{"", "30", "30", "0", "365"} {
		check(t, m.store.Apply(t.Context(), store.Batch{Put: []store.Record{{Kind: "certificates", ID: fmt.Sprint(i), Index: store.Index{State: limit}}}}))
	}
	for i, deaths := range []string{"", "1", "2", "3"} {
		check(t, m.store.Apply(t.Context(), store.Batch{Put: []store.Record{{Kind: "suspect", ID: fmt.Sprint(i), Index: store.Index{State: deaths}}}}))
	}
	for i, late := range []time.Duration{-time.Hour, time.Minute, time.Hour} {
		check(t, m.store.Apply(t.Context(), store.Batch{Put: []store.Record{{Kind: "renewal", ID: fmt.Sprint(i), Index: store.Index{Start: time.Now().Add(-late).UnixNano()}}}}))
	}
	var all metricdata.ResourceMetrics
	check(t, m.reader.Collect(t.Context(), &all))
	got := map[string]uint64{}
	for _, metrics := range all.ScopeMetrics[0].Metrics {
		switch data := metrics.Data.(type) {
		case metricdata.Histogram[float64]:
			for _, p := range data.DataPoints {
				got[metrics.Name+" "+labels(p.Attributes)] = p.Count
			}
		case metricdata.Gauge[int64]:
			for _, p := range data.DataPoints {
				got[metrics.Name+" "+labels(p.Attributes)] = uint64(p.Value) //nolint:gosec // a number of operations
			}
		}
	}
	for name := range got {
		if strings.HasPrefix(name, "vnfkit.store.duration") {
			if got[name] == 0 {
				t.Error(name)
			}
			delete(got, name)
		}
	}
	want := map[string]uint64{
		"vnfkit.operation.duration COMPLETED INSTANTIATE":      1,
		"vnfkit.operation.duration FAILED_TEMP INSTANTIATE":    1,
		"vnfkit.operation.active STARTING":                     0,
		"vnfkit.operation.active PROCESSING":                   0,
		"vnfkit.operation.active ROLLING_BACK":                 0,
		"vnfkit.operation.active FAILED_TEMP":                  1,
		"vnfkit.operation.queue ":                              0,
		"vnfkit.operation.suspected ":                          2,
		"vnfkit.vim.unrenewed ":                                1,
		"vnfkit.instance.certificates 365":                     1,
		"vnfkit.instance.certificates 60":                      0,
		"vnfkit.instance.certificates 30":                      2,
		"vnfkit.instance.certificates 14":                      0,
		"vnfkit.instance.certificates 7":                       0,
		"vnfkit.instance.certificates 3":                       0,
		"vnfkit.instance.certificates 1":                       0,
		"vnfkit.instance.certificates 0":                       1,
		"vnfkit.step.duration instantiate done create-server":  2,
		"vnfkit.step.duration instantiate done start-server":   1,
		"vnfkit.step.duration instantiate failed start-server": 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// labels are the values of attributes, in the order of their keys.
func labels(s attribute.Set) string {
	var out []string
	for _, a := range s.ToSlice() {
		out = append(out, a.Value.String())
	}
	return strings.Join(out, " ")
}

// TestCounters counts events and notifications. Each counter begins with 0, for every class and kind.
func TestCounters(t *testing.T) {
	t.Parallel()
	reader := metric.NewManualReader()
	tel, err := telemetry.New(telemetry.Options{Metrics: metric.NewMeterProvider(metric.WithReader(reader))})
	check(t, err)
	var seen []vnflcm.EventKind
	config := vnflcm.Config{Observe: func(e vnflcm.Event) { seen = append(seen, e.Kind) }}
	tel.Attach(&config)
	for _, kind := range []vnflcm.EventKind{vnflcm.OperationTaken, vnflcm.OperationTaken, vnflcm.OperationLost} {
		config.Observe(vnflcm.Event{Kind: kind, Operation: vnflcm.OpHeal})
	}
	config.Observe(vnflcm.Event{Kind: vnflcm.StepFailed, Class: vnflcm.WaitQuota})
	config.Observe(vnflcm.Event{Kind: vnflcm.StepFailed, Class: "invented by a driver"})
	tel.NotificationGivenUp("subscription", errors.New("refused"))
	var all metricdata.ResourceMetrics
	check(t, reader.Collect(t.Context(), &all))
	got := map[string]int64{}
	for _, metrics := range all.ScopeMetrics[0].Metrics {
		if data, is := metrics.Data.(metricdata.Sum[int64]); is {
			for _, p := range data.DataPoints {
				if text := metrics.Name + " " + labels(p.Attributes); p.Value > 0 || strings.HasSuffix(text, " ") {
					got[text] = p.Value
				}
			}
		}
	}
	want := map[string]int64{"vnfkit.operation.takeovers HEAL": 2, "vnfkit.operation.losses HEAL": 1, "vnfkit.step.failures quota": 1, "vnfkit.step.failures other": 1, "vnfkit.notification.failures ": 1}
	if diff := cmp.Diff(want, got); diff != "" || !slices.Contains(seen, vnflcm.OperationLost) {
		t.Errorf("%v\n%s", seen, diff)
	}
}

// measuredStore keeps the queries of its lists, and the most records that one had. After each list its first record moves to the end.
type measuredStore struct {
	store.Store
	queries []store.Query
	most    int
}

func (s *measuredStore) List(ctx context.Context, q store.Query) ([]store.Record, error) {
	list, err := s.Store.List(ctx, q)
	s.queries, s.most = append(s.queries, q), max(s.most, len(list))
	if len(list) > 0 {
		moved := list[0]
		moved.Index.Start = 1000
		err = errors.Join(err, s.Apply(ctx, store.Batch{Put: []store.Record{moved}}))
	}
	return list, err
}

// TestGaugesInPages: gauges count many records without holding them at once, each once, over the connections for clients.
func TestGaugesInPages(t *testing.T) {
	t.Parallel()
	const number = 250
	db := &measuredStore{Store: store.NewMemory()}
	for i := range number {
		id := fmt.Sprint(i)
		check(t, db.Apply(t.Context(), store.Batch{Put: []store.Record{
			{Kind: "certificates", ID: id, Index: store.Index{State: "30", Start: int64(i / 7)}},
			{Kind: "operation", ID: id, Index: store.Index{State: "PROCESSING", Start: int64(i / 7)}},
			{Kind: "claim", ID: id, Index: store.Index{State: "free"}},
		}}))
	}
	reader := metric.NewManualReader()
	tel, err := telemetry.New(telemetry.Options{Metrics: metric.NewMeterProvider(metric.WithReader(reader))})
	check(t, err)
	tel.Attach(&vnflcm.Config{Store: db})
	var all metricdata.ResourceMetrics
	check(t, reader.Collect(t.Context(), &all))
	got := map[string]int64{}
	for _, metrics := range all.ScopeMetrics[0].Metrics {
		if data, is := metrics.Data.(metricdata.Gauge[int64]); is {
			for _, p := range data.DataPoints {
				got[metrics.Name] += p.Value
			}
		}
	}
	want := map[string]int64{"vnfkit.instance.certificates": number, "vnfkit.operation.active": number, "vnfkit.operation.queue": number,
		"vnfkit.operation.suspected": 0, "vnfkit.vim.unrenewed": 0}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if db.most > 100 {
		t.Errorf("%d records at once", db.most)
	}
	for _, q := range db.queries {
		if !q.Background || q.Limit == 0 {
			t.Errorf("%+v", q)
		}
	}
}

// plain is a store that cannot be watched.
type plain struct{ store.Store }

// TestStoreKeepsWatching: the store that is measured can be watched if the store below can.
func TestStoreKeepsWatching(t *testing.T) {
	t.Parallel()
	tel, err := telemetry.New(telemetry.Options{})
	check(t, err)
	for _, c := range []struct {
		store store.Store
		want  bool
	}{{plain{store.NewMemory()}, false}, {store.NewMemory(), true}} {
		config := vnflcm.Config{Store: c.store}
		tel.Attach(&config)
		if _, got := config.Store.(store.Watcher); got != c.want {
			t.Errorf("%T: %v, want %v", c.store, got, c.want)
		}
	}
}
