package telemetry_test

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
	"github.com/vnfkit/vnfkit/vnflcm/telemetry"
)

// gauges returns the values of a gauge that are not 0, by its labels.
func gauges(t *testing.T, reader *metric.ManualReader, name string) map[string]float64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	check(t, reader.Collect(t.Context(), &all))
	got := map[string]float64{}
	for _, metrics := range all.ScopeMetrics[0].Metrics {
		if metrics.Name != name {
			continue
		}
		switch data := metrics.Data.(type) {
		case metricdata.Gauge[float64]:
			for _, p := range data.DataPoints {
				if p.Value != 0 {
					got[labels(p.Attributes)] = p.Value
				}
			}
		case metricdata.Gauge[int64]:
			for _, p := range data.DataPoints {
				if p.Value != 0 {
					got[labels(p.Attributes)] = float64(p.Value)
				}
			}
		}
	}
	return got
}

// TestWatchNotifications reads the delay of notifications at each collection.
func TestWatchNotifications(t *testing.T) {
	t.Parallel()
	reader := metric.NewManualReader()
	tel, err := telemetry.New(telemetry.Options{Metrics: metric.NewMeterProvider(metric.WithReader(reader))})
	check(t, err)
	delay := time.Minute
	check(t, tel.WatchNotifications(func() time.Duration { return delay }))
	for _, want := range []map[string]float64{{"": 60}, {}} {
		if diff := cmp.Diff(want, gauges(t, reader, "vnfkit.notification.delay")); diff != "" {
			t.Error(diff)
		}
		delay = 0
	}
}

// TestWaits: the longest wait of each class counts, until its step, phase or process ends, or nothing was heard of it for a while.
func TestWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reader := metric.NewManualReader()
		tel, err := telemetry.New(telemetry.Options{Metrics: metric.NewMeterProvider(metric.WithReader(reader))})
		check(t, err)
		config := vnflcm.Config{Store: store.NewMemory()}
		tel.Attach(&config)
		began := time.Now()
		send := func(kind vnflcm.EventKind, operation, step string, class vnflcm.WaitClass) {
			config.Observe(vnflcm.Event{Time: time.Now(), Kind: kind, Class: class, Since: began, State: vnflcm.Processing,
				StepInfo: vnflcm.StepInfo{OperationID: operation, Phase: "p", Name: step}})
		}
		expect := func(want map[string]float64) {
			t.Helper()
			if diff := cmp.Diff(want, gauges(t, reader, "vnfkit.operation.waiting")); diff != "" {
				t.Error(diff)
			}
		}
		expect(map[string]float64{})
		time.Sleep(time.Minute)
		send(vnflcm.StepWaiting, "a", "ssh", vnflcm.WaitHostUnreachable)
		send(vnflcm.StepWaiting, "b", "ssh", vnflcm.WaitHostUnreachable)
		send(vnflcm.StepWaiting, "b", "apt", vnflcm.WaitLock)
		send(vnflcm.StepWaiting, "c", "", vnflcm.WaitGrant)
		send(vnflcm.StepWaiting, "d", "odd", "invented by a driver")
		expect(map[string]float64{"host-unreachable": 60, "lock": 60, "grant": 60, "other": 60})
		send(vnflcm.StepDone, "d", "odd", "")
		send(vnflcm.StepDone, "a", "ssh", "")
		send(vnflcm.OperationChanged, "c", "", "")
		send(vnflcm.StepWaiting, "b", "apt", vnflcm.WaitNotReady)
		time.Sleep(time.Minute)
		expect(map[string]float64{"host-unreachable": 120, "not-ready": 120})
		send(vnflcm.OperationLost, "b", "", "")
		expect(map[string]float64{})
		send(vnflcm.StepWaiting, "d", "ssh", vnflcm.WaitHostUnreachable)
		time.Sleep(7 * time.Minute)
		expect(map[string]float64{})
	})
}

// checkable is a cloud that checks logins.
type checkable struct {
	cloud

	asked  chan string
	mended atomic.Bool // every login succeeds
	faults map[string]error
}

func (c *checkable) CheckVIM(_ context.Context, vim vnflcm.VimConnectionInfo) error {
	c.asked <- vim.VimID
	if c.mended.Load() {
		return nil
	}
	return c.faults[vim.VimID]
}

// TestCheckVIMs counts VIMs by the results of their checks.
func TestCheckVIMs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reader := metric.NewManualReader()
		tel, err := telemetry.New(telemetry.Options{Metrics: metric.NewMeterProvider(metric.WithReader(reader))})
		check(t, err)
		able := &checkable{asked: make(chan string, 100), faults: map[string]error{
			"silent": &vnflcm.ParamError{Path: "vimConnectionInfo.interfaceInfo.endpoint", Reason: "no answer"},
			"locked": &vnflcm.ParamError{Path: "vimConnectionInfo.accessInfo", Reason: "wrong password"},
			"odd":    &vnflcm.ParamError{Path: "vimConnectionInfo.interfaceInfo.ssl_ca_cert", Reason: "another one"},
		}}
		config := vnflcm.Config{Store: store.NewMemory(), Key: bytes.Repeat([]byte{1}, 32), Infra: map[string]vnflcm.InfraDriver{"able": able, "toy": new(cloud)},
			Packages: vnflcm.PackagesFunc(func(context.Context, string, string) (tosca.Source, error) { return tosca.FS(files), nil })}
		for _, id := range []string{"fine", "silent", "locked", "odd"} {
			config.KnownVIMs = append(config.KnownVIMs, vnflcm.VimConnectionInfo{VimID: id, VimType: "able"})
		}
		config.KnownVIMs = append(config.KnownVIMs, vnflcm.VimConnectionInfo{VimID: "unable", VimType: "toy"})
		tel.Attach(&config)
		m, err := vnflcm.New(t.Context(), config)
		check(t, err)
		defer func() { check(t, m.Close(context.WithoutCancel(t.Context()))) }()
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- tel.CheckVIMs(ctx, m, 5*time.Minute) }()
		expect := func(want map[string]float64) {
			t.Helper()
			if diff := cmp.Diff(want, gauges(t, reader, "vnfkit.vim.count")); diff != "" {
				t.Error(diff)
			}
		}
		time.Sleep(time.Minute)
		expect(map[string]float64{"reachable": 1, "unreachable": 1, "refused": 1, "faulty": 1, "unchecked": 1})
		able.mended.Store(true)
		time.Sleep(5 * time.Minute)
		expect(map[string]float64{"reachable": 3, "refused": 1, "unchecked": 1}) // a refused login is not repeated soon
		extra, err := vnflcm.NewParams(map[string]any{"a": 1})
		check(t, err)
		check(t, m.VIMs().Put(t.Context(), vnflcm.VimConnectionInfo{VimID: "locked", VimType: "able", Extra: extra}))
		time.Sleep(5 * time.Minute)
		expect(map[string]float64{"reachable": 4, "unchecked": 1})
		if got := len(able.asked); got != 4+3+4 {
			t.Errorf("%d checks", got)
		}
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		expect(map[string]float64{})
	})
}
