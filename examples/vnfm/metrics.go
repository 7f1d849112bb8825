package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/attribute"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"

	"github.com/vnfkit/vnfkit/sshexec/sshotel"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/sol003/notify"
	"github.com/vnfkit/vnfkit/vnflcm/telemetry"
)

// measured is what the program measures, for Prometheus.
type measured struct {
	registry  *prometheus.Registry
	telemetry *telemetry.Telemetry
	commands  *sshotel.Observer
}

// measure makes the instruments, which are shut down with the VNFM. Without a setting "metrics" they measure nothing.
func (v *vnfm) measure(ctx context.Context) (err error) {
	if v.config.Metrics == "" {
		v.measured.commands, err = sshotel.New(nil, nil)
		return err
	}
	v.measured.registry = prometheus.NewRegistry()
	exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(v.measured.registry))
	if err != nil {
		return err
	}
	// Machines come and go: a label with their names would grow for ever.
	noHosts := metric.NewView(metric.Instrument{Name: "ssh.command.duration"}, metric.Stream{AttributeFilter: attribute.NewDenyKeysFilter("host.name")})
	metrics := metric.NewMeterProvider(metric.WithReader(exporter), metric.WithView(noHosts))
	v.atEnd(func() error { return metrics.Shutdown(context.WithoutCancel(ctx)) })
	v.measured.telemetry, err = telemetry.New(telemetry.Options{Metrics: metrics}) //nolint:contextcheck // an instrument has no context
	if err != nil {
		return err
	}
	v.measured.commands, err = sshotel.New(nil, metrics)
	return err
}

// attach connects the Manager to the instruments.
func (m *measured) attach(c *vnflcm.Config) {
	if m.telemetry != nil {
		m.telemetry.Attach(c)
	}
}

// vimCheckEvery is the pause between the checks of all VIMs.
const vimCheckEvery = 5 * time.Minute

// checkVIMs logs in at the VIMs from time to time.
func (v *vnfm) checkVIMs(ctx context.Context) error {
	if v.measured.telemetry == nil {
		return nil
	}
	return v.measured.telemetry.CheckVIMs(ctx, v.Manager, vimCheckEvery)
}

// givenUp returns the function that counts notifications which are not sent again.
func (m *measured) givenUp() func(string, error) {
	if m.telemetry == nil {
		return nil
	}
	return m.telemetry.NotificationGivenUp
}

// watch reports the delay of notifications.
func (m *measured) watch(n *notify.Notifier) error {
	if m.telemetry == nil {
		return nil
	}
	return m.telemetry.WatchNotifications(n.Delay)
}

// serveMetrics answers Prometheus until ctx ends.
func (v *vnfm) serveMetrics(ctx context.Context) error {
	if v.measured.registry == nil {
		return nil
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", v.config.Metrics)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(v.measured.registry, promhttp.HandlerOpts{Timeout: 30 * time.Second}))
	server := &http.Server{Handler: mux, ReadTimeout: 10 * time.Second, WriteTimeout: time.Minute, IdleTimeout: 2 * time.Minute}
	v.log.InfoContext(ctx, "metrics", "url", "http://"+listener.Addr().String()+"/metrics")
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return context.Cause(ctx)
}
