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
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/internal/memconn"
)

// port answers a connection to a port of a machine, until it ends. It is nil where nothing listens.
type port func(machine string, conn net.Conn)

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
		if m == nil && w.isRegistry(addr) {
			near, far := memconn.Pair(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, &net.TCPAddr{IP: ip.AsSlice()})
			return near, far.Close() // what runtimes send to it is simulated by package pull
		}
		if m == nil || m.Down || w.drops(m, number) {
			return nil, fmt.Errorf("dial tcp %s: i/o timeout", addr)
		}
		serve := w.portOf(m, number)
		if serve == nil {
			return nil, fmt.Errorf("dial tcp %s: %w", addr, os.NewSyscallError("connect", syscall.ECONNREFUSED))
		}
		// Unlike a net.Pipe the connection holds what either side has written, so that a client which refuses a certificate
		// does not wait for a server that still writes.
		near, far := memconn.Pair(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, &net.TCPAddr{IP: ip.AsSlice()})
		go serve(m.ID, far)
		return near, nil
	}
}

// Drops is where a test writes the ports, one on a line, to which a packet filter of the machine lets no packets through.
const Drops = "/etc/kubesim/drop"

func (w *World) drops(m *machine, number string) bool {
	files := w.files[m.ID]
	if files == nil {
		return false
	}
	text, err := afero.ReadFile(files(), Drops)
	return err == nil && slices.Contains(strings.Fields(string(text)), number)
}

// isRegistry reports whether a private registry of the Options is at an address.
func (w *World) isRegistry(addr string) bool {
	return slices.ContainsFunc(w.registries, func(r Registry) bool { return r.Address.String() == addr })
}

// portOf is what listens at a port of a machine now.
func (w *World) portOf(m *machine, number string) port {
	switch {
	case number == apiPort && w.hasAPI(m):
		return w.serveAPI
	case number == etcdPort && w.hasEtcd(m):
		return w.serveEtcd
	case w.frontendAt(m, number) != nil:
		return func(id string, conn net.Conn) { w.serveFrontend(id, number, conn) }
	}
	if pod := w.nodePort(m, number); pod != nil {
		return pod
	}
	if k, inside := m.published(number); k != nil {
		return func(id string, conn net.Conn) { w.serveRegistry(id, k.ID, inside, conn) }
	}
	return nil
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
