package vnflcm_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
)

var errCut = errors.New("cut off")

// world are the resources that outlive a Manager: the machines of a cloud and the nodes of the clusters on them.
type world struct {
	mu       sync.Mutex
	machines map[string][]vnflcm.VNFC     // by instance, the oldest first
	nodes    map[string]map[string]string // by instance and VNFC: the resource of the node
	token    map[string]int               // by instance: number of times that the cluster was set up
	links    map[string][]vnflcm.ExtVirtualLinkData
	off      map[string][]string // by instance: the VNFCs that are off, in the order in which they were stopped
	defined  map[string]string   // by instance: the VNFD of the definition that a change of the package has left
	done     map[string]int      // by phase/name/on: number of times that Do finished

	// Tests set the following fields.
	sick  map[string]string                          // by VNFC: why it is unhealthy after the change of its package
	dead  func() bool                                // reports whether the connections of the process are cut
	after func(ctx context.Context, at string) error // called at the end of every Do, after it has changed the world
	fail  map[string]error                           // by phase/name/on: error that Do returns without doing anything
}

func newWorld() *world {
	return &world{machines: map[string][]vnflcm.VNFC{}, nodes: map[string]map[string]string{}, token: map[string]int{},
		links: map[string][]vnflcm.ExtVirtualLinkData{}, off: map[string][]string{}, done: map[string]int{}, fail: map[string]error{}, defined: map[string]string{}, sick: map[string]string{}}
}

// state is the part of the world with one instance, for comparisons.
type state struct {
	Machines []vnflcm.VNFC
	Nodes    map[string]string
	Token    int
	Links    []vnflcm.ExtVirtualLinkData
	Off      []string
	Defined  string
}

func (w *world) state(instanceID string) state {
	w.mu.Lock()
	defer w.mu.Unlock()
	return state{slices.Clone(w.machines[instanceID]), maps.Clone(w.nodes[instanceID]), w.token[instanceID], w.links[instanceID], slices.Clone(w.off[instanceID]), w.defined[instanceID]}
}

func at(op *vnflcm.Operation, name, on string) string { return op.Phase() + "/" + name + "/" + on }

// step runs a journaled step. look reports whether the step is done already; it is nil if do can simply be repeated.
func (w *world) step(ctx context.Context, op *vnflcm.Operation, name, on string, look func() bool, do func()) error {
	s := vnflcm.Step[string]{Name: name, On: on, Do: func(ctx context.Context) (string, error) {
		key := at(op, name, on)
		if err := w.change(key, do); err != nil {
			return "", err
		}
		if w.after != nil {
			if err := w.after(ctx, key); err != nil {
				return "", err
			}
		}
		return key, nil
	}}
	if look != nil {
		s.Probe = func(context.Context) (string, bool, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			return at(op, name, on), look(), nil
		}
	}
	_, err := vnflcm.Run(ctx, op, s)
	return err
}

func (w *world) change(key string, do func()) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dead != nil && w.dead() {
		return errCut
	}
	if err := w.fail[key]; err != nil {
		return err
	}
	do()
	w.done[key]++
	return nil
}

func (w *world) failAt(key string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fail[key] = err
}

// cloud is a toy InfraDriver.
type cloud struct {
	*world
	planFault error // error of Plan for every request

	adoptedLevels map[string]int // levels that Adopt returns
	podUID        string         // uid of each VNFC that Adopt returns, "" for machines
	owned         []string       // what an adoption returns as Adopted.Owned
}

// FollowsGrants implements vnflcm.GrantFollower.
func (*cloud) FollowsGrants() []vnflcm.GrantDecision {
	return []vnflcm.GrantDecision{vnflcm.GrantedZone, vnflcm.GrantedParams}
}

func (c *cloud) Plan(_ context.Context, op *vnflcm.Operation) (vnflcm.Change, error) {
	var change vnflcm.Change
	switch {
	case op.Heal != nil:
		change.Replaced = op.HealTargets()
	case op.Terminate != nil:
		change.Removed = op.VNFCs
	default:
		change = difference(op.VNFCs, op)
	}
	return change, c.planFault
}

// difference returns the VNFCs to add and, the newest first, the VNFCs to remove.
func difference(now []vnflcm.VNFC, op *vnflcm.Operation) (change vnflcm.Change) {
	want, _ := op.Instances()
	have := map[string]int{}
	for _, v := range now {
		if have[v.VDU]++; have[v.VDU] > want[v.VDU] {
			change.Removed = append([]vnflcm.VNFC{v}, change.Removed...)
		}
	}
	for _, vdu := range slices.Sorted(maps.Keys(want)) {
		for range want[vdu] - have[vdu] {
			change.Added = append(change.Added, vnflcm.VNFC{VDU: vdu})
		}
	}
	return change
}

