package infratest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// machine is one of a cloud.
type machine struct{ id, instance, vnfc, vdu, link string }

// cloud is a VIM in memory with a machine and a volume that no VNF owns.
type cloud struct {
	mu       sync.Mutex
	serial   int
	machines []machine
	volumes  []string
	before   func() error
	ready    chan struct{} // closed when the VIM finishes its changes; nil: at once
	pending  bool          // a change is not finished
}

// change makes a change, unless the test refuses it.
func (c *cloud) change(do func()) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.before != nil {
		if err := c.before(); err != nil {
			return err
		}
	}
	do()
	c.pending = c.ready != nil
	return nil
}

// stall keeps changes unfinished, or finishes them.
func (c *cloud) stall(stalled bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ready != nil {
		close(c.ready)
		c.ready, c.pending = nil, false
	}
	if stalled {
		c.ready = make(chan struct{})
	}
}

// await waits until the changes are finished.
func (c *cloud) await(ctx context.Context) error {
	c.mu.Lock()
	ready, pending := c.ready, c.pending
	c.mu.Unlock()
	if !pending {
		return nil
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-ready:
		return nil
	}
}

func (c *cloud) create(m machine) error {
	return c.change(func() {
		c.serial++
		m.id = fmt.Sprintf("vm-%d", c.serial)
		c.machines = append(c.machines, m)
	})
}

func (c *cloud) remove(matches func(machine) bool) error {
	return c.change(func() { c.machines = slices.DeleteFunc(c.machines, matches) })
}

func (c *cloud) list() []machine {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.machines)
}

// driver is an InfraDriver with at most one bug.
type driver struct {
	*cloud
	bug    string
	memory []machine // machines that this process has made
	plans  atomic.Int32
}

func (d *driver) of(instance string) []machine {
	list := slices.DeleteFunc(d.list(), func(m machine) bool { return m.instance != instance })
	slices.SortFunc(list, func(a, b machine) int { return strings.Compare(a.vnfc, b.vnfc) })
	return list
}

func (d *driver) Plan(_ context.Context, op *vnflcm.Operation) (vnflcm.Change, error) {
	d.plans.Add(1)
	switch {
	case d.bug == "Plan announces nothing":
		return vnflcm.Change{}, nil
	case d.bug == "Plan announces another VDU":
		return vnflcm.Change{Added: []vnflcm.VNFC{{VDU: "sever"}}}, nil
	case d.bug == "Plan changes the VIM":
		_ = d.change(func() { d.volumes = append(d.volumes, "of a plan") })
	case d.bug == "Plan removes a VNFC of others" && op.Kind == vnflcm.OpTerminate:
		return vnflcm.Change{Removed: append(slices.Clone(op.VNFCs), vnflcm.VNFC{ID: "other", VDU: "server"})}, nil
	case d.bug == "Plan heals nothing" && op.Heal != nil:
		return vnflcm.Change{}, nil
	case op.Heal != nil:
		return vnflcm.Change{Replaced: op.HealTargets()}, nil
	case op.Terminate != nil:
		return vnflcm.Change{Removed: op.VNFCs}, nil
	}
	want, err := op.Instances()
	var c vnflcm.Change
	for n := len(op.VNFCs); n < want["server"]; n++ {
		c.Added = append(c.Added, vnflcm.VNFC{ID: fmt.Sprint(op.InstanceID, "-", n), VDU: "server"})
	}
	if d.bug == "Plan is another each time" {
		c.Added = append(c.Added, make([]vnflcm.VNFC, d.plans.Load()%2)...)
		for i := range c.Added {
			c.Added[i].VDU = "server"
		}
	}
	c.Removed = op.VNFCs[min(want["server"], len(op.VNFCs)):]
	return c, err
}

// step runs a step. Drivers without the context run it nevertheless.
func (d *driver) step(ctx context.Context, op *vnflcm.Operation, name, on string, do func() error) error {
	switch d.bug {
	case "no steps":
		return do()
	case "steps without a context":
		ctx = context.WithoutCancel(ctx)
	}
	op.Declare(on)
	err := vnflcm.Do(ctx, op, name, on, func(ctx context.Context) error {
		if d.bug == "the wait ignores the context" {
			ctx = context.WithoutCancel(ctx)
		}
		return errors.Join(do(), d.await(ctx))
	})
	switch d.bug {
	case "errors of steps are dropped":
		return nil
	case "the cause is dropped":
		if err != nil {
			return errors.New("it took too long")
		}
	}
	return err
}

func (d *driver) Instantiate(ctx context.Context, op *vnflcm.Operation) error {
	want, err := op.Instances()
	for n := 0; n < want["server"] && err == nil; n++ {
		m := machine{instance: op.InstanceID, vnfc: fmt.Sprint(op.InstanceID, "-", n), vdu: "server"}
		err = d.step(ctx, op, "create", m.vnfc, func() error {
			found := slices.ContainsFunc(d.list(), func(o machine) bool { return o.vnfc == m.vnfc })
			if d.bug == "the memory of the process" {
				found = d.remembers(m)
			}
			if found && d.bug != "creates without a look" {
				return nil
			}
			d.remember(m)
			return errors.Join(d.create(m), d.more(op))
		})
	}
	return err
}

func (d *driver) remember(m machine) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.memory = append(d.memory, m)
}

