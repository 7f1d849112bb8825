package cloud

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/internal/e2e/vminfra"
)

// Machines keeps a real host for every server that is ACTIVE, at its address and with a fresh disk, until the
// server is gone.
type Machines struct {
	cloud *Cloud
	hosts *vminfra.Hosts
	stop  context.CancelFunc
	done  chan error
	have  map[string]vminfra.Machine // by the id of the server
}

// Boot begins to keep machines. Close them.
func (c *Cloud) Boot(ctx context.Context, hosts *vminfra.Hosts) *Machines {
	ctx, stop := context.WithCancel(ctx)
	m := &Machines{cloud: c, hosts: hosts, stop: stop, done: make(chan error, 1), have: map[string]vminfra.Machine{}}
	go func() { m.done <- m.run(ctx) }()
	return m
}

func (m *Machines) run(ctx context.Context) error {
	var errs []error
	for ctx.Err() == nil {
		if err := m.follow(ctx); err != nil && ctx.Err() == nil {
			errs = append(errs, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
	return errors.Join(errs...)
}

// server is what Nova says of one.
type server struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Status    string `json:"status"`
	Addresses map[string][]struct {
		Addr netip.Addr `json:"addr"`
	} `json:"addresses"`
}

// follow ends the hosts of servers that are gone, and makes hosts for new ones.
func (m *Machines) follow(ctx context.Context) error {
	var body struct {
		Servers []server `json:"servers"`
	}
	if err := call(ctx, m.cloud.Compute, http.MethodGet, nil, &body, "servers", "detail"); err != nil {
		return nil //nolint:nilerr // Nova may be away: it is asked again
	}
	var errs []error
	for id, h := range maps.Clone(m.have) {
		i := slices.IndexFunc(body.Servers, func(s server) bool { return s.ID == id })
		// A server that is replaced is deleted while the new one is built: both have the port for a moment.
		if i < 0 || body.Servers[i].Status == "DELETED" {
			errs = append(errs, m.hosts.Delete(ctx, h.ID))
			delete(m.have, id)
		}
	}
	for _, s := range body.Servers {
		if _, known := m.have[s.ID]; known || s.Status != "ACTIVE" {
			continue
		}
		errs = append(errs, m.boot(ctx, s))
	}
	return errors.Join(errs...)
}

func (m *Machines) boot(ctx context.Context, s server) error {
	addr, ok := s.address()
	for _, other := range m.have {
		if other.Address == addr {
			ok = false // its predecessor is still there
		}
	}
	if !ok {
		return nil
	}
	// Names of servers are longer than those of hosts can be.
	vdu, _, _ := strings.Cut(strings.ToLower(s.Name), "-")
	if err := m.hosts.Create(ctx, vminfra.Machine{VNFC: s.ID, Name: vdu + "-" + s.ID[:8], Address: addr}); err != nil {
		return err
	}
	made, err := m.hosts.Machines(ctx, "")
	for _, h := range made {
		if h.VNFC == s.ID {
			m.have[s.ID] = h
		}
	}
	return err
}

// address is the first address on the first network.
func (s server) address() (netip.Addr, bool) {
	for _, network := range slices.Sorted(maps.Keys(s.Addresses)) {
		if list := s.Addresses[network]; len(list) > 0 {
			return list[0].Addr, true
		}
	}
	return netip.Addr{}, false
}

// Kill ends all processes on the machine of a server, which Nova does not notice.
func (m *Machines) Kill(ctx context.Context, server string) error {
	list, err := m.hosts.Machines(ctx, "")
	for _, h := range list {
		if h.VNFC == server {
			return m.hosts.Kill(h.ID)
		}
	}
	return errors.Join(err, errors.New("there is no machine of server "+server))
}

// Close stops following the servers. The hosts are ended with their Hosts.
func (m *Machines) Close() error {
	m.stop()
	return <-m.done
}
