package kubesim

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/vnfkit/vnfkit/internal/memconn"
)

// port is what answers at a port of machines.
type port struct {
	listens func(*World, *machine) bool              // called under the lock
	serve   func(w *World, id string, conn net.Conn) // until the connection ends
}

// ports are the services that clients reach over the network, by port.
var ports = map[string]port{}

// Dialer opens the connections that clients ask a machine to lead them to (sshtest.Config.Dial): to its own
// ports, or to those of another machine of the world.
func (w *World) Dialer(id string) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(_ context.Context, _, addr string) (net.Conn, error) {
		host, number, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, err
		}
		ip, err := netip.ParseAddr(host)
		if err != nil {
			return nil, fmt.Errorf("dial tcp: lookup %s: no such host", host)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		m := w.state.Machines[id]
		if !ip.IsLoopback() {
			m = w.byAddress(ip)
		}
		if m == nil || m.Down {
			return nil, fmt.Errorf("dial tcp %s: i/o timeout", addr)
		}
		p, listens := w.portOf(m, number)
		if !listens {
			return nil, fmt.Errorf("dial tcp %s: connect: connection refused", addr)
		}
		// Unlike a net.Pipe the connection holds what either side has written, so that a client which refuses a certificate
		// does not wait for a server that still writes.
		near, far := memconn.Pair(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, &net.TCPAddr{IP: ip.AsSlice()})
		go p.serve(w, m.ID, far)
		return near, nil
	}
}

// portOf is what listens at a port of a machine now, if anything does.
func (w *World) portOf(m *machine, number string) (port, bool) {
	if p, known := ports[number]; known && p.listens(w, m) {
		return p, true
	}
	if f := w.frontendAt(m, number); f != nil {
		return port{serve: func(w *World, id string, conn net.Conn) { w.serveFrontend(id, number, conn) }}, true
	}
	if p, open := w.nodePort(m, number); open {
		return p, true
	}
	return m.published(number)
}

// serveHTTPS answers the requests that come over one connection, until it ends.
func serveHTTPS(conn net.Conn, config *tls.Config, handler http.HandlerFunc) {
	serveHTTP(tls.Server(conn, config), handler)
}

func serveHTTP(conn net.Conn, handler http.HandlerFunc) {
	listener := &oneConn{conn: conn, ended: make(chan struct{})}
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: time.Minute,
		ErrorLog:          log.New(io.Discard, "", 0), // clients that do not trust the certificate are no fault of ours
		ConnState: func(_ net.Conn, s http.ConnState) {
			if s == http.StateClosed || s == http.StateHijacked {
				_ = listener.Close()
			}
		},
	}
	_ = server.Serve(listener)
}

// oneConn is a listener that accepts one connection and ends with it.
type oneConn struct {
	conn  net.Conn
	once  sync.Once
	ended chan struct{}
	taken bool
}

func (l *oneConn) Accept() (net.Conn, error) {
	if !l.taken {
		l.taken = true
		return l.conn, nil
	}
	<-l.ended
	return nil, net.ErrClosed
}

func (l *oneConn) Close() error {
	l.once.Do(func() { close(l.ended) })
	return nil
}

func (l *oneConn) Addr() net.Addr { return l.conn.LocalAddr() }
