package kubeaccess

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/vnfkit/vnfkit/internal/answerlimit"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
)

const dialTimeout = 15 * time.Second

// errRedirect: client-go sends its credentials to any host that a redirect names.
var errRedirect = errors.New("redirects to another host or port, which is not given the credentials: correct the endpoint")

// guarded bounds answers, keeps to the one host, and sorts what fails.
type guarded struct {
	base         http.RoundTripper
	connection   *Connection
	scheme, host string
}

func (c *Connection) guard(endpoint *url.URL, base http.RoundTripper) guarded {
	return guarded{base, c, endpoint.Scheme, endpoint.Host}
}

// RoundTrip implements http.RoundTripper.
func (g guarded) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Scheme != g.scheme || request.URL.Host != g.host {
		return nil, &Error{Endpoint: g.connection.endpoint, Message: errRedirect.Error(), kind: ErrUnreachable, cause: errRedirect}
	}
	answer, err := g.base.RoundTrip(request)
	if err != nil {
		return nil, g.connection.broken(err)
	}
	if answer.StatusCode != http.StatusSwitchingProtocols { // its body is written too
		answerlimit.ApplyKubernetes(answer)
	}
	return answer, nil
}

// patient is below the connection's own clients. It removes Retry-After from answers, so that the clients do not wait as long as a server
// tells them to: Do limits the wait. It also sorts the errors of answers that break off.
type patient struct {
	http.RoundTripper
	connection *Connection
}

func (p patient) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := p.RoundTripper.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	answer.Header.Del("Retry-After")
	answer.Body = sortedBody{answer.Body, p.connection}
	return answer, nil
}

// sortedBody sorts what fails while an answer is read: net/http has no value for an HTTP/2 connection that ends in the middle.
type sortedBody struct {
	io.ReadCloser
	connection *Connection
}

// Read implements io.Reader.
func (b sortedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = b.connection.broken(err)
	}
	return n, err
}

func newTransport(l *line, config *tls.Config) *http.Transport {
	t := l.allow.Transport()
	if l.through == nil {
		l.through = t.DialContext
	} else {
		t.Proxy = nil
	}
	t.DialContext = l.dial
	t.TLSHandshakeTimeout = dialTimeout
	t.IdleConnTimeout = time.Minute
	t.MaxIdleConnsPerHost = 8
	t.TLSClientConfig = config
	// Detects a connection whose other end no longer exists.
	t.HTTP2 = &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 15 * time.Second}
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

// dialFunc has the form of net.Dialer's DialContext.
type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// line makes connections, through the jump host if there is one, and closes them at the end.
type line struct {
	allow   outbound.Policy
	through dialFunc // nil: directly, which newTransport sets

	mu    sync.Mutex
	conns map[*keptConn]bool
	ended bool
}

// newLine leads through a jump host, or by a dialer; nil: directly. It connects only to addresses that the policy allows.
func newLine(via *sshexec.Target, o Options, dial dialFunc, allow outbound.Policy) (*line, error) {
	if via != nil {
		if o.SSH == nil {
			return nil, errors.New("kubernetes: the VIM has a jump host, and the driver no SSH")
		}
		dial = o.SSH.Host(*via).DialContext
	}
	if dial != nil {
		dial = judged(dial, allow)
	}
	return &line{allow: allow, through: dial, conns: map[*keptConn]bool{}}, nil
}

// judged judges an address before the jump host or the dialer of the program gets it.
func judged(dial dialFunc, allow outbound.Policy) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		host, service, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		port, err := net.DefaultResolver.LookupPort(ctx, network, service)
		if err != nil {
			return nil, err
		}
		if err := allow.CheckHost(host, uint16(port)); err != nil { //nolint:gosec // LookupPort returns 16 bits
			return nil, err
		}
		return dial(ctx, network, address)
	}
}

func (l *line) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := l.through(ctx, network, addr)
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
		_ = conn.Close() // all data has been sent
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
