package nfvo

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/vnfkit/vnfkit/internal/answerlimit"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// request is a request to the NFVO.
type request struct {
	method  string
	url     *url.URL
	version string      // of the API, for the header Version
	accept  string      // default application/json
	header  http.Header // further fields
	body    []byte      // JSON
}

// at returns the URL of a resource below the root of the APIs. The elements of the path are not escaped yet.
func (c *Client) at(elements ...string) *url.URL { return c.root.JoinPath(elements...) }

// located returns the URL that the NFVO has named in an answer to a request to base. It must be at the same server: the token of the
// VNFM is sent to no other one.
func (c *Client) located(base *url.URL, location string) (*url.URL, error) {
	named, err := url.Parse(location)
	if err != nil || location == "" {
		return nil, errors.New("the answer of the NFVO names no URL of a resource")
	}
	named = base.ResolveReference(named)
	if server(named) != server(c.root) || named.User != nil {
		return nil, fmt.Errorf("the NFVO names a resource at %s, which is another server: requests are sent to %s only", server(named), server(c.root))
	}
	return named, nil
}

// server returns scheme, host and port of a URL.
func server(u *url.URL) string {
	port := cmp.Or(u.Port(), map[string]string{"https": "443", "http": "80"}[u.Scheme])
	return u.Scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// do sends a request, and once more with another token if the NFVO refuses the token. The caller closes the body of the answer, which is
// bounded by package answerlimit unless the status is 200 or 206 of a request for another media type than JSON. An error is an
// *vnflcm.UnreachableError if the request may be repeated.
func (c *Client) do(ctx context.Context, r request) (*http.Response, error) {
	answer, token, err := c.send(ctx, r)
	if err != nil || answer.StatusCode != http.StatusUnauthorized || token == "" {
		return answer, err
	}
	_ = answer.Body.Close()
	c.tokens.drop(token)
	c.log.InfoContext(ctx, "the NFVO refuses the access token; the request is repeated with another one", "method", r.method, "path", r.url.Path)
	answer, _, err = c.send(ctx, r)
	return answer, err
}

// send sends a request once. It returns the access token of the request, "" if it has none.
func (c *Client) send(ctx context.Context, r request) (answer *http.Response, token string, err error) {
	if c.tokens != nil {
		if token, err = c.tokens.get(ctx); err != nil {
			return nil, "", err
		}
	}
	var sent atomic.Bool
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }})
	out, err := http.NewRequestWithContext(traced, r.method, r.url.String(), bytes.NewReader(r.body))
	if err != nil {
		return nil, "", errors.New("the URL of the request is not valid") // err quotes it
	}
	r.fill(out, token)
	answer, err = c.http.Do(out)
	if err != nil {
		return nil, token, &vnflcm.UnreachableError{Err: fmt.Errorf("the NFVO %s does not answer: %w", c.root.Host, withoutURL(err)), Sent: sent.Load()}
	}
	if isText := r.accept == "" || answer.StatusCode/100 != 2; isText {
		answerlimit.Apply(answer)
	}
	return answer, token, nil
}

// fill sets the header of a request.
func (r request) fill(out *http.Request, token string) {
	for name, values := range r.header {
		out.Header[name] = values
	}
	out.Header.Set("Version", r.version)
	out.Header.Set("Accept", "application/json")
	if r.accept != "" {
		out.Header.Set("Accept", r.accept)
	}
	if len(r.body) > 0 {
		out.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		out.Header.Set("Authorization", "Bearer "+token)
	}
}

// withoutURL returns an error without the URL that it quotes: a query may be a secret.
func withoutURL(err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return failed.Err
	}
	return err
}
