package sshotel

import (
	"context"
	"errors"
	"net"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/vnfkit/vnfkit/sshexec"
)

const scope = "github.com/vnfkit/vnfkit/sshexec/sshotel"

// Observer makes spans and metrics of commands and connections. It is safe for concurrent use.
type Observer struct {
	tracer      trace.Tracer
	durations   metric.Float64Histogram
	connections metric.Int64UpDownCounter
}

// New returns an Observer. A provider that is nil makes nothing. It returns the error of an instrument that cannot be made.
func New(traces trace.TracerProvider, metrics metric.MeterProvider) (*Observer, error) {
	if traces == nil {
		traces = tracenoop.NewTracerProvider()
	}
	if metrics == nil {
		metrics = metricnoop.NewMeterProvider()
	}
	meter := metrics.Meter(scope)
	durations, err1 := meter.Float64Histogram("ssh.command.duration", metric.WithUnit("s"), metric.WithDescription("Duration of commands on hosts"))
	connections, err2 := meter.Int64UpDownCounter("ssh.connections", metric.WithUnit("{connection}"), metric.WithDescription("Network connections that are open"))
	return &Observer{traces.Tracer(scope), durations, connections}, errors.Join(err1, err2)
}

// Command makes the span and the metrics of a command. Set it as sshexec.Options.Observe.
func (o *Observer) Command(ctx context.Context, e sshexec.CommandEvent) {
	if !e.Done {
		return
	}
	attributes := []attribute.KeyValue{attribute.String("host.name", e.Host), attribute.String("process.executable.name", program(e.Command))}
	if e.Err != nil {
		attributes = append(attributes, attribute.String("error.type", errorType(e.Err)))
	}
	o.durations.Record(ctx, e.Duration.Seconds(), metric.WithAttributes(attributes...))
	now := time.Now()
	_, span := o.tracer.Start(ctx, "ssh "+program(e.Command), trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(now.Add(-e.Duration)), trace.WithAttributes(attributes...))
	if e.Root {
		e.User = "root"
	}
	if e.User != "" {
		span.SetAttributes(attribute.String("process.owner", e.User))
	}
	if exit, ok := errors.AsType[*sshexec.ExitError](e.Err); ok {
		span.SetAttributes(attribute.Int("process.exit.code", exit.Code))
	}
	if e.Err != nil {
		span.SetStatus(codes.Error, errorType(e.Err))
	}
	span.End(trace.WithTimestamp(now))
}

// program returns the name of the program in a command line.
func program(line string) string {
	name, _, _ := strings.Cut(line, " ")
	return path.Base(strings.Trim(name, `'"`))
}

// errorType returns a word for an error: "exit" with the code, or why the command did not end by itself.
func errorType(err error) string {
	exit, exited := errors.AsType[*sshexec.ExitError](err)
	switch {
	case exited:
		return "exit " + strconv.Itoa(exit.Code)
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, sshexec.ErrConnect):
		return "connect"
	default:
		return "_OTHER"
	}
}

// Dial returns a function for sshexec.Options.Dial that counts the connections which dial opens.
func (o *Observer) Dial(dial func(ctx context.Context, network, addr string) (net.Conn, error)) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		o.connections.Add(ctx, 1)
		return &counted{Conn: conn, closed: sync.OnceFunc(func() { o.connections.Add(context.WithoutCancel(ctx), -1) })}, nil
	}
}

// counted is a connection that is counted until it is closed.
type counted struct {
	net.Conn
	closed func()
}

// Close implements net.Conn.
func (c *counted) Close() error {
	c.closed()
	return c.Conn.Close()
}
