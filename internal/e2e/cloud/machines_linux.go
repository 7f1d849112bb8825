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

// Machines runs a real host for every server that is ACTIVE, at the address of the server and with a new disk. The host ends
// when the server is deleted.
type Machines struct {
	cloud *Cloud
	hosts Hosts
	stop  context.CancelFunc
	done  chan error
	have  map[string]netip.Addr // by the id of the server; the host has the same id
}

// Hosts creates and ends the hosts of Machines.
type Hosts interface {
	vminfra.Cloud
	// Kill ends all processes of a machine with SIGKILL. Its address stays taken until it is deleted.
	Kill(id string) error
}

// Boot begins to run hosts for servers. The VDU of a host is the first word of the server's name. The caller closes the
// Machines.
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

// server holds the attributes of a server in Nova.
type server struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Status    string `json:"status"`
	Addresses map[string][]struct {
		Addr netip.Addr `json:"addr"`
	} `json:"addresses"`
}

// follow ends the hosts of deleted servers and creates hosts for new servers.
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
		// Heat builds the replacement of a server while it deletes the server: both have the port for a moment.
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
			ok = false // the replaced server still exists
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

// address returns the first address on the first network.
func (s server) address() (netip.Addr, bool) {
	for _, network := range slices.Sorted(maps.Keys(s.Addresses)) {
		if list := s.Addresses[network]; len(list) > 0 {
			return list[0].Addr, true
		}
	}
	return netip.Addr{}, false
}

// Kill ends all processes on the machine of a server. Nova does not notice it.
func (m *Machines) Kill(server string) error { return m.hosts.Kill(server) }

// Close stops following the servers. It does not end the hosts: the Hosts do.
func (m *Machines) Close() error {
	m.stop()
	return <-m.done
}
