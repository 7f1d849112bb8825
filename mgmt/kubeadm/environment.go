package kubeadm

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/cluster"
	"github.com/vnfkit/vnfkit/mgmt/internal/clusternodes"
	"github.com/vnfkit/vnfkit/mgmt/internal/nodedrain"
	"github.com/vnfkit/vnfkit/mgmt/internal/plan"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/controlplane"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// environment has what the tasks of a hook need. While tasks run, only the results of tasks change.
type environment struct {
	*Driver
	op           *vnflcm.Operation
	p            *clusterParam
	shape        clusterShape
	controlPlane []mgmt.Node
	workers      []mgmt.Node
	storage      []mgmt.Node // the storage server, if there is one
	balancers    []mgmt.Node // machines of external_lb_param, sorted by address; the first one serves the API
	up           []mgmt.Node // control-plane nodes through which requests are sent to the cluster: those that the operation does not change
	kube         *clusternodes.Cluster
	api          apiAddress // address of the API
	rotation     rotation
	broken       error                // when terminating: why the cluster cannot be reached; nil if it can
	tokens       *controlplane.Tokens // the credentials of this hook's joins

	running plan.Result[controlplane.Bootstrap] // set by readCluster and initCluster
	order   plan.Result[[]string]               // set by decideQuorum: ids of VNFCs
	leave   nodedrain.Leaving                   // nodes that leave the cluster
	alive   plan.Result[bool]                   // set by checkAlive
	kept    plan.Result[bool]                   // set by findKept: the machine is a node already

	configuration plan.Result[controlplane.Configuration] // set by readConfiguration
	ended         plan.Result[controlplane.Ended]         // set by findEnded
	unread        plan.Result[error]                      // set by findEnded: why it is not known which certificates of a node have ended
	unrenewed     plan.Result[error]                      // set by renewEnded: why certificates of a node that have ended were not renewed
	kubelets      plan.Result[string]                     // set by findEnded: users in the certificates of kubelets

	restored plan.Result[restoreRecord] // set by readSource

	agreeing sync.Mutex // see agreement

	turn  chan struct{}     // has a value while a control-plane node joins whose member does not vote yet
	begun plan.Result[bool] // control-plane nodes whose join this process has begun

	witnesses witnesses
	sourced   plan.Result[bool] // set by checkMachine: machines whose package sources have the packages of a node

	versions clusterVersions
	dead     plan.Result[bool] // set by findDead: workers on which an upgrade does nothing
	listing  sync.Mutex
	images   plan.Result[[]string] // by version, see imagesOf
}

// environmentOf finds the machines of an operation. A termination and a stop continue without them if the parameters cannot be read.
func (d *Driver) environmentOf(ctx context.Context, op *vnflcm.Operation) (*environment, error) {
	e, err := d.open(ctx, op)
	if op.Terminate == nil && !isStop(op) || err == nil {
		return e, err
	}
	e = &environment{Driver: d, op: op, kube: cluster.New[mgmt.Node](nil), broken: err}
	e.shape.Graceful, e.shape.Stopping = isGraceful(op), isStop(op)
	if e.shape.Graceful && op.Phase() != string(vnflcm.TerminateEnd) {
		op.Log.WarnContext(ctx, "the cluster is not drained", "error", err)
	}
	return e, nil
}

// open finds the nodes of the cluster.
func (d *Driver) open(ctx context.Context, op *vnflcm.Operation) (*environment, error) {
	params, rotation, err := readRunning(ctx, op)
	if err != nil {
		return nil, err
	}
	if err := params.check(op); err != nil {
		return nil, err
	}
	p := &params.Cluster
	shape, err := shapeOf(ctx, op, params, rotation)
	if err != nil {
		return nil, err
	}
	e := &environment{Driver: d, op: op, p: p, rotation: rotation, shape: shape, versions: params.versions, turn: make(chan struct{}, 1)}
	var err1, err2 error
	e.controlPlane, e.workers, err1 = d.nodesOf(op, params)
	e.balancers, err2 = d.balancersOf(op, params)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	if len(e.controlPlane) == 0 {
		return nil, errNoControlPlane
	}
	if err := e.findServing(); err != nil {
		return nil, err
	}
	e.kube = cluster.New(e.up)
	e.leave = nodedrain.Leaving{Op: op, Kube: e.kube, DrainLimit: d.config.Timeouts.Drain, DetachLimit: d.config.Timeouts.Detach, Policy: p.DrainPolicy}
	if err := errors.Join(e.findEndpoint(), e.findStorage(params)); err != nil {
		return nil, err
	}
	e.tokens = &controlplane.Tokens{Kubeadm: e.kubeadm, Kube: e.kube, State: op.State()}
	return e, nil
}

