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
	hosts Hosts
	stop  context.CancelFunc
	done  chan error
	have  map[string]netip.Addr // by the id of the server, which is that of the host too
}

// Hosts makes the hosts.
type Hosts interface {
	vminfra.Cloud
	// Kill ends all processes of a machine with SIGKILL. Its address stays taken until it is deleted.
	Kill(id string) error
}

// Boot begins to keep machines. Their VDU is the first word of the server's name. Close them.
func (c *Cloud) Boot(ctx context.Context, hosts Hosts) *Machines {
	ctx, stop := context.WithCancel(ctx)
	m := &Machines{cloud: c, hosts: hosts, stop: stop, done: make(chan error, 1), have: map[string]netip.Addr{}}
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
	for id := range maps.Clone(m.have) {
		i := slices.IndexFunc(body.Servers, func(s server) bool { return s.ID == id })
		// A server that is replaced is deleted while the new one is built: both have the port for a moment.
		if i < 0 || body.Servers[i].Status == "DELETED" {
			errs = append(errs, m.hosts.Delete(ctx, id))
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
		if other == addr {
			ok = false // its predecessor is still there
		}
	}
	if !ok {
		return nil
	}
	// Names of servers are longer than those of hosts can be.
	vdu, _, _ := strings.Cut(strings.ToLower(s.Name), "-")
	if err := m.hosts.Create(ctx, vminfra.Machine{ID: s.ID, VDU: vdu, Name: vdu + "-" + s.ID[:8], Address: addr}); err != nil {
		return err
	}
	m.have[s.ID] = addr
	return nil
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
func (m *Machines) Kill(server string) error { return m.hosts.Kill(server) }

// Close stops following the servers. The hosts are ended with their Hosts.
func (m *Machines) Close() error {
	m.stop()
	return <-m.done
}
