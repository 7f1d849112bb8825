package access

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/gophercloud/gophercloud/v2"

	"github.com/vnfkit/vnfkit/internal/retry"
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
)

// attempts is how often a request is sent. It is small: it covers the restart of one server behind a load balancer. The
// caller handles longer outages, because the caller knows how long the operation may take.
const attempts = 4

// longestWait is the longest Retry-After that awaitRetry accepts. If a server asks for a longer wait, the request fails.
const longestWait = 30 * time.Second

// awaitRetry is gophercloud's RetryFunc. It waits and returns nil if gophercloud shall repeat the failed request, or returns the
// error.
func awaitRetry(ctx context.Context, method, address string, options *gophercloud.RequestOpts, err error, failed uint) error {
	if failed >= attempts || ctx.Err() != nil || options.RawBody != nil || !passing(method, address, err) {
		return err
	}
	wait := pause(failed)
	if answer, ok := errors.AsType[gophercloud.ErrUnexpectedResponseCode](err); ok {
		if asked, ok := retryAfter(answer.ResponseHeader); ok {
			wait = asked
		}
	}
	if wait > longestWait {
		return err
	}
	waiting := retry.Begin(ctx, "")
	defer waiting.End()
	waiting.Failed(err)
	if retry.Pause(ctx, wait) != nil {
		return errors.Join(ctx.Err(), err)
	}
	return nil
}

// passing reports whether a request may be repeated: the server says that it did nothing, or the connection broke during
// a request that is idempotent or a login. A second login gives another token and changes nothing else.
func passing(method, address string, err error) bool {
	if answer, ok := errors.AsType[gophercloud.ErrUnexpectedResponseCode](err); ok {
		return answer.Actual == http.StatusTooManyRequests || answer.Actual == http.StatusServiceUnavailable
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok || errors.Is(err, errRedirect) || errors.Is(err, outbound.ErrAddress) {
		return false
	}
	network, broken := errors.AsType[*url.Error](err)
	if strings.HasSuffix(address, "/auth/tokens") {
		return broken && !network.Timeout() || errors.Is(err, io.ErrUnexpectedEOF)
	}
	return slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodDelete}, method) &&
		(broken || errors.Is(err, io.ErrUnexpectedEOF))
}

// pause returns 0.5 s, 1 s, 2 s, each plus or minus a half at random, so that many clients do not repeat at the same time.
func pause(failed uint) time.Duration {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.Multiplier = 500*time.Millisecond<<(failed-1), 1
	b.Reset()
	return b.NextBackOff()
}

// retryAfter reads the header Retry-After, which holds seconds or a date (RFC 9110 10.2.3).
func retryAfter(h http.Header) (time.Duration, bool) {
	text := h.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second, true
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, time.Until(at)), true
	}
	return 0, false
}
