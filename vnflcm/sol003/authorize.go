package sol003

import (
	"cmp"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// Principal is the sender of a request.
type Principal struct {
	// Name identifies the sender to people, in audit records.
	Name string
	// Tenant is the tenant whose instances the sender may use. The instances that the sender creates belong to this tenant.
	// "": the sender may use all instances, and creates some that belong to no tenant.
	Tenant string
	// Role limits what the sender may do. "": the sender has every right that its Tenant leaves, as RoleAdmin. A function
	// that finds roles in credentials returns ErrForbidden for a sender without one (see FindRole).
	Role Role
}

// Errors of Options.Authorize.
var (
	ErrForbidden   = errors.New("sol003: the sender may not do this")
	ErrUnavailable = errors.New("sol003: senders cannot be identified at the moment")
)

type principalKey struct{}

// Authorizer protects resources beside those of NewHandler, such as pages for people: it identifies senders and writes audit
// records as the handler of the same Options does.
type Authorizer struct{ options Options }

// NewAuthorizer returns an Authorizer. It fails as NewHandler does.
func NewAuthorizer(o Options) (*Authorizer, error) {
	o, err := o.complete()
	return &Authorizer{o}, err
}

// Handler returns a handler that passes requests to serve, with their sender. GET and HEAD need RoleReader, other methods
// RoleOperator. Requests that are refused, and an error that serve returns before it answers, are answered with ProblemDetails.
func (a *Authorizer) Handler(serve func(w http.ResponseWriter, r *http.Request, who Principal) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.options.admit(w, r, func(w http.ResponseWriter, r *http.Request, who Principal) error {
			_, pattern, _ := strings.Cut(r.Pattern, " ")
			recordOf(w).Route = cmp.Or(pattern, r.Pattern)
			if err := (route{changes: RoleOperator}).check(r.Method, who); err != nil {
				return err
			}
			return serve(w, r, who)
		})
	})
}

// admit has a request served if its sender may send requests, answers the error, and writes the audit record.
func (o *Options) admit(w http.ResponseWriter, r *http.Request, serve func(w http.ResponseWriter, r *http.Request, who Principal) error) {
	answer, panics := o.audit(w, r), true
	defer func() { answer.end(panics) }()
	who, err := o.authorize(r)
	answer.identify(who, err)
	if err == nil {
		err = serve(answer, r, who)
	}
	if err != nil {
		o.fail(answer, r, err)
	}
	panics = false
}

// authorize identifies the sender of a request.
func (o *Options) authorize(r *http.Request) (Principal, error) {
	who, err := o.Authorize(r)
	switch {
	case errors.Is(err, ErrForbidden):
		return who, &statusError{status: http.StatusForbidden, detail: "the sender may not do this"}
	case errors.Is(err, ErrUnavailable):
		return who, &statusError{status: http.StatusServiceUnavailable, detail: "the sender cannot be identified at the moment"}
	case err != nil:
		challenge := o.Challenge
		if challenge == "Bearer" && r.Header.Get("Authorization") != "" {
			challenge += ` error="invalid_token"` // RFC 6750 3.1
		}
		return who, &statusError{status: http.StatusUnauthorized, detail: "the request has no valid credentials", header: http.Header{"Www-Authenticate": {challenge}}}
	}
	return who, nil
}

// ClientCertificates returns an Authorize that identifies senders by the subject of their client certificate, as
// pkix.Name.String writes it: "CN=nfvo,O=Example". The tls.Config of the server needs ClientAuth
// tls.RequireAndVerifyClientCert, or tls.VerifyClientCertIfGiven, and ClientCAs: certificates that the server has not
// verified are not accepted. If one of the Principals has a Role, a Principal without one is refused with 403.
func ClientCertificates(subjects map[string]Principal) func(*http.Request) (Principal, error) {
	needsRole := slices.ContainsFunc(slices.Collect(maps.Values(subjects)), func(who Principal) bool { return who.Role != "" })
	return func(r *http.Request) (Principal, error) {
		if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 || len(r.TLS.VerifiedChains[0]) == 0 {
			return Principal{}, errors.New("sol003: no verified client certificate")
		}
		subject := r.TLS.VerifiedChains[0][0].Subject.String()
		who, known := subjects[subject]
		if !known {
			return Principal{Name: subject}, ErrForbidden
		}
		if needsRole && !who.Role.Valid() {
			return who, ErrForbidden
		}
		return who, nil
	}
}
