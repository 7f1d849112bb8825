package access

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/vnfkit/vnfkit/internal/answerlimit"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// Sentinels, found with errors.Is.
var (
	// ErrAuth: Keystone refuses the credentials, or a token has expired that cannot be had again. Final.
	ErrAuth = errors.New("the VIM refuses the credentials")
	// ErrUnreachable: no answer, a broken one, or one that says "later". Trying again can help.
	ErrUnreachable = errors.New("the VIM cannot be reached")
	// ErrEndpoint: the service catalog has no such service in this region with this interface. Final.
	ErrEndpoint = errors.New("no such endpoint in the service catalog")
	// ErrMicroversion: the service is older than needed. Final.
	ErrMicroversion = errors.New("the service is too old")
)

// Error is a request to the VIM that failed. It shows neither credentials nor tokens.
type Error struct {
	Endpoint string // scheme, host and path, without query
	Status   int    // of HTTP, 0 without an answer
	Message  string // what the service said, masked; empty for Keystone
	kind     error
	cause    error
}

// Error names endpoint and reason.
func (e *Error) Error() string {
	parts := []string{"openstack"}
	if e.Endpoint != "" {
		parts = append(parts, e.Endpoint)
	}
	if e.kind != nil {
		parts = append(parts, e.kind.Error())
	}
	if e.Status != 0 {
		parts = append(parts, fmt.Sprintf("HTTP status %d", e.Status))
	}
	if e.Message != "" {
		parts = append(parts, e.Message)
	}
	return strings.Join(parts, ": ")
}

// Unwrap gives the sentinel and gophercloud's error, for gophercloud.ResponseCodeIs. The latter's text can
// quote anything that the VIM said: it is not for a log.
func (e *Error) Unwrap() []error {
	return slices.DeleteFunc([]error{e.kind, e.cause}, func(err error) bool { return err == nil })
}

// Explain turns an error of gophercloud into one that has a sentinel where one fits, and no secret.
func (c *Clients) Explain(err error) error {
	if err == nil {
		return nil
	}
	token := ""
	if c.Heat != nil {
		token = c.Heat.Token()
	}
	return c.id.explain(err, "", token)
}

// explain sorts an error and masks the credentials and the token. What Keystone says is left out, as it may quote what it was sent.
func (id *identity) explain(err error, endpoint, token string) *Error {
	if already, ok := errors.AsType[*Error](err); ok {
		same := *already // others may hold it
		same.Message = answerlimit.Shorten(id.mask(same.Message, token))
		return &same
	}
	e := &Error{Endpoint: endpoint, cause: err}
	refused := false
	if again, ok := errors.AsType[*gophercloud.ErrUnableToReauthenticate](err); ok {
		return id.explain(again.ErrReauth, id.Endpoint, token)
	}
	if after, ok := errors.AsType[*gophercloud.ErrErrorAfterReauthentication](err); ok {
		err = after.ErrOriginal
		e.cause = err
	}
	switch answer, ok := errors.AsType[gophercloud.ErrUnexpectedResponseCode](err); {
	case ok:
		e.Endpoint, e.Status, e.Message = plainURL(answer.URL), answer.Actual, string(answer.Body)
		refused = answer.Actual == http.StatusUnauthorized
		if later(answer.Actual) {
			e.kind = ErrUnreachable
		}
		if strings.HasPrefix(e.Endpoint, id.Endpoint) {
			e.Message = ""
		}
	case errors.Is(err, context.Canceled):
		e.Message = err.Error()
	default:
		e.Message = err.Error()
		if broken, ok := errors.AsType[*url.Error](err); ok {
			e.Endpoint, e.Message = plainURL(broken.URL), broken.Err.Error()
		}
		e.kind = ErrUnreachable
	}
	if refused {
		e.kind, e.Message = ErrAuth, ""
		if id.Token != "" {
			e.Message = "a token cannot be renewed: give a password or an application credential, or a new token"
		}
	}
	e.Message = answerlimit.Shorten(id.mask(e.Message, token)) // masked first: a secret that is cut in two is not found
	return e
}

func later(status int) bool {
	return slices.Contains([]int{http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable,
		http.StatusGatewayTimeout}, status)
}

func (id *identity) mask(text, token string) string {
	for _, secret := range []string{id.Password, id.CredentialSecret, id.Token, token} {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, vnflcm.Mask)
		}
	}
	return text
}

func plainURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}
