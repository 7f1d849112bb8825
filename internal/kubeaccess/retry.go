package kubeaccess

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"github.com/vnfkit/vnfkit/internal/answerlimit"
	"github.com/vnfkit/vnfkit/internal/retry"
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
)

// Do calls try until it succeeds, fails with a permanent error or the time is over, as Retry does. It retries errors that
// may pass: a lost connection, no answer, "too many requests", and a failing server (429 and 5xx). try must be safe to
// repeat.
func (c *Cluster) Do(ctx context.Context, try func(context.Context) error) error {
	return c.Retry(ctx, Passing, func(ctx context.Context) error { return c.Explain(try(ctx)) })
}

// Retry calls try with growing pauses (50 ms to 5 s) until it succeeds, or fails with an error that again does not take,
// or ctx ends; a ctx without a deadline ends after Options.Patience. Each new reason is reported to Options.Waiting. The
// error at the end has the last reason; if the end of ctx cuts an attempt off, that is the reason of the attempt before.
func (c *Cluster) Retry(ctx context.Context, again func(error) bool, try func(context.Context) error) error {
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.patience, Overdue(c.patience))
		defer cancel()
	}
	silent := klog.NewContext(ctx, klog.Logger{}) // client-go would print errors that it also returns
	reported := ""
	return retry.Policy{First: 50 * time.Millisecond, Most: 5 * time.Second, If: again}.Do(ctx, func() error {
		err := try(silent)
		if err != nil && ctx.Err() == nil && again(err) && err.Error() != reported {
			reported = err.Error()
			c.ReportWaiting(ctx, err)
		}
		return err
	})
}

// ReportWaiting passes a reason to Options.Waiting.
func (c *Cluster) ReportWaiting(ctx context.Context, reason error) {
	if c.waiting != nil {
		c.waiting(ctx, reason)
	}
}

// Overdue is the cause with which a wait ends after that time.
type Overdue time.Duration

func (o Overdue) Error() string { return "no success within " + time.Duration(o).String() }

// Timeout reports true, as errors of package net do.
func (o Overdue) Timeout() bool { return true }

// Passing reports whether a retry of the request may succeed.
func Passing(err error) bool {
	if errors.Is(err, ErrAuth) || errors.Is(err, ErrTLS) || errors.Is(err, errRedirect) || errors.Is(err, answerlimit.ErrTooLong) ||
		errors.Is(err, outbound.ErrAddress) {
		return false
	}
	if status, ok := errors.AsType[*apierrors.StatusError](err); ok {
		code := status.ErrStatus.Code
		return code == http.StatusTooManyRequests || code >= http.StatusInternalServerError
	}
	_, request := errors.AsType[*url.Error](err)
	_, network := errors.AsType[net.Error](err)
	return errors.Is(err, ErrUnreachable) || request || network || errors.Is(err, io.ErrUnexpectedEOF)
}
