package kubeaccess

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/vnfkit/vnfkit/internal/answerlimit"
	"github.com/vnfkit/vnfkit/internal/retry"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
)

// Sentinels, found with errors.Is.
var (
	// ErrAuth: the cluster refuses the credentials, or the token has expired. Trying again does not help.
	ErrAuth = retry.NewError(retry.VIMCredentials, "the cluster refuses the credentials: they are wrong, or have expired")
	// ErrUnreachable: no answer, or a broken one. Trying again can help.
	ErrUnreachable = retry.NewError(retry.VIMUnreachable, "the cluster cannot be reached")
	// ErrTLS: who answers cannot prove to be the cluster, or speaks no TLS. Trying again does not help.
	ErrTLS = errors.New("the cluster cannot be verified")
)

// Error is a request to the cluster that failed. It shows no credentials.
type Error struct {
	Endpoint string // scheme and host
	Message  string // empty for ErrAuth: a server may quote the credentials
	kind     error
	cause    error
}

// Error names endpoint and reason.
func (e *Error) Error() string {
	parts := []string{"kubernetes", e.Endpoint, e.kind.Error()}
	if e.Message != "" {
		parts = append(parts, e.Message)
	}
	return strings.Join(parts, ": ")
}

// Unwrap returns the sentinel, and the error of client-go or net/http.
func (e *Error) Unwrap() []error {
	return slices.DeleteFunc([]error{e.kind, e.cause}, func(err error) bool { return err == nil })
}

// broken sorts the error of a request that had no answer.
func (c *Connection) broken(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, errRedirect) {
		return err
	}
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	if errors.Is(err, answerlimit.ErrTooLong) {
		return &Error{Endpoint: c.endpoint, kind: answerlimit.ErrTooLong}
	}
	kind := ErrUnreachable
	switch {
	case distrusted(err):
		kind = ErrTLS
	case errors.Is(err, outbound.ErrAddress):
		kind = vnflcm.ErrInvalidRequest // which has brought the address
	}
	return &Error{Endpoint: c.endpoint, Message: answerlimit.Shorten(err.Error()), kind: kind, cause: err}
}

// distrusted: the handshake failed for a reason that stays.
func distrusted(err error) bool {
	_, verify := errors.AsType[*tls.CertificateVerificationError](err)
	_, alert := errors.AsType[tls.AlertError](err)
	_, record := errors.AsType[tls.RecordHeaderError](err)
	_, authority := errors.AsType[x509.UnknownAuthorityError](err)
	_, name := errors.AsType[x509.HostnameError](err)
	return verify || alert || record || authority || name ||
		strings.Contains(err.Error(), "server gave HTTP response to HTTPS client") // net/http has no value for it
}

// Explain adds a sentinel to an error of client-go, if one fits; it returns other errors unchanged.
func (c *Connection) Explain(err error) error {
	if _, ok := errors.AsType[*Error](err); ok || err == nil {
		return err
	}
	if errors.Is(err, answerlimit.ErrTooLong) {
		return c.broken(err)
	}
	if apierrors.IsUnauthorized(err) {
		return &Error{Endpoint: c.endpoint, kind: ErrAuth, cause: errStatus(http.StatusUnauthorized)}
	}
	if status, ok := errors.AsType[*apierrors.StatusError](err); ok && slices.Contains(away, int(status.ErrStatus.Code)) {
		return &Error{Endpoint: c.endpoint, Message: status.Error(), kind: ErrUnreachable, cause: err}
	}
	return err
}

// away are the statuses of a server or a load balancer without a working backend.
var away = []int{http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}

// errStatus replaces an answer whose text must not be shown.
type errStatus int

func (e errStatus) Error() string { return "HTTP status " + http.StatusText(int(e)) }
