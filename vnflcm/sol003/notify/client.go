package notify

import (
	"net/http"
	"time"
)

// Bounds of one request to a subscriber or a token endpoint.
const (
	requestTime   = 10 * time.Second
	maxAnswer     = 64 << 10 // bytes that are read of an answer
	maxHeader     = 64 << 10 // bytes
	perSubscriber = 8        // requests at once
)

// newClient returns a client that connects only where the policy allows, verifies TLS, and follows no redirects.
func newClient(o Options) *http.Client {
	transport := &http.Transport{DialContext: o.Allow.DialContext, TLSClientConfig: o.TLS.Clone(), ForceAttemptHTTP2: true, MaxIdleConnsPerHost: perSubscriber,
		TLSHandshakeTimeout: requestTime, IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: maxHeader}
	return &http.Client{Transport: transport, Timeout: requestTime,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}
