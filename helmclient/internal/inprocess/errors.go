package inprocess

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/helmclient/internal/admission"
	"github.com/vnfkit/vnfkit/helmclient/internal/violation"
	"github.com/vnfkit/vnfkit/internal/bounded"
)

// fault is an error of Helm with its class, and the error of the API server or the network, found by errors.As.
type fault struct {
	class error
	text  error
	cause error
}

func (e *fault) Error() string {
	if e.class != nil {
		return fmt.Sprintf("%v: %v", e.class, e.text)
	}
	return "helm: " + e.text.Error()
}

func (e *fault) Unwrap() []error {
	var out []error
	for _, err := range []error{e.class, e.text, e.cause} {
		if err != nil {
			out = append(out, err)
		}
	}
	return out
}

// classes are the sentinels of helmclient.
var classes = []helmclient.Error{
	helmclient.ErrNotFound, helmclient.ErrExists, helmclient.ErrBusy, helmclient.ErrStale, helmclient.ErrNotReady,
	helmclient.ErrInvalidChart, helmclient.ErrInvalid, helmclient.ErrUnreachable, helmclient.ErrDenied, helmclient.ErrRefused,
}

// classified reports that an error is of a class already.
func classified(err error) bool {
	for _, class := range classes {
		if errors.Is(err, class) {
			return true
		}
	}
	return false
}

// maxError bounds the text of an error, in which Helm quotes the API server and the chart.
const maxError = 16 << 10

// explain adds the class to an error of Helm, masks values that violate the schema of a chart, and bounds the text. unknown is the class for an error that does not come
// from the API server, nil for none.
func (k *Call) explain(err error, unknown error) error {
	if err == nil {
		return nil
	}
	if masked := violation.Mask(err.Error()); masked != err.Error() {
		err = errors.New(masked) // Helm has no error value for it
	}
	return bounded.Error(k.classify(err, unknown), maxError)
}

func (k *Call) classify(err error, unknown error) error {
	kept := k.failure()
	if k.ctx.Err() != nil {
		if classified(kept) {
			return stopped(k.ctx, kept)
		}
		return stopped(k.ctx, err)
	}
	if classified(err) {
		return err
	}
	if classified(kept) { // it says more than what Helm has made of it
		return fmt.Errorf("%w (%s)", kept, shortened(err, kept))
	}
	class := k.client.helm.classOf(err)
	if class == nil && kept != nil {
		class = k.client.helm.classOf(kept)
	}
	if class == nil && kept == nil && !strings.Contains(err.Error(), foreign) {
		class = unknown
	}
	return &fault{class: class, text: err, cause: kept}
}

// foreign is Helm's message for an object that exists and belongs to no release or to another one; Helm has no error
// value for it (action.existingResourceConflict).
const foreign = "cannot be imported into the current release"

// shortened is what Helm says around an error, without the error itself, which it repeats.
func shortened(err, kept error) string {
	text := strings.TrimSuffix(strings.ReplaceAll(err.Error(), kept.Error(), ""), ": ")
	return strings.TrimSpace(text)
}

// classOf finds the class by the errors of Helm's storage, an API server or the network; nil for other errors.
func (v *Version) classOf(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, v.ReleaseNotFound), errors.Is(err, v.NoDeployedReleases):
		return helmclient.ErrNotFound
	case errors.Is(err, v.ReleaseExists): // another client has created the record of the revision first
		return helmclient.ErrBusy
	}
	var status apierrors.APIStatus
	switch {
	case errors.As(err, &status):
		return statusClass(err, int(status.Status().Code))
	case transient(err):
		return helmclient.ErrUnreachable
	}
	return nil
}

func statusClass(err error, code int) error {
	switch {
	case admission.Refused(err.Error()):
		return helmclient.ErrRefused
	case apierrors.IsUnauthorized(err), apierrors.IsForbidden(err):
		return helmclient.ErrDenied
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), isUntyped(err):
		return helmclient.ErrInvalidChart
	case apierrors.IsNotFound(err) && missingNamespace(err):
		return helmclient.ErrInvalid
	case apierrors.IsTimeout(err), apierrors.IsServerTimeout(err), apierrors.IsTooManyRequests(err), code >= http.StatusInternalServerError:
		return helmclient.ErrUnreachable
	}
	return nil
}

// isUntyped reports that an object of server-side apply has a field of a wrong type: the API server answers with code 500.
func isUntyped(err error) bool {
	return strings.Contains(err.Error(), "failed to create typed patch object")
}

func missingNamespace(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Details != nil && status.Status().Details.Kind == "namespaces"
}

// transient reports whether a server could not be reached, has not answered, or reports an internal error.
func transient(err error) bool {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		code := status.Status().Code
		return !isUntyped(err) && (code == http.StatusTooManyRequests || code >= http.StatusInternalServerError && code != http.StatusNotImplemented)
	}
	var network net.Error
	var request *url.Error
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var authority x509.UnknownAuthorityError
	return errors.As(err, &network) || errors.As(err, &request) || errors.As(err, &certificate) || errors.As(err, &record) ||
		errors.As(err, &authority) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, context.DeadlineExceeded)
}
