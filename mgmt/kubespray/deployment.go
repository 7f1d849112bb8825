package kubespray

import (
	"context"
	"errors"
	"slices"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/cluster"
	"github.com/vnfkit/vnfkit/mgmt/internal/clusternodes"
	"github.com/vnfkit/vnfkit/mgmt/internal/nodedrain"
	"github.com/vnfkit/vnfkit/mgmt/internal/plan"
	"github.com/vnfkit/vnfkit/mgmt/internal/vnfbalancer"
	"github.com/vnfkit/vnfkit/mgmt/kubespray/ansible"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// deployment is the cluster as one operation sees it: what the tasks of a hook need. While tasks run, only the results of
// tasks change.
type deployment struct {
	*Driver
	op           *vnflcm.Operation
	p            *clusterParam
	shape        clusterShape
	server       ansible.Server
	controlPlane []mgmt.Node // sorted by address, so that the first one is the same in every operation
	workers      []mgmt.Node
	balancers    []mgmt.Node
	kube         *clusternodes.Cluster
	broken       error // when terminating: why the cluster cannot be reached; nil if it can

	// Results of tasks, for the tasks after them.
	versions ansible.Versions  // of checkServer
	home     string            // of checkServer: home directory of the login user
	dir      *directory        // of claimDirectory
	mtu      int               // of measureMTU: of the control-plane nodes' network
	facts    string            // of findFacts: path of the playbook; "" if the release has none
	members  []string          // of findMembers: ids of the machines that leave and are nodes
	down     []string          // of findDown: ids of workers that are left out of the inventory
	alive    plan.Result[bool] // of checkAlive: the machine lets the driver log in
	leave    nodedrain.Leaving // nodes that leave the cluster
}

// open reads the parameters and finds the nodes of the cluster. It opens no connection. A termination continues without them
// if the parameters cannot be read.
func (d *Driver) open(ctx context.Context, op *vnflcm.Operation) (*deployment, error) {
	dep, err := d.find(ctx, op)
	if op.Terminate == nil || err == nil {
		return dep, err
	}
	return &deployment{Driver: d, op: op, p: &clusterParam{}, kube: cluster.New[mgmt.Node](nil), broken: err}, nil
}

func (d *Driver) find(ctx context.Context, op *vnflcm.Operation) (*deployment, error) {
	params, err := d.read(ctx, op)
	if err != nil {
		return nil, err
	}
	if err := d.check(params, op); err != nil {
		return nil, err
	}
	dep := &deployment{Driver: d, op: op, p: &params.Cluster, shape: shapeOf(op, &params.Cluster)}
	var errs [4]error
	dep.server, errs[0] = d.ansibleServer(op, dep.p.Ansible)
	dep.controlPlane, errs[1] = d.nodes(op, dep.p.Master.nodeParam, "master")
	dep.workers, errs[2] = d.nodes(op, dep.p.Worker, "worker")
	dep.balancers, errs[3] = dep.p.Balancer.Balancers(op, d.config.Pool, mgmt.Access{LoginGrace: d.config.Timeouts.Login})
	switch err := errors.Join(errs[:]...); {
	case err != nil:
		return nil, err
	case len(dep.controlPlane) == 0:
		return nil, errNoControlPlane
	}
	dep.kube = cluster.New(dep.controlPlane)
	dep.leave = nodedrain.Leaving{Op: op, Kube: dep.kube, DrainLimit: d.config.Timeouts.Drain, DetachLimit: d.config.Timeouts.Detach, Policy: dep.p.Drain}
	return dep, nil
}

var errNoControlPlane = errors.New("kubespray: the VNF has no control-plane node")

// nodes returns the machines of one kind, sorted by address.
func (d *Driver) nodes(op *vnflcm.Operation, n nodeParam, role string) ([]mgmt.Node, error) {
	access := mgmt.Access{CP: n.SSHCPName, NIC: n.NICCPName, Login: n.Login, HostKeys: n.HostKeys, SudoPassword: n.BecomePassword, LoginGrace: d.config.Timeouts.Login}
	nodes, err := access.Nodes(op, d.config.Pool, role)
	vnfbalancer.SortByAddress(nodes)
	return nodes, err
}

// Close implements plan.Environment.
func (d *deployment) Close() { d.kube.Close() }

// Node implements plan.Environment. A machine that no longer exists has only an id and a name.
func (d *deployment) Node(on machine) mgmt.Node {
	found := clusternodes.Among(slices.Concat(d.controlPlane, d.workers, d.balancers), []vnflcm.VNFC{{ID: on.ID}})
	if len(found) == 0 {
		return mgmt.Node{VNFC: vnflcm.VNFC{ID: on.ID, Name: on.Name}}
	}
	return found[0]
}

// joining returns the nodes that the operation sets up.
func (d *deployment) joining() []mgmt.Node {
	if d.op.Scale == nil && (d.op.Heal == nil || d.op.WholeVNF()) {
		return slices.Concat(d.controlPlane, d.workers)
	}
	return clusternodes.Among(d.workers, slices.Concat(d.op.Change.Added, d.op.Change.Replaced))
}

// leaving returns the workers whose machines will be removed or replaced.
func (d *deployment) leaving() []mgmt.Node {
	return clusternodes.Among(d.workers, slices.Concat(d.op.Change.Removed, d.op.Change.Replaced))
}

// staying returns the workers that remain.
func (d *deployment) staying() []mgmt.Node { return clusternodes.Without(d.workers, d.leaving()) }
