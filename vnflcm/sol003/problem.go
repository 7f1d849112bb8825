package sol003

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"

	"github.com/vnfkit/vnfkit/internal/bounded"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// retryAfter is the Retry-After header of a 503, in seconds.
const retryAfter = "5"

// WriteProblem answers a request with the ProblemDetails of an error (SOL013 v2.6.1 6.3): what vnflcm.Problem makes of it, as
// application/problem+json, with Retry-After if the status is 503. The detail has every fault of the request, one on each
// line.
func WriteProblem(w http.ResponseWriter, err error) { writeProblem(w, problemOf(err)) }

// writeProblem sends p. Errors of a store name its host, database and user: the answer says only that the store has failed.
func writeProblem(w http.ResponseWriter, p *vnflcm.ProblemDetails) {
	recordOf(w).Codes = p.Codes
	if errors.Is(p, vnflcm.ErrStore) {
		answer := *p
		answer.Detail, answer.Steps = vnflcm.ErrStore.Error()+": try again later", nil
		p = &answer
	}
	body, err := json.Marshal(p)
	if err != nil { // every field of p can be marshalled
		body = []byte(`{"status":500,"detail":"the problem cannot be shown"}`)
	}
	w.Header().Set("Content-Type", "application/problem+json")
	if p.Status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", retryAfter)
	}
	w.WriteHeader(p.Status)
	_, _ = w.Write(body) // an error means that the client has disconnected
}

// statusError is an error of the HTTP layer.
type statusError struct {
	status int
	detail string
	header http.Header
	codes  []vnflcm.Code
}

func (e *statusError) Error() string { return e.detail }

var errNoResource = &statusError{status: http.StatusNotFound, detail: "there is no such resource"}

// badRequest is the error of a request that is not well-formed.
func badRequest(detail string) error {
	return &statusError{status: http.StatusBadRequest, detail: detail}
}

func problemOf(err error) *vnflcm.ProblemDetails {
	own, ok := errors.AsType[*statusError](err)
	if !ok && errors.Is(err, context.DeadlineExceeded) {
		own, ok = &statusError{status: http.StatusGatewayTimeout, detail: "the request took too long"}, true
	}
	if ok {
		return &vnflcm.ProblemDetails{Title: http.StatusText(own.status), Status: own.status, Detail: own.detail, Codes: own.codes}
	}
	p := vnflcm.Problem(bounded.Error(err, maxDetail))
	for _, known := range packageStatuses {
		if errors.Is(err, known.err) {
			p.Status, p.Title = known.status, http.StatusText(known.status)
		}
	}
	return p
}

// maxDetail is the length of the longest detail that is sent.
const maxDetail = 32 << 10

// fail answers a request that cannot be served.
func (o *Options) fail(w http.ResponseWriter, r *http.Request, err error) {
	if own, ok := errors.AsType[*statusError](err); ok {
		maps.Copy(w.Header(), own.header)
	}
	p := problemOf(err)
	if ctx := r.Context(); p.Status >= http.StatusInternalServerError && ctx.Err() == nil {
		// Detail is masked. The path is not logged: its segments are the client's.
		o.Logger.ErrorContext(ctx, "request failed", "method", r.Method, "resource", r.Pattern, "status", p.Status, "error", p.Detail)
	}
	writeProblem(w, p)
}
