package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// permanentError ends retry: trying again does not help.
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
	return request || network || errors.Is(err, io.ErrUnexpectedEOF)
}

// retry calls try until it succeeds or fails with a permanent error; when ctx ends, the error has the last reason.
func retry(ctx context.Context, what string, try func() error) error {
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = 50*time.Millisecond, time.Second
	var last error
	for {
		err := try()
		if err == nil {
			return nil
		}
		if _, stays := errors.AsType[permanentError](err); stays {
			return err
		}
		if last == nil || ctx.Err() == nil { // an attempt that the end of ctx has cut gives no reason
			last = err
		}
		timer := time.NewTimer(pause.NextBackOff())
		select {
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("waiting for %s: %w; last: %w", what, context.Cause(ctx), last)
		case <-timer.C:
		}
	}
}
