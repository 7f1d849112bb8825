package inprocess

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/vnfkit/vnfkit/internal/retry"
)

// transport ties requests to the context of a call, which Helm does not pass on: its clients work with
// context.Background.
type transport struct {
	base http.RoundTripper
	call *Call
	// records is set for what reads and writes the records of releases: writes are not broken off by the end of ctx, so
	// that how it ended is recorded; they have the grace of the call instead.
	records bool
}

// outage is how long requests are tried again that never reached an API server which has answered before: one that is
// restarted is back by then.
const outage = 30 * time.Second

// RoundTrip implements http.RoundTripper.
//
//nolint:contextcheck // two contexts have to be joined
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	until := t.context(r)
	if until.Err() != nil {
		closeBody(r)
		return nil, context.Cause(until)
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	stop := context.AfterFunc(until, func() { cancel(context.Cause(until)) })
	done := func() { stop(); cancel(nil) }

	response, err := t.send(r.WithContext(ctx))
	if err != nil {
		cause := context.Cause(until)
		done()
		if cause != nil {
			return nil, cause
		}
		return nil, err
	}
	t.call.answered.Store(true)
	response.Body = &body{ReadCloser: response.Body, left: maxAnswer, done: done}
	return response, nil
}

// lastLook marks the context of requests that read which objects were not ready when a wait has timed out.
type lastLook struct{}

// context says until when a request may take.
func (t *transport) context(r *http.Request) context.Context {
	switch {
	case t.records && r.Method != http.MethodGet, r.Context().Value(lastLook{}) != nil:
		return t.call.grace
	case t.call.ctx.Err() != nil && (t.records || t.call.cleansUp):
		return t.call.grace
	}
	return t.call.ctx
}

// send retries requests that could not be sent at all: a retry of these is always safe.
func (t *transport) send(r *http.Request) (response *http.Response, err error) {
	unsent := retry.Policy{First: 500 * time.Millisecond, Most: outage, Within: outage, If: func(err error) bool {
		dial, ok := errors.AsType[*net.OpError](err)
		return ok && dial.Op == "dial" && t.call.answered.Load() && (r.Body == nil || r.GetBody != nil)
	}}
	ctx := retry.WithWatch(r.Context(), retry.WatchOf(t.call.ctx)) //nolint:contextcheck // only its Watch, which Helm does not pass on
	err = unsent.Do(ctx, func() (err error) {
		response, err = t.base.RoundTrip(r) //nolint:bodyclose // the caller closes it
		if err == nil || r.GetBody == nil {
			return err
		}
		body, bodyErr := r.GetBody() // for the next attempt
		if bodyErr != nil {
			return bodyErr
		}
		r.Body = body
		return err
	})
	return response, err
}

func closeBody(r *http.Request) {
	if r.Body != nil {
		_ = r.Body.Close()
	}
}

// maxAnswer bounds an answer in memory. Helm reads all revisions of the releases of a namespace at once.
const maxAnswer = 64 << 20

var errTooLong = fmt.Errorf("the answer of the API server is longer than %d MiB", maxAnswer>>20)

// body has a bounded length. When it has been read, it ends what ties a request to the call.
type body struct {
	io.ReadCloser
	left int64
	done func()
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errTooLong
	}
	return n, err
}

func (b *body) Close() error {
	defer b.done()
	return b.ReadCloser.Close()
}
