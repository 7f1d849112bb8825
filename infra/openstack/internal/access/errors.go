package access

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/vnfkit/vnfkit/internal/answerlimit"
	"github.com/vnfkit/vnfkit/internal/mask"
	"github.com/vnfkit/vnfkit/internal/retry"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
)

// Sentinels, found with errors.Is.
var (
	// ErrAuth says that Keystone refuses the credentials, or that a token without other credentials has expired. Final.
	ErrAuth = retry.NewError(retry.VIMCredentials, "the VIM refuses the credentials")
	// ErrUnreachable says that a service gave no answer, an incomplete answer, or a temporary error. A retry can succeed.
	ErrUnreachable = retry.NewError(retry.VIMUnreachable, "the VIM cannot be reached")
	// ErrEndpoint says that the service catalog has no endpoint of the service for the region and interface. Final.
	ErrEndpoint = errors.New("no such endpoint in the service catalog")
	// ErrMicroversion says that the service does not support the microversion that the driver needs. Final.
	ErrMicroversion = errors.New("the service is too old")
)

// Error is a request to the VIM that failed. It shows neither credentials nor tokens.
type Error struct {
	Endpoint string // scheme, host and path, without query
	Status   int    // HTTP status, 0 without an answer
	Message  string // message of the service with secrets masked; empty for Keystone
	kind     error
	cause    error
}

// Error returns the endpoint and the reason.
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

// Unwrap returns the sentinel, and gophercloud's error for gophercloud.ResponseCodeIs. Do not log gophercloud's error: its
// text can quote the answer of the VIM with secrets.
func (e *Error) Unwrap() []error {
	return slices.DeleteFunc([]error{e.kind, e.cause}, func(err error) bool { return err == nil })
}

// Explain converts an error of gophercloud into an *Error without secrets, with a sentinel of this package if one applies.
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

// explain converts an error and masks the credentials and the token. It leaves out messages of Keystone, because Keystone
// may quote the request.
func (id *identity) explain(err error, endpoint, token string) *Error {
	if already, ok := errors.AsType[*Error](err); ok {
		same := *already // copy: another goroutine may use the error
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
		e.Endpoint, e.Status, e.Message = plainURL(answer.URL), answer.Actual, id.quotable(answer.Body)
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
		if errors.Is(err, outbound.ErrAddress) {
			e.kind = vnflcm.ErrInvalidRequest // which has brought the address
		}
	}
	if refused {
		e.kind, e.Message = ErrAuth, ""
		if id.Token != "" {
			e.Message = "a token cannot be renewed: give a password or an application credential, or a new token"
		}
	}
	e.Message = answerlimit.Shorten(id.mask(e.Message, token)) // mask first: mask does not find a secret that Shorten has cut in two
	return e
}

// quotable returns what an error may quote of an answer. A request can name any server as a service of its VIM: of such an
// answer only the message of an OpenStack service is quoted, so that a client cannot read other servers through the VNFM.
func (id *identity) quotable(body []byte) string {
	if id.FromOperator {
		return string(body)
	}
	var fault map[string]json.RawMessage // {"badRequest": {"message": ...}}; Heat has "title" and "explanation" beside "error"
	if json.Unmarshal(body, &fault) != nil {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(fault)) {
		var inside struct {
			Message string `json:"message"`
		}
		if json.Unmarshal(fault[name], &inside) == nil && inside.Message != "" {
			return inside.Message
		}
	}
	return ""
}

func later(status int) bool {
	return slices.Contains([]int{http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable,
		http.StatusGatewayTimeout}, status)
}

func (id *identity) mask(text, token string) string {
	return mask.New(id.Password, id.CredentialSecret, id.Token, token).Mask(text)
}

func plainURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}
