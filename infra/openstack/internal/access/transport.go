package access

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"time"

	"github.com/vnfkit/vnfkit/internal/answerlimit"
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
)

// errRedirect: credentials travel in a header of our own, which net/http would send on to any host.
var errRedirect = errors.New("redirects to another host or port, which is not given the credentials: correct the endpoint")

// redirects is how many redirects on the same host a request follows.
const redirects = 5

// httpClient returns a client that waits for the header of an answer for at most ResponseTimeout, and for the whole answer
// for at most twice that.
func (id *identity) httpClient(c Config) http.Client {
	transport := c.Transport
	if transport == nil {
		transport = id.transport(c)
	}
	return http.Client{Transport: bounding{transport}, Timeout: 2 * c.ResponseTimeout, CheckRedirect: sameHost}
}

func (id *identity) transport(c Config) *http.Transport {
	allow := c.Allow
	if id.FromOperator {
		allow = outbound.AllowAny
	}
	t := allow.Transport()
	t.TLSHandshakeTimeout = min(c.ResponseTimeout, 15*time.Second)
	t.ResponseHeaderTimeout = c.ResponseTimeout
	t.IdleConnTimeout = time.Minute
	t.MaxIdleConnsPerHost = 8
	t.TLSClientConfig = id.tlsConfig()
	return t
}

// bounding bounds the answers of services, which may be hostile.
type bounding struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounding) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := b.RoundTripper.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	answerlimit.Apply(answer)
	return answer, nil
}

// CloseIdleConnections is called by http.Client.CloseIdleConnections.
func (b bounding) CloseIdleConnections() {
	if t, ok := b.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

func sameHost(next *http.Request, via []*http.Request) error {
	if next.URL.Host != via[0].URL.Host || next.URL.Scheme != via[0].URL.Scheme || len(via) > redirects {
		return errRedirect
	}
	return nil
}

func (id *identity) tlsConfig() *tls.Config {
	c := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: id.Insecure} //nolint:gosec // only as the VIM's entry demands
	if id.CA != "" {
		c.RootCAs = x509.NewCertPool()
		c.RootCAs.AppendCertsFromPEM([]byte(id.CA))
	}
	if id.AnyHostname && !id.Insecure {
		roots := c.RootCAs
		c.InsecureSkipVerify = true // the chain is verified below, only the name is not
		c.VerifyConnection = func(s tls.ConnectionState) error {
			between := x509.NewCertPool()
			for _, cert := range s.PeerCertificates[1:] {
				between.AddCert(cert)
			}
			_, err := s.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between})
			return err
		}
	}
	return c
}
