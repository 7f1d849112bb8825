package kubeaccess

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	dialTimeout = 15 * time.Second
	maxAnswer   = 256 << 20 // a list of ten thousand objects; the server may be hostile
)

// errRedirect: client-go gives its credentials to whatever host an answer names.
var errRedirect = errors.New("redirects to another host or port, which is not given the credentials: correct the endpoint")

// guarded bounds answers, keeps to the one host, and sorts what fails.
type guarded struct {
	*http.Transport
	cluster      *Cluster
	scheme, host string
}

// RoundTrip implements http.RoundTripper.
func (g guarded) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Scheme != g.scheme || request.URL.Host != g.host {
		return nil, &Error{Endpoint: g.cluster.endpoint, Message: errRedirect.Error(), kind: ErrUnreachable, cause: errRedirect}
	}
	answer, err := g.Transport.RoundTrip(request)
	if err != nil {
		return nil, g.cluster.broken(err)
	}
	if answer.StatusCode != http.StatusSwitchingProtocols { // whose body is written too
		answer.Body = limited{io.LimitReader(answer.Body, maxAnswer), answer.Body}
	}
	return answer, nil
}

type limited struct {
	io.Reader
	io.Closer
}

// patient has no client wait as long as a server tells it to: Do knows how long.
type patient struct{ http.RoundTripper }

func (p patient) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := p.RoundTripper.RoundTrip(request)
	if err == nil {
		answer.Header.Del("Retry-After")
	}
	return answer, err
}

func (id *identity) transport(l *line) *http.Transport {
	t := &http.Transport{
		DialContext:         l.dial,
		TLSHandshakeTimeout: dialTimeout,
		IdleConnTimeout:     time.Minute,
		MaxIdleConnsPerHost: 8,
		ForceAttemptHTTP2:   true,
		TLSClientConfig:     id.tlsConfig(),
		// A connection whose other end is gone is noticed.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 15 * time.Second},
	}
	if l.through == nil {
		t.Proxy = http.ProxyFromEnvironment
	}
	return t
}

func (id *identity) tlsConfig() *tls.Config {
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: id.ServerName, InsecureSkipVerify: id.Insecure} //nolint:gosec // only as the VIM's entry demands
	if id.CA != "" {
		c.RootCAs = x509.NewCertPool()
		c.RootCAs.AppendCertsFromPEM([]byte(id.CA))
	}
	if id.Certificate != "" {
		pair, err := tls.X509KeyPair([]byte(id.Certificate), []byte(id.Key))
		if err == nil { // read has checked it
			c.Certificates = []tls.Certificate{pair}
		}
	}
	return c
}

// line makes connections, through the jump host if there is one, and closes them at the end.
type line struct {
	through func(ctx context.Context, network, address string) (net.Conn, error) // nil: directly

	mu    sync.Mutex
	conns map[*keptConn]bool
	ended bool
}

func (l *line) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	dial := l.through
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	conn, err := dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return nil, errors.Join(net.ErrClosed, conn.Close())
	}
	kept := &keptConn{Conn: conn, line: l}
	l.conns[kept] = true
	return kept, nil
}

func (l *line) close() {
	l.mu.Lock()
	l.ended = true
	var all []net.Conn
	for conn := range l.conns {
		all = append(all, conn)
	}
	l.mu.Unlock()
	for _, conn := range all {
		_ = conn.Close() // what was to be said has been said
	}
}

// keptConn leaves its line when it is closed.
type keptConn struct {
	net.Conn
	line *line
}

func (c *keptConn) Close() error {
	c.line.mu.Lock()
	delete(c.line.conns, c)
	c.line.mu.Unlock()
	return c.Conn.Close()
}
