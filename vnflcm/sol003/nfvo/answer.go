package nfvo

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/internal/answerlimit"
	"github.com/vnfkit/vnfkit/internal/mask"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// statusError is an answer of the NFVO that is no success.
type statusError struct {
	status int
	reason string // of the ProblemDetails, without secrets of the client; "" without one
}

func (e *statusError) Error() string {
	text := strings.TrimSpace(fmt.Sprintf("the NFVO answers %d %s", e.status, http.StatusText(e.status)))
	if e.reason != "" {
		text += ": " + e.reason
	}
	return text
}

// The statuses of answers after which a request may be repeated. With the latter ones the NFVO may have done what was asked.
var (
	notReceived = []int{http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable}
	unknown     = []int{http.StatusRequestTimeout, http.StatusInternalServerError, http.StatusGatewayTimeout}
)

// refusal returns the error of an answer whose status is no success, and closes its body.
func (c *Client) refusal(answer *http.Response) error {
	defer func() { _ = answer.Body.Close() }()
	refused := &statusError{status: answer.StatusCode}
	if refused.reason = "redirects are not followed"; answer.StatusCode/100 != 3 {
		refused.reason = answerlimit.Shorten(c.withoutSecrets(reasonOf(answer.Body)))
	}
	sent := slices.Contains(unknown, answer.StatusCode)
	if sent || slices.Contains(notReceived, answer.StatusCode) {
		return &vnflcm.UnreachableError{Err: refused, Sent: sent, After: retryAfter(answer.Header)}
	}
	return refused
}

// reasonOf returns the reason that ProblemDetails give (SOL003 v2.6.1 4.3.5.3), "" if body is something else.
func reasonOf(body io.Reader) string {
	text, err := io.ReadAll(body)
	var problem struct{ Title, Detail string }
	if err != nil || json.Unmarshal(text, &problem) != nil {
		return ""
	}
	parts := slices.DeleteFunc([]string{problem.Title, problem.Detail}, func(part string) bool { return part == "" })
	return strings.Join(slices.Compact(parts), ": ")
}

// withoutSecrets masks the secrets of this client in a text of the NFVO.
func (c *Client) withoutSecrets(text string) string {
	if c.tokens == nil {
		return text
	}
	return mask.New(c.tokens.secrets()...).Mask(text)
}

// retryAfter returns how long the header Retry-After asks to wait (RFC 7231 7.1.3), 0 if it does not.
func retryAfter(header http.Header) time.Duration {
	const shortest, longest = 100 * time.Millisecond, 24 * time.Hour
	text := header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return min(max(time.Duration(seconds)*time.Second, shortest), longest)
	}
	if date, err := http.ParseTime(text); err == nil {
		return min(max(time.Until(date), shortest), longest)
	}
	return 0
}
