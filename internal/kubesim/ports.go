package kubesim

import (
	"context"
	"fmt"
	"net"
	"net/netip"
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
		p, known := ports[number]
		if !known || !p.listens(w, m) {
			return nil, fmt.Errorf("dial tcp %s: connect: connection refused", addr)
		}
		near, far := net.Pipe()
		go p.serve(w, m.ID, far)
		return near, nil
	}
}
