package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/internal/e2e/vminfra"
)

// Machines is a vminfra.Cloud of machines for Kubernetes.
type Machines struct {
	Network *vmhost.Network
	Spec    vmhost.Spec // for all machines
	// Change, if set, changes the Spec of a single machine.
	Change func(vminfra.Machine, *vmhost.Spec)

	mu     sync.Mutex
	next   []netip.Addr
	made   map[string]machine // by resource id
	serial int
}

type machine struct {
	vminfra.Machine
	host *vmhost.Host
	dead bool
}

var _ vminfra.Cloud = (*Machines)(nil)

// Create implements vminfra.Cloud.
func (c *Machines) Create(ctx context.Context, m vminfra.Machine) error {
	return c.create(ctx, m, "")
}

// create creates a machine, or starts one again whose files were saved to a directory.
func (c *Machines) create(ctx context.Context, m vminfra.Machine, saved string) error {
	m.ID = cmp.Or(m.ID, uuid.NewString())
	spec := c.Spec
	spec.Name, spec.Address = strings.ToLower(m.Name), m.Address
	c.mu.Lock()
	if !m.Address.IsValid() && len(c.next) > 0 {
		spec.Address, c.next = c.next[0], c.next[1:]
	}
	c.mu.Unlock()
	if c.Change != nil {
		c.Change(m, &spec)
	}
	spec.Saved = saved
	host, err := c.Network.Create(ctx, spec)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.serial++
	m.Address, m.Serial = host.Address, c.serial
	if c.made == nil {
		c.made = map[string]machine{}
	}
	c.made[m.ID] = machine{Machine: m, host: host}
	return nil
}

// Next sets the addresses of the next new machines. The addresses must be free.
func (c *Machines) Next(addresses ...netip.Addr) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next = addresses
}

// Delete implements vminfra.Cloud.
func (c *Machines) Delete(_ context.Context, id string) error {
	c.mu.Lock()
	m, there := c.made[id]
	delete(c.made, id)
	c.mu.Unlock()
	if !there {
		return nil
	}
	return m.host.Close()
}

// Machines implements vminfra.Cloud.
func (c *Machines) Machines(_ context.Context, instance string) ([]vminfra.Machine, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []vminfra.Machine
	for _, m := range c.made {
		if m.Instance == instance {
			out = append(out, m.Machine)
		}
	}
	slices.SortFunc(out, func(a, b vminfra.Machine) int { return a.Serial - b.Serial })
	return out, nil
}

// Host returns the host of a machine, or nil.
func (c *Machines) Host(id string) *vmhost.Host {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.made[id].host
}

// Kill ends all processes of a machine with SIGKILL, like a power cut. Its address stays reserved until the machine is
// deleted.
func (c *Machines) Kill(id string) error {
	c.mu.Lock()
	m, there := c.made[id]
	m.dead = true
	if there {
		c.made[id] = m
	}
	c.mu.Unlock()
	if !there {
		return fmt.Errorf("kube: no machine %s", id)
	}
	return m.host.Kill()
}

// Dead reports whether a machine was killed.
func (c *Machines) Dead(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.made[id].dead
}

// Close ends all machines.
func (c *Machines) Close() error {
	c.mu.Lock()
	ids := make([]string, 0, len(c.made))
	for id := range c.made {
		ids = append(ids, id)
	}
	c.mu.Unlock()
	var errs []error
	for _, id := range ids {
		errs = append(errs, c.Delete(context.Background(), id))
	}
	return errors.Join(errs...)
}
