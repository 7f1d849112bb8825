package access

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/gophercloud/gophercloud/v2"
)

// Upload sends a file of a known size to a URL of a service with PUT. An upload may take as long as it makes progress: it
// fails if the service accepts no bytes, or gives no answer after the last byte, for Config.ResponseTimeout. Upload calls
// open once for each attempt. It makes a second attempt, after a new login, if the token has expired. The error is an
// *Error (Clients.Explain), or the error of open or of reading the file.
func (c *Clients) Upload(ctx context.Context, service *gophercloud.ServiceClient, to string, size int64, open func() (io.ReadCloser, error)) error {
	token := service.Token()
	err := c.put(ctx, service.ProviderClient, token, to, size, open)
	if gophercloud.ResponseCodeIs(err, http.StatusUnauthorized) && service.ReauthFunc != nil {
		if err := service.Reauthenticate(ctx, token); err != nil {
			return c.Explain(err)
		}
		err = c.put(ctx, service.ProviderClient, service.Token(), to, size, open)
	}
	return err
}

func (c *Clients) put(ctx context.Context, provider *gophercloud.ProviderClient, token, to string, size int64, open func() (io.ReadCloser, error)) error {
	file, err := open()
	if err != nil {
		return err
	}
	defer file.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stalled := &url.Error{Op: "Put", URL: to, Err: fmt.Errorf("the service took no bytes for %s", c.limit)}
	idle := time.AfterFunc(c.limit, func() { cancel(stalled) })
	defer idle.Stop()
	body := &progress{Reader: file, idle: idle, limit: c.limit}
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, to, io.NopCloser(body))
	if err != nil {
		return err
	}
	request.ContentLength = size
	request.Header.Set("X-Auth-Token", token)
	request.Header.Set("User-Agent", provider.UserAgent.Join())
	request.Header.Set("Content-Type", "application/octet-stream")
	client := http.Client{Transport: provider.HTTPClient.Transport, CheckRedirect: sameHost}
	answer, err := client.Do(request)
	if failed := body.failed.Load(); failed != nil {
		return *failed
	}
	if err != nil && errors.Is(context.Cause(ctx), stalled) {
		err = stalled
	}
	if err != nil {
		return c.Explain(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode >= http.StatusOK && answer.StatusCode < http.StatusMultipleChoices {
		return nil
	}
	text, _ := io.ReadAll(answer.Body)
	return c.Explain(gophercloud.ErrUnexpectedResponseCode{URL: to, Method: http.MethodPut, Expected: []int{http.StatusNoContent},
		Actual: answer.StatusCode, Body: text, ResponseHeader: answer.Header})
}

// progress resets a timer whenever the service accepts bytes, and records the error of reading the file.
type progress struct {
	io.Reader
	idle   *time.Timer
	limit  time.Duration
	failed atomic.Pointer[error]
}

func (p *progress) Read(b []byte) (int, error) {
	p.idle.Reset(p.limit)
	n, err := p.Reader.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		p.failed.Store(&err)
	}
	return n, err
}
