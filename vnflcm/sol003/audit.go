package sol003

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// Outcome says how a request has ended.
type Outcome string

// The outcomes.
const (
	OutcomeAccepted Outcome = "accepted" // status below 400
	OutcomeRefused  Outcome = "refused"  // status 400 to 499
	OutcomeFailed   Outcome = "failed"   // status 500 and above
)

// AuditRecord describes a request that could change something or that was refused. It never has bodies, header fields or
// queries. Its texts have at most 512 bytes each, and no control characters.
type AuditRecord struct {
	Time      time.Time `json:"time"`                // when the request was received, UTC
	Principal string    `json:"principal,omitempty"` // Principal.Name; of a refused sender as far as it is known
	Role      Role      `json:"role,omitempty"`
	Tenant    string    `json:"tenant,omitempty"`
	Source    string    `json:"source,omitempty"` // address and port of the peer of the connection, which may be a proxy
	Method    string    `json:"method,omitempty"`
	// Route is the pattern of the resource, such as /vnflcm/v2/vnf_instances/{id}. It is empty if the sender was not authorized,
	// or if there is no such resource.
	Route string `json:"route,omitempty"`
	// Path is the path of the request, in percent-encoding, without the query.
	Path string `json:"path,omitempty"`
	// Command is a command of an administrator that is no request, such as a migration. The handler leaves it empty; it is
	// for programs that write their commands to the same place.
	Command   string        `json:"command,omitempty"`
	Operation string        `json:"operation,omitempty"` // id of the operation that the request has begun or controls
	Created   string        `json:"created,omitempty"`   // path of the resource that the request has created
	Outcome   Outcome       `json:"outcome"`
	Status    int           `json:"status,omitempty"` // HTTP status of the answer
	Codes     []vnflcm.Code `json:"codes,omitempty"`  // of the error, see vnflcm.ProblemDetails
}

// LogValue implements slog.LogValuer: a group with the names of the JSON document.
func (a AuditRecord) LogValue() slog.Value {
	attrs := []slog.Attr{slog.Time("time", a.Time)}
	for _, each := range []struct{ key, value string }{
		{"principal", a.Principal}, {"role", string(a.Role)}, {"tenant", a.Tenant}, {"source", a.Source}, {"method", a.Method}, {"route", a.Route},
		{"path", a.Path}, {"command", a.Command}, {"operation", a.Operation}, {"created", a.Created}, {"outcome", string(a.Outcome)},
	} {
		if each.value != "" {
			attrs = append(attrs, slog.String(each.key, each.value))
		}
	}
	if a.Status != 0 {
		attrs = append(attrs, slog.Int("status", a.Status))
	}
	if len(a.Codes) > 0 {
		attrs = append(attrs, slog.Any("codes", a.Codes))
	}
	return slog.GroupValue(attrs...)
}

// AuditLog returns a function for Options.Audit that logs each record at level Info, as the attribute request of the message
// "audit".
func AuditLog(log *slog.Logger) func(context.Context, AuditRecord) error {
	return func(ctx context.Context, record AuditRecord) error {
		log.InfoContext(ctx, "audit", "request", record)
		return nil
	}
}

// audited is the ResponseWriter of a request. It writes the audit record before the answer begins, so that a client that has
// an answer has left a record.
type audited struct {
	http.ResponseWriter
	record  AuditRecord
	keep    func(AuditRecord) // nil: nothing is kept
	refused bool              // by Authorize
}

// audit returns the ResponseWriter of a request.
func (o *Options) audit(w http.ResponseWriter, r *http.Request) *audited {
	a := &audited{ResponseWriter: w, record: AuditRecord{Time: time.Now().UTC(), Source: r.RemoteAddr, Method: r.Method, Path: r.URL.EscapedPath()}}
	if o.Audit == nil {
		return a
	}
	ctx := context.WithoutCancel(r.Context()) // a client that disconnects does not prevent its record
	a.keep = func(record AuditRecord) {
		if err := o.Audit(ctx, record); err != nil {
			o.Logger.ErrorContext(ctx, "an audit record could not be written", "request", record, "error", err)
		}
	}
	return a
}

// recordOf returns the audit record of the request that w answers.
func recordOf(w http.ResponseWriter) *AuditRecord {
	if a, ok := w.(*audited); ok {
		return &a.record
	}
	return new(AuditRecord)
}

// plain returns the ResponseWriter of the server, which http.MaxBytesReader has close the connection.
func plain(w http.ResponseWriter) http.ResponseWriter {
	if a, ok := w.(*audited); ok {
		return a.ResponseWriter
	}
	return w
}

// identify completes the record by the sender, which err may refuse.
func (a *audited) identify(who Principal, err error) {
	a.record.Principal, a.record.Role, a.record.Tenant, a.refused = who.Name, who.Role, who.Tenant, err != nil
}

// WriteHeader implements http.ResponseWriter.
func (a *audited) WriteHeader(status int) {
	if status >= http.StatusOK {
		a.write(status)
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (a *audited) Write(p []byte) (int, error) {
	a.write(http.StatusOK)
	return a.ResponseWriter.Write(p)
}

// end writes the record of a request that is answered without a body, or not answered because the handler panics.
func (a *audited) end(panics bool) {
	status := http.StatusOK
	if panics {
		status = http.StatusInternalServerError
	}
	a.write(status)
}

// Unwrap is called by http.ResponseController.
func (a *audited) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// write writes the record, once, if the request could change something or is refused.
func (a *audited) write(status int) {
	keep := a.keep
	if a.keep = nil; keep == nil {
		return
	}
	changes := a.record.Method != http.MethodGet && a.record.Method != http.MethodHead
	if !changes && !a.refused && status != http.StatusUnauthorized && status != http.StatusForbidden {
		return
	}
	a.record.Status, a.record.Outcome = status, outcomeOf(status)
	if status == http.StatusCreated {
		a.record.Created = pathOf(a.Header().Get("Location"))
	}
	a.record.bound()
	keep(a.record)
}

// pathOf returns the path of a URI, without its host, query and fragment.
func pathOf(uri string) string {
	parsed, err := url.Parse(uri)
	if err != nil {
		return ""
	}
	return parsed.EscapedPath()
}

func outcomeOf(status int) Outcome {
	switch {
	case status < http.StatusBadRequest:
		return OutcomeAccepted
	case status < http.StatusInternalServerError:
		return OutcomeRefused
	}
	return OutcomeFailed
}

// bound limits the texts of a record, which are the sender's.
func (a *AuditRecord) bound() {
	for _, text := range []*string{&a.Principal, (*string)(&a.Role), &a.Tenant, &a.Source, &a.Method, &a.Route, &a.Path, &a.Operation, &a.Created} {
		*text = printable(*text)
	}
}

// printable returns the first 512 bytes of a text, without characters that a terminal could take for commands.
func printable(text string) string {
	const longest = 512
	text = strings.ToValidUTF8(text[:min(len(text), 2*longest)], "\uFFFD")
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '\uFFFD'
		}
		return r
	}, text)
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest-len("…")], "") + "…"
}
