package kubesim

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"

	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/internal/kubesim/balancer"
)

// haproxyState is the configuration that haproxy has loaded, which may differ from its file.
type haproxyState struct {
	Config string `json:"config,omitempty"`
	PID    int    `json:"pid,omitempty"` // of its worker
	Turn   int    `json:"-"`             // counts connections
}

// start replaces haproxy's worker by one that serves a configuration.
func (h *haproxyState) start(config string) {
	h.Config = config
	h.PID = max(h.PID, firstWorker-1) + 1
}

// firstWorker is above what other processes of a machine have.
const firstWorker = 100

// led are connections from a load balancer to a server.
type led struct {
	balancer string // machine
	pid      int    // of the worker that has taken them
	to       string // host:port
}

// startBalancer makes haproxy load its configuration. If a reload finds a port in use, systemctl reports success, but
// the old worker continues; a start fails.
func (c *call) startBalancer(m *machine, reload bool) error {
	text, err := afero.ReadFile(c.FS, configOf["haproxy"])
	if err != nil {
		return err
	}
	file, err := balancer.Parse(string(text))
	if err != nil {
		return err
	}
	if err := c.w.bindable(m, file); err != nil {
		if reload {
			return nil
		}
		return fmt.Errorf("Job for haproxy.service failed because the control process exited with error code: %w", err)
	}
	m.Services["haproxy"] = true
	m.Haproxy.start(string(text))
	return nil
}

// bindable reports ports that some other program has.
func (w *World) bindable(m *machine, file *balancer.File) error {
	for _, f := range file.Frontends {
		for _, b := range f.Binds {
			n, _ := strconv.Atoi(b.Port)
			if k, _ := m.published(b.Port); k != nil || b.Port == "22" || slices.Contains(m.Taken, n) || b.Port == "6443" && w.hasAPI(m) {
				return fmt.Errorf("[ALERT] (1) : Binding [haproxy.cfg] for frontend %s: cannot bind socket (Address already in use) [%s:%s]", f.Name, b.Host, b.Port)
			}
			if ip, err := netip.ParseAddr(b.Host); err == nil && ip.Is6() {
				return fmt.Errorf("[ALERT] (1) : Binding [haproxy.cfg] for frontend %s: cannot create receiving socket (Address family not supported by protocol) [%s:%s]", f.Name, b.Host, b.Port)
			}
		}
	}
	return nil
}

// balancing is what haproxy does on a machine, nil when it does not run.
func (m *machine) balancing() *balancer.File {
	if !m.runs("haproxy") || m.Haproxy.Config == "" {
		return nil
	}
	file, err := balancer.Parse(m.Haproxy.Config)
	if err != nil {
		return nil
	}
	return file
}

// frontendAt is what haproxy serves at a port for other machines.
func (w *World) frontendAt(m *machine, number string) *balancer.Frontend {
	file := m.balancing()
	if file == nil {
		return nil
	}
	for _, f := range file.Frontends {
		for _, b := range f.Binds {
			if ip, err := netip.ParseAddr(b.Host); b.Port == number && (err != nil || !ip.IsLoopback()) {
				return f
			}
		}
	}
	return nil
}

// live are the servers of a port of haproxy that its checks find alive.
func (w *World) live(m *machine, number string) (out []balancer.Server) {
	f := w.frontendAt(m, number)
	if f == nil || f.Backend == "" {
		return nil
	}
	b := m.balancing().Backends[f.Backend]
	for _, s := range b.Servers {
		to, toward := w.serverOf(s)
		if to == nil {
			continue
		}
		if w.portOf(to, toward) != nil && (!b.API || w.hasAPI(to) && w.quorate(w.state.Clusters[to.Cluster])) {
			out = append(out, s)
		}
	}
	return out
}

// serverOf is the machine of a server, nil when it does not answer.
func (w *World) serverOf(s balancer.Server) (*machine, string) {
	host, number, _ := net.SplitHostPort(s.Addr)
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return nil, ""
	}
	m := w.byAddress(addr)
	if m == nil || m.Down {
		return nil, ""
	}
	return m, number
}

// apiAt is the machine whose API server answers at a port of a machine: it itself, or one that haproxy leads to.
func (w *World) apiAt(m *machine, number string) *machine {
	if number == "6443" && w.hasAPI(m) {
		return m
	}
	for _, s := range w.live(m, number) {
		if to, toward := w.serverOf(s); toward == "6443" && w.hasAPI(to) {
			return to
		}
	}
	return nil
}

// serveFrontend leads a connection to the next server that is alive.
func (w *World) serveFrontend(id, number string, conn net.Conn) {
	to, serve, done, err := w.lead(id, number)
	if err != nil {
		_ = conn.Close()
		return
	}
	defer done()
	serve(to, conn)
}

func (w *World) lead(id, number string) (to string, serve port, done func(), err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.state.Machines[id]
	if m == nil {
		return "", nil, nil, errors.New("the machine is gone")
	}
	alive := w.live(m, number)
	if len(alive) == 0 {
		return "", nil, nil, errors.New("no server is available to handle this request")
	}
	m.Haproxy.Turn++
	s := alive[m.Haproxy.Turn%len(alive)]
	backend, toward := w.serverOf(s)
	serve = w.portOf(backend, toward)
	key := led{id, m.Haproxy.PID, s.Addr}
	w.led[key]++
	return backend.ID, serve, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.led[key]--; w.led[key] == 0 {
			delete(w.led, key)
		}
	}, nil
}
