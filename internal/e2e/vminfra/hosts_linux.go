package vminfra

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"
	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/internal/e2e/programs"
	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/internal/kubesim"
)

// Hosts is a Cloud of real hosts. A simulation answers the programs of the nodes.
type Hosts struct {
	Network  *vmhost.Network
	Programs *programs.Server
	Kube     *kubesim.World
	Spec     vmhost.Spec // what all hosts have in common
	Observe  func(programs.Record)

	mu       sync.Mutex
	machines map[string]*running // by resource id
	serial   int
}

type running struct {
	Machine
	host  *vmhost.Host
	stops []func() // stop the services at the ports of the machine
}

// end stops the services at the ports of the machine.
func (m *running) end() {
	for _, stop := range m.stops {
		stop()
	}
	m.stops = nil
}

var _ Cloud = (*Hosts)(nil)

// real lists programs for which the hosts use the real program.
var real = []string{"ip"}

// Create implements Cloud.
func (c *Hosts) Create(ctx context.Context, m Machine) error {
	m.ID = cmp.Or(m.ID, uuid.NewString())
	spec := c.Spec
	spec.Name, spec.Address, spec.Off = strings.ToLower(m.Name), m.Address, true
	host, err := c.Network.Create(ctx, spec)
	if err != nil {
		return err
	}
	m.Address = host.Address
	commands := c.Kube.Attach(m.ID, host.Address, spec.Name, host.FS)
	for _, name := range real {
		delete(commands, name)
	}
	c.Programs.Attach(host.Address, programs.Machine{Name: spec.Name, User: spec.User, Commands: commands,
		Files: host.FS(), Observe: c.Observe})
	vm := &running{host: host}
	if err := c.listen(ctx, m.ID, vm); err != nil {
		vm.end()
		c.Programs.Detach(m.Address)
		c.Kube.Remove(m.ID)
		return errors.Join(err, host.Close())
	}
	c.mu.Lock()
	c.serial++
	m.Serial = c.serial
	if c.machines == nil {
		c.machines = map[string]*running{}
	}
	vm.Machine = m
	c.machines[m.ID] = vm
	c.mu.Unlock()
	return host.Boot()
}

// listen starts the simulated services at the ports of the machine.
func (c *Hosts) listen(ctx context.Context, id string, m *running) error {
	for _, port := range kubesim.Ports() {
		l, err := m.host.Listen(ctx, "tcp", ":"+port)
		if err != nil {
			return err
		}
		m.stops = append(m.stops, c.Kube.Serve(id, port, l))
	}
	return nil
}

// Delete implements Cloud.
func (c *Hosts) Delete(_ context.Context, id string) error {
	c.mu.Lock()
	m := c.machines[id]
	delete(c.machines, id)
	c.mu.Unlock()
	if m == nil {
		return nil
	}
	c.Programs.Detach(m.Address)
	c.Kube.Remove(id)
	m.end()
	return m.host.Close()
}

// Machines implements Cloud.
func (c *Hosts) Machines(_ context.Context, instance string) ([]Machine, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []Machine
	for _, m := range c.machines {
		if m.Instance == instance {
			out = append(out, m.Machine)
		}
	}
	slices.SortFunc(out, func(a, b Machine) int { return a.Serial - b.Serial })
	return out, nil
}

// Kill ends all processes of a machine with SIGKILL. The machine stays in the list until it is deleted.
func (c *Hosts) Kill(id string) error {
	m := c.machine(id)
	if m == nil {
		return fmt.Errorf("vminfra: no machine %s", id)
	}
	c.Programs.Detach(m.Address)
	c.Kube.SetDown(id, true)
	m.end()
	return m.host.Kill()
}

// Host returns the host of a machine, or nil.
func (c *Hosts) Host(id string) *vmhost.Host {
	if m := c.machine(id); m != nil {
		return m.host
	}
	return nil
}

func (c *Hosts) machine(id string) *running {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.machines[id]
}

// IDs returns the resource ids of all machines.
func (c *Hosts) IDs() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for id := range c.machines {
		out = append(out, id)
	}
	return out
}

// Close ends all machines.
func (c *Hosts) Close() error {
	var errs []error
	for _, id := range c.IDs() {
		errs = append(errs, c.Delete(context.Background(), id))
	}
	return errors.Join(errs...)
}

// Names returns the names of the programs that need a stand-in.
func Names() []string {
	var out []string
	for name := range kubesim.NewWorld(kubesim.Options{}).Attach("", vmhost.Spec{}.Address, "", func() afero.Fs { return nil }) {
		if !slices.Contains(real, name) {
			out = append(out, name)
		}
	}
	return out
}
