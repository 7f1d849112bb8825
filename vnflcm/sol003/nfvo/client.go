package nfvo

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
)

// SOL003 is a version of the specification that an NFVO serves.
type SOL003 string

// The versions.
const (
	V261 SOL003 = "2.6.1"
	V331 SOL003 = "3.3.1"
)

// Config describes an NFVO and the VNFM as its client.
type Config struct {
	// URL is the root of the APIs of the NFVO, such as https://nfvo.example.com: grants are at URL/grant/v1. Required. The client sends
	// requests to this server only, also if an answer of the NFVO names another one, and follows no redirects.
	URL string
	// LCM is the URL of the API for VNF lifecycle management of the VNFM, such as https://vnfm.example.com/vnflcm/v2: requests for grants
	// have links there. Required for Ask.
	LCM string
	// SOL003 is the version that the NFVO serves. Default V331.
	SOL003 SOL003
	// TokenURL is the token endpoint of the NFVO (OAuth 2.0, RFC 6749 4.4), with the scheme https. Default: requests have no token.
	TokenURL string
	ClientID string // required with TokenURL
	// ClientSecret returns the secret of the client, before each request for a token. It is sent as the password of HTTP Basic. Default:
	// the token endpoint identifies the client by its certificate (RFC 8705).
	ClientSecret func() (vnflcm.Secret, error)
	// TLS has additional authorities and the client certificate, for the NFVO and its token endpoint. Certificates are always verified.
	TLS *tls.Config
	// Allow is asked before each connection to the NFVO and its token endpoint. Default: every address, because the operator has
	// configured both.
	Allow outbound.Policy
	// Timeout bounds a request for a document, such as a grant. Default one minute.
	Timeout time.Duration
	// Logger receives requests that are repeated. It never gets bodies, tokens or queries.
	Logger *slog.Logger
}

// Client sends requests to an NFVO. It is safe for concurrent use.
type Client struct {
	root    *url.URL
	lcm     string
	version SOL003
	timeout time.Duration
	http    *http.Client
	tokens  *tokens // nil without TokenURL
	log     *slog.Logger
}

// maxHeader bounds the header of an answer, in bytes.
const maxHeader = 64 << 10

// New returns a Client. It connects to nothing. The error names every fault of the Config.
func New(c Config) (*Client, error) {
	root, err := c.check()
	if err != nil {
		return nil, err
	}
	if c.Allow == nil {
		c.Allow = outbound.AllowAny
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	timeout := cmp.Or(max(c.Timeout, 0), time.Minute)
	transport := c.Allow.Transport()
	transport.TLSClientConfig, transport.ResponseHeaderTimeout, transport.MaxResponseHeaderBytes = c.TLS.Clone(), timeout, maxHeader
	out := &Client{root: root, lcm: strings.TrimSuffix(c.LCM, "/"), version: cmp.Or(c.SOL003, V331), timeout: timeout, log: c.Logger, http: &http.Client{Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	if c.TokenURL != "" {
		out.tokens = newTokens(out.http, c)
	}
	return out, nil
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// check returns the root of the APIs, or every fault.
func (c *Config) check() (root *url.URL, err error) {
	var faults []error
	wrong := func(is bool, setting, reason string) {
		if is {
			faults = append(faults, fmt.Errorf("nfvo: Config.%s %s", setting, reason))
		}
	}
	root, err = url.Parse(strings.TrimSuffix(c.URL, "/"))
	wrong(err != nil || root.Host == "" || root.Scheme != "https" && root.Scheme != "http", "URL", "must be an absolute URL with the scheme https or http")
	wrong(err == nil && (root.User != nil || root.RawQuery != "" || root.Fragment != ""), "URL", "must have no user, query or fragment")
	lcm, err := url.Parse(c.LCM)
	wrong(c.LCM != "" && (err != nil || lcm.Host == "" || lcm.User != nil || lcm.RawQuery != ""), "LCM", "must be an absolute URL without user and query")
	wrong(c.SOL003 != "" && c.SOL003 != V261 && c.SOL003 != V331, "SOL003", "must be 2.6.1 or 3.3.1")
	token, err := url.Parse(c.TokenURL)
	wrong(c.TokenURL != "" && (err != nil || token.Scheme != "https" || token.Host == "" || token.User != nil || token.Fragment != ""), "TokenURL",
		"must be an absolute URL with the scheme https, without user and fragment")
	wrong((c.TokenURL == "") != (c.ClientID == ""), "TokenURL", "and ClientID need each other")
	hasCertificate := c.TLS != nil && (len(c.TLS.Certificates) > 0 || c.TLS.GetClientCertificate != nil)
	wrong(c.TokenURL != "" && c.ClientSecret == nil && !hasCertificate, "ClientSecret", "is required, because there is no client certificate either")
	wrong(c.TLS != nil && c.TLS.InsecureSkipVerify, "TLS", "must verify certificates")
	return root, errors.Join(faults...)
}
