package cluster

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/vnfkit/vnfkit/internal/kubeaccess"
)

// permanentError ends poll: trying again does not help.
type permanentError struct{ error }

func (e permanentError) Unwrap() error { return e.error }

// permanent marks an error of the API as permanent, if it is: the request is forbidden or invalid. Any other error may
// pass: another node answers, a webhook starts, a namespace or a kind appears.
func permanent(err error) error {
	if namespaceEnding(err) {
		return err
	}
	switch statusCode(err) {
	case http.StatusInternalServerError:
		if strings.Contains(err.Error(), mistyped) {
			return permanentError{err}
		}
	case http.StatusBadRequest, http.StatusForbidden, http.StatusMethodNotAllowed, http.StatusUnprocessableEntity,
		http.StatusUnsupportedMediaType, http.StatusRequestEntityTooLarge:
		return permanentError{err}
	}
	return err
}

// mistyped is the message of an API server, with status 500, for an applied object that does not fit its schema
// (k8s.io/apimachinery/pkg/util/managedfields).
const mistyped = "failed to create typed patch object"

// namespaceEnding: the namespace is being deleted and can be created again afterwards.
func namespaceEnding(err error) bool {
	return apierrors.HasStatusCause(err, "NamespaceTerminating")
}

// statusCode is the status of the API server's answer, 0 without an answer.
func statusCode(err error) int {
	if status, ok := errors.AsType[*apierrors.StatusError](err); ok {
		return int(status.ErrStatus.Code)
	}
	return 0
}

// helpsElsewhere reports whether another control-plane node may succeed.
func helpsElsewhere(err error) bool {
	if err == nil {
		return false
	}
	if code := statusCode(err); code != 0 {
		return code >= http.StatusInternalServerError || code == http.StatusUnauthorized
	}
	_, request := errors.AsType[*url.Error](err)
	_, network := errors.AsType[net.Error](err)
	return request || network || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, kubeaccess.ErrUnreachable)
}

// refused reports whether an API server forbids a request. One that has just started forbids everything until it has read the roles. A session
// that was kept can reach it before it is ready; a new session cannot.
func refused(err error) bool { return statusCode(err) == http.StatusForbidden }

// mayPass reports whether a retry can help.
func mayPass(err error) bool {
	_, permanent := errors.AsType[permanentError](err)
	return !permanent
}