func (c *cloud) find(instance, id string) (vnflcm.VNFC, bool) {
	i := slices.IndexFunc(c.machines[instance], func(v vnflcm.VNFC) bool { return v.ID == id })
	if i < 0 {
		return vnflcm.VNFC{}, false
	}
	return c.machines[instance][i], true
}

func (c *cloud) Instantiate(ctx context.Context, op *vnflcm.Operation) error {
	want, err := op.Instances()
	if err != nil {
		return err
	}
	for _, vdu := range slices.Sorted(maps.Keys(want)) {
		for i := range want[vdu] {
			v := vnflcm.VNFC{ID: fmt.Sprintf("%s-%d", vdu, i), VDU: vdu, Name: fmt.Sprintf("%s%d", vdu, i)}
			v.ResourceID = "vm-" + v.ID + "-0"
			op.Declare(v.ID)
			err := c.step(ctx, op, "create", v.ID,
				func() bool { _, there := c.find(op.InstanceID, v.ID); return there },
				func() { c.machines[op.InstanceID] = append(c.machines[op.InstanceID], v) })
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *cloud) Scale(ctx context.Context, op *vnflcm.Operation) error {
	if op.Scale.Type == vnflcm.ScaleOut {
		return c.Instantiate(ctx, op)
	}
	return c.remove(ctx, op, op.Change.Removed)
}

func (c *cloud) remove(ctx context.Context, op *vnflcm.Operation, list []vnflcm.VNFC) error {
	return vnflcm.Each(ctx, 2, list, func(ctx context.Context, v vnflcm.VNFC) error {
		return c.step(ctx, op, "delete", v.ID,
			func() bool { _, there := c.find(op.InstanceID, v.ID); return !there },
			func() {
				c.machines[op.InstanceID] = slices.DeleteFunc(c.machines[op.InstanceID],
					func(m vnflcm.VNFC) bool { return m.ID == v.ID })
			})
	})
}

func (c *cloud) Heal(ctx context.Context, op *vnflcm.Operation) error {
	return vnflcm.Each(ctx, 0, op.Change.Replaced, func(ctx context.Context, v vnflcm.VNFC) error {
		return c.step(ctx, op, "replace", v.ID,
			func() bool { now, there := c.find(op.InstanceID, v.ID); return there && now.ResourceID != v.ResourceID },
			func() {
				for i, m := range c.machines[op.InstanceID] {
					if m.ID == v.ID {
						c.machines[op.InstanceID][i].ResourceID += "+"
					}
				}
			})
	})
}

func (c *cloud) ChangeExtConn(ctx context.Context, op *vnflcm.Operation) error {
	return c.step(ctx, op, "connect", "",
		func() bool { return cmp.Equal(c.links[op.InstanceID], op.Connectivity) },
		func() { c.links[op.InstanceID] = op.Connectivity })
}

func (c *cloud) Operate(ctx context.Context, op *vnflcm.Operation, vnfcs []vnflcm.VNFC) error {
	stop := op.Operate.ChangeStateTo == vnflcm.VnfStopped
	for _, v := range vnfcs {
		err := c.step(ctx, op, "operate", v.ID, func() bool { return slices.Contains(c.off[op.InstanceID], v.ID) == stop }, func() {
			c.off[op.InstanceID] = slices.DeleteFunc(c.off[op.InstanceID], func(id string) bool { return id == v.ID })
			if stop {
				c.off[op.InstanceID] = append(c.off[op.InstanceID], v.ID)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *cloud) Terminate(ctx context.Context, op *vnflcm.Operation) error {
	c.mu.Lock()
	all := slices.Clone(c.machines[op.InstanceID])
	c.mu.Unlock()
	for _, v := range all {
		op.Declare(v.ID)
	}
	return c.remove(ctx, op, all)
}

func (c *cloud) Resources(_ context.Context, op *vnflcm.Operation) (vnflcm.Resources, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return vnflcm.Resources{VNFCs: slices.Clone(c.machines[op.InstanceID])}, nil
}

// cluster is a toy MgmtDriver: machines become nodes.
type cluster struct {
	*world
	validFault error // error of Validate for every request
}

type clusterParams struct {
	Password vnflcm.Secret `json:"password"`
	Replicas int           `json:"replicas"`
}

func (d *cluster) SecretParams() []string {
	return append(vnflcm.SecretPaths(clusterParams{}), "declared[].inner")
}

// PublicParams declares the replicas and, in conflict with SecretParams, nested parameters.
func (d *cluster) PublicParams() []string {
	return append(vnflcm.PublicPaths(clusterParams{}), "declared[].inner", "labels.*")
}

func (d *cluster) Validate(context.Context, *vnflcm.Operation) error { return d.validFault }

// StopOrder has the spare machines first, then the workers. It leaves out the masters.
func (*cluster) StopOrder(_ context.Context, op *vnflcm.Operation) (order [][]vnflcm.VNFC, _ error) {
	for _, vdu := range []string{"spare", "worker"} {
		order = append(order, slices.DeleteFunc(slices.Clone(op.VNFCs), func(v vnflcm.VNFC) bool { return v.VDU != vdu }))
	}
	return order, nil
}

func (d *cluster) Hooks() vnflcm.Hooks {
	return vnflcm.Hooks{
		vnflcm.InstantiateEnd:           d.build,
		vnflcm.ScaleStart:               d.leaveRemoved,
		vnflcm.ScaleEnd:                 d.joinAdded,
		vnflcm.HealStart:                d.leaveReplaced,
		vnflcm.HealEnd:                  d.joinReplaced,
		vnflcm.TerminateStart:           d.leaveRemoved,
		vnflcm.InstantiateRollbackStart: d.leaveRemoved,
		vnflcm.ScaleRollbackStart:       d.leaveRemoved,
		vnflcm.ModifyEnd:                d.configure,
		vnflcm.ChangePackageEnd:         d.configure,
	}
}

func (d *cluster) build(ctx context.Context, op *vnflcm.Operation) error {
	err := d.step(ctx, op, "init", "", func() bool { return d.token[op.InstanceID] > 0 }, func() { d.token[op.InstanceID]++ })
	if err != nil {
		return err
	}
	if err := d.join(ctx, op, op.VNFCs); err != nil {
		return err
	}
	return d.configure(ctx, op)
}

// configure only overwrites, so it has no probe.
func (d *cluster) configure(ctx context.Context, op *vnflcm.Operation) error {
	return d.step(ctx, op, "configure", "", nil, func() { d.nodes[op.InstanceID]["config"] = "v1" })
}

func (d *cluster) join(ctx context.Context, op *vnflcm.Operation, list []vnflcm.VNFC) error {
	return vnflcm.Each(ctx, 2, list, func(ctx context.Context, v vnflcm.VNFC) error {
		return d.step(ctx, op, "join", v.ID,
			func() bool { return d.nodes[op.InstanceID][v.ID] == v.ResourceID },
			func() {
				if d.nodes[op.InstanceID] == nil {
					d.nodes[op.InstanceID] = map[string]string{}
				}
				d.nodes[op.InstanceID][v.ID] = v.ResourceID
			})
	})
}

func (d *cluster) leave(ctx context.Context, op *vnflcm.Operation, list []vnflcm.VNFC) error {
	return vnflcm.Each(ctx, 2, list, func(ctx context.Context, v vnflcm.VNFC) error {
		return d.step(ctx, op, "leave", v.ID,
			func() bool { return d.nodes[op.InstanceID][v.ID] == "" },
			func() { delete(d.nodes[op.InstanceID], v.ID) })
	})
}

func (d *cluster) leaveRemoved(ctx context.Context, op *vnflcm.Operation) error {
	return d.leave(ctx, op, op.Change.Removed)
}

func (d *cluster) leaveReplaced(ctx context.Context, op *vnflcm.Operation) error {
	return d.leave(ctx, op, op.Change.Replaced)
}

func (d *cluster) joinAdded(ctx context.Context, op *vnflcm.Operation) error {
	return d.join(ctx, op, op.Change.Added)
}

func (d *cluster) joinReplaced(ctx context.Context, op *vnflcm.Operation) error {
	return d.join(ctx, op, op.Change.Replaced)
}

// Maintains makes the cluster a Maintainer of one task.
func (d *cluster) Maintains(task vnflcm.MaintenanceTask) bool {
	return task == vnflcm.RenewCertificates
}

// Configure starts the task for the property "certificates".
func (d *cluster) Configure(properties vnflcm.Params) (vnflcm.MaintainVnfRequest, bool, error) {
	var given struct {
		Certificates string `json:"certificates"`
	}
	if _, err := properties.Decode(&given); err != nil {
		return vnflcm.MaintainVnfRequest{}, false, err
	}
	return vnflcm.MaintainVnfRequest{Task: vnflcm.RenewCertificates}, given.Certificates == "new", nil
}

// Maintain renews the certificates of the machines one after the other, and counts them. What has begun on a machine is finished also after a graceful cancel.
func (d *cluster) Maintain(ctx context.Context, op *vnflcm.Operation) error {
	for i, v := range op.VNFCs {
		renewed, used := "certificate "+v.ID, "certificate in use "+v.ID
		err := d.step(ctx, op, "renew", v.ID, func() bool { return d.nodes[op.InstanceID][renewed] == "yes" }, func() { d.nodes[op.InstanceID][renewed] = "yes" })
		if err == nil {
			err = d.step(vnflcm.Finish(ctx), op, "use", v.ID, func() bool { return d.nodes[op.InstanceID][used] == "yes" }, func() { d.nodes[op.InstanceID][used] = "yes" })
		}
		if err == nil {
			err = op.Count(ctx, vnflcm.MachineCount{Done: i + 1, Left: len(op.VNFCs) - i - 1})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func keyOf(s vnflcm.StepInfo) string { return strings.Join([]string{s.Phase, s.Name, s.On}, "/") }
