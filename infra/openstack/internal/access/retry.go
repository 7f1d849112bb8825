package access

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/gophercloud/gophercloud/v2"
)

// maxRetries is how often one request is made again. What takes longer to pass is waited for by the driver,
// which knows what it waits for.
const maxRetries = 4

// backOff waits before a request is made again that the service was too busy for.
func backOff(ctx context.Context, answer *gophercloud.ErrUnexpectedResponseCode, err error, retries uint) error {
	if retries > maxRetries {
		return err
	}
	pause := time.Second << min(retries, 5)
	if seconds, bad := strconv.Atoi(answer.ResponseHeader.Get("Retry-After")); bad == nil && seconds >= 0 {
		pause = min(time.Duration(seconds)*time.Second, time.Minute)
	}
	return sleep(ctx, pause, err)
}

// repeat makes requests again that change nothing, or can be made twice, when their connection was cut or
// the service was away for a moment.
func repeat(ctx context.Context, method, _ string, _ *gophercloud.RequestOpts, err error, retries uint) error {
	var network *url.Error
	away := gophercloud.ResponseCodeIs(err, http.StatusServiceUnavailable) || gophercloud.ResponseCodeIs(err, http.StatusBadGateway)
	if !slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodDelete}, method) || retries > maxRetries ||
		!away && !errors.As(err, &network) {
		return err
	}
	return sleep(ctx, 100*time.Millisecond<<min(retries, 5), err)
}

// sleep returns nil when the time is up, err when ctx ended before.
func sleep(ctx context.Context, d time.Duration, err error) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return errors.Join(err, context.Cause(ctx))
	}
}