func (d *driver) remembers(m machine) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.ContainsFunc(d.memory, func(o machine) bool { return o.vnfc == m.vnfc })
}

// more makes what Resources does not report, or Terminate does not remove.
func (d *driver) more(op *vnflcm.Operation) error {
	switch d.bug {
	case "leaves volumes":
		return d.change(func() { d.volumes = append(d.volumes, op.InstanceID) })
	case "a machine is not reported":
		return d.create(machine{instance: op.InstanceID})
	}
	return nil
}

func (d *driver) Scale(ctx context.Context, op *vnflcm.Operation) error {
	if op.Scale.Type == vnflcm.ScaleOut {
		return d.Instantiate(ctx, op)
	}
	removed := op.Change.Removed
	if d.bug == "removes the oldest" {
		removed = op.VNFCs[:len(removed)]
	}
	for _, v := range removed {
		err := d.step(ctx, op, "delete", v.ID, func() error {
			return d.remove(func(m machine) bool {
				return m.vnfc == v.ID || d.bug == "removes by number" && number(m.vnfc) == number(v.ID)
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// number is the end of the id of a VNFC, which the VNFCs of several VNFs have.
func number(vnfc string) string { return vnfc[strings.LastIndex(vnfc, "-")+1:] }

func (d *driver) Heal(ctx context.Context, op *vnflcm.Operation) error {
	targets := op.Change.Replaced
	switch d.bug {
	case "Heal does nothing":
		return nil
	case "Heal replaces all":
		targets = op.VNFCs
	}
	for _, v := range targets {
		if err := d.step(ctx, op, "replace", v.ID, func() error { return d.replace(op, v) }); err != nil {
			return err
		}
	}
	return nil
}

func (d *driver) replace(op *vnflcm.Operation, v vnflcm.VNFC) error {
	now := d.of(op.InstanceID)
	i := slices.IndexFunc(now, func(m machine) bool { return m.vnfc == v.ID })
	if i < 0 && d.bug == "a half heal is forgotten" {
		return nil
	}
	if i >= 0 && now[i].id != v.ResourceID && d.bug != "heals again" {
		return nil
	}
	id := v.ID
	if d.bug == "Heal changes ids" {
		id += "+"
	}
	err := d.remove(func(m machine) bool { return m.vnfc == v.ID })
	return errors.Join(err, d.create(machine{instance: op.InstanceID, vnfc: id, vdu: v.VDU}))
}

func (d *driver) ChangeExtConn(ctx context.Context, op *vnflcm.Operation) error {
	return d.step(ctx, op, "connect", "", func() error {
		return d.change(func() {
			for i, m := range d.machines {
				if m.instance == op.InstanceID {
					d.machines[i].link = op.Connectivity[0].ResourceID
					if d.bug == "a change of links replaces" {
						d.machines[i].id += "+"
					}
				}
			}
		})
	})
}

func (d *driver) Terminate(ctx context.Context, op *vnflcm.Operation) error {
	return d.step(ctx, op, "delete-all", "", func() error {
		if d.bug == "leaves a machine" {
			return d.remove(func(m machine) bool { return m.instance == op.InstanceID && strings.HasSuffix(m.vnfc, "-0") })
		}
		return d.remove(func(m machine) bool { return m.instance == op.InstanceID || d.bug == "removes machines of others" })
	})
}

func (d *driver) Resources(_ context.Context, op *vnflcm.Operation) (r vnflcm.Resources, err error) {
	d.plans.Add(1)
	for _, m := range d.of(op.InstanceID) {
		if m.vdu == "" {
			continue
		}
		v := vnflcm.VNFC{ID: m.vnfc, ResourceID: m.id, VDU: m.vdu}
		switch d.bug {
		case "Resources reports nothing":
			continue
		case "no ResourceID":
			v.ResourceID = ""
		case "long ids":
			v.ID = strings.Repeat("x", 300) + v.ID
		case "Resources is another each time":
			v.ResourceID = fmt.Sprint(v.ResourceID, "-", d.plans.Load())
		case "a misspelt connection point":
			v.CPs = []vnflcm.ConnectionPoint{{CPD: "sever_CP"}}
		case "one id":
			v.ID = "server"
		}
		r.VNFCs = append(r.VNFCs, v)
	}
	return r, nil
}

// setup are the tests of a driver with a bug.
func setup(bug string) Setup {
	return Setup{Links: []vnflcm.ExtVirtualLinkData{{ID: "b", ResourceID: "net-b", ExtCps: []vnflcm.VnfExtCpData{{CpdID: "server_CP"}}}},
		Open: func(testing.TB) World {
			c := &cloud{machines: []machine{{id: "foreign"}}, volumes: []string{"foreign"}}
			return World{VIM: vnflcm.VimConnectionInfo{VimType: "memory"}, Driver: func() vnflcm.InfraDriver { return &driver{cloud: c, bug: bug} },
				Machines: func(context.Context) (out []string, err error) {
					for _, m := range c.list() {
						out = append(out, m.id)
					}
					return out, nil
				},
				Others: func(context.Context) ([]string, error) {
					c.mu.Lock()
					defer c.mu.Unlock()
					return slices.Clone(c.volumes), nil
				},
				Stall: c.stall,
				OnChange: func(before func() error) {
					c.mu.Lock()
					defer c.mu.Unlock()
					c.before = before
				}}
		}}
}