// findServing finds the control-plane nodes through which requests are sent to the cluster.
func (e *environment) findServing() error {
	e.up = e.controlPlane
	if e.makesControlPlane() || e.op.Terminate != nil {
		return nil
	}
	staying := clusternodes.Without(e.controlPlane, e.changing(e.controlPlane))
	switch {
	case len(staying) > 0:
		e.up = staying
	case len(plan.Replaced(e.shape.ControlPlane))+len(plan.Removed(e.shape.ControlPlane)) > 0:
		return errors.New("kubeadm: no control-plane node would be left: heal the whole VNF")
	}
	return nil // the only node restarts
}

var errNoControlPlane = errors.New("kubeadm: the VNF has no control-plane node")

// readRunning reads the parameters, with the registries that are in effect in this operation.
func readRunning(ctx context.Context, op *vnflcm.Operation) (*parameters, rotation, error) {
	p, err := read(ctx, op)
	if err != nil {
		return p, rotation{}, err
	}
	r, err := p.findRegistries(ctx, op)
	return p, r, err
}

func (d *Driver) access(n nodeParam) mgmt.Access {
	return mgmt.Access{CP: n.SSHCPName, NIC: n.NICCPName, Login: n.Login, HostKeys: n.HostKeys, LoginGrace: d.config.Timeouts.Login}
}

// nodes returns all nodes, control-plane nodes first.
func (e *environment) nodes() []mgmt.Node { return slices.Concat(e.controlPlane, e.workers) }

// makesCluster reports whether the operation creates a cluster of new machines.
func (e *environment) makesCluster() bool {
	return e.shape.Whole || e.op.Instantiate != nil
}

// makesControlPlane reports whether every control-plane node is a new machine, of a new cluster or of one that is restored from a snapshot.
func (e *environment) makesControlPlane() bool { return e.makesCluster() || e.shape.Rebuilds }

// Close implements plan.Environment.
func (e *environment) Close() { e.kube.Close() }

// Node implements plan.Environment. A machine that no longer exists has only an id and a name.
func (e *environment) Node(on machine) mgmt.Node {
	found := clusternodes.Among(slices.Concat(e.nodes(), e.storage, e.balancers), []vnflcm.VNFC{{ID: on.ID}})
	if len(found) == 0 {
		return mgmt.Node{VNFC: vnflcm.VNFC{ID: on.ID, Name: on.Name}}
	}
	return found[0]
}

// version returns the version of Kubernetes: of the running cluster, or of the one to create. It has no effect on a script,
// which chooses the version itself.
func (e *environment) version() string {
	return cmp.Or(e.running.Of("").Version, e.p.KubernetesVersion)
}

// replaced returns those of the machines that the operation replaces or restarts.
func (e *environment) replaced(machines []mgmt.Node) []mgmt.Node {
	return e.having(machines, plan.IsReplaced, plan.IsRestarted)
}

// changing returns those of the machines that the operation adds, removes, replaces or restarts.
func (e *environment) changing(machines []mgmt.Node) []mgmt.Node {
	return e.having(machines, plan.IsAdded, plan.IsRemoved, plan.IsReplaced, plan.IsRestarted)
}

// having returns those of the machines that have one of these changes.
func (e *environment) having(machines []mgmt.Node, changes ...plan.Change) []mgmt.Node {
	all := slices.Concat(e.shape.ControlPlane, e.shape.Workers, e.shape.Storage, e.shape.Balancers)
	return slices.DeleteFunc(slices.Clone(machines), func(n mgmt.Node) bool {
		return !slices.ContainsFunc(all, func(m machine) bool { return m.ID == n.ID && slices.Contains(changes, m.Change) })
	})
}

// inQuorumOrder returns the control-plane node that leaves etcd at the position that n has in the plan.
func (e *environment) inQuorumOrder(n mgmt.Node) mgmt.Node {
	i := slices.IndexFunc(e.changing(e.controlPlane), func(m mgmt.Node) bool { return m.ID == n.ID })
	return e.leaving()[i]
}

// leaving returns the control-plane nodes that are replaced or removed, in the order in which they leave etcd.
func (e *environment) leaving() (out []mgmt.Node) {
	for _, id := range e.order.Of("") {
		out = append(out, clusternodes.Among(e.controlPlane, []vnflcm.VNFC{{ID: id}})...)
	}
	return out
}

// leavingFrom returns the control-plane node n, and those that leave etcd after it.
func (e *environment) leavingFrom(n mgmt.Node) []mgmt.Node {
	leaving := e.leaving()
	return leaving[slices.IndexFunc(leaving, func(m mgmt.Node) bool { return m.ID == n.ID }):]
}

func (e *environment) isControlPlane(n mgmt.Node) bool {
	return len(clusternodes.Among(e.controlPlane, []vnflcm.VNFC{n.VNFC})) > 0
}
