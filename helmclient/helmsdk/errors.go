package helmsdk

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

	"helm.sh/helm/v3/pkg/storage/driver"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/vnfkit/vnfkit/helmclient"
)

// fault is what Helm says, the class that it is of, and what an API server or the network has said, found by errors.As.
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
	helmclient.ErrInvalidChart, helmclient.ErrInvalid, helmclient.ErrUnreachable, helmclient.ErrDenied,
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

// explain gives an error of Helm its class. unknown is the class of what the API server has no part in, nil for none.
func (k *call) explain(err error, unknown error) error {
	if err == nil {
		return nil
	}
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
	class := classOf(err)
	if class == nil && kept != nil {
		class = classOf(kept)
	}
	if class == nil && kept == nil && !strings.Contains(err.Error(), foreign) {
		class = unknown
	}
	return &fault{class: class, text: err, cause: kept}
}

// foreign is how Helm says that an object exists that is of no release or of another one; it has no error value for it
// (action.existingResourceConflict).
const foreign = "cannot be imported into the current release"

// shortened is what Helm says around an error, without the error itself, which it repeats.
func shortened(err, kept error) string {
	text := strings.TrimSuffix(strings.ReplaceAll(err.Error(), kept.Error(), ""), ": ")
	return strings.TrimSpace(text)
}

// classOf looks at what Helm's storage, an API server and the network say. nil if none of them has said anything.
func classOf(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, driver.ErrReleaseNotFound), errors.Is(err, driver.ErrNoDeployedReleases):
		return helmclient.ErrNotFound
	case errors.Is(err, driver.ErrReleaseExists): // the record of a revision that somebody else has made first
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
	case apierrors.IsUnauthorized(err), apierrors.IsForbidden(err):
		return helmclient.ErrDenied
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return helmclient.ErrInvalidChart
	case apierrors.IsNotFound(err) && missingNamespace(err):
		return helmclient.ErrInvalid
	case apierrors.IsTimeout(err), apierrors.IsServerTimeout(err), apierrors.IsTooManyRequests(err), code >= http.StatusInternalServerError:
		return helmclient.ErrUnreachable
	}
	return nil
}

func missingNamespace(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Details != nil && status.Status().Details.Kind == "namespaces"
}

// transient reports that a server could not be reached, has not answered, or has trouble of its own.
func transient(err error) bool {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		code := status.Status().Code
		return code == http.StatusTooManyRequests || code >= http.StatusInternalServerError && code != http.StatusNotImplemented
	}
	var network net.Error
	var request *url.Error
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var authority x509.UnknownAuthorityError
	return errors.As(err, &network) || errors.As(err, &request) || errors.As(err, &certificate) || errors.As(err, &record) ||
		errors.As(err, &authority) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, context.DeadlineExceeded)
}
