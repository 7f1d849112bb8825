package kubeadm

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/cluster"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// Config of a Driver.
type Config struct {
	Pool     *sshexec.Pool // required; the caller closes it
	Parallel int           // nodes worked on at once; default 32
	Timeouts Timeouts
}

// Timeouts bound the parts of an operation that wait for machines.
type Timeouts struct {
	Boot    time.Duration // until a new machine lets us log in; default 15 min
	Install time.Duration // of one node: packages, the package's script, kubeadm; default 45 min
	Ready   time.Duration // until every node is Ready; default 15 min
	Drain   time.Duration // until the pods of a node have left; default 5 min
}

// Driver makes and changes Kubernetes clusters with kubeadm. It is safe for concurrent use.
type Driver struct{ config Config }

// New returns a Driver.
func New(c Config) *Driver {
	if c.Parallel < 1 {
		c.Parallel = 32
	}
	for value, otherwise := range map[*time.Duration]time.Duration{
		&c.Timeouts.Boot: 15 * time.Minute, &c.Timeouts.Install: 45 * time.Minute,
		&c.Timeouts.Ready: 15 * time.Minute, &c.Timeouts.Drain: 5 * time.Minute,
	} {
		if *value <= 0 {
			*value = otherwise
		}
	}
	return &Driver{config: c}
}

// Hooks implements vnflcm.MgmtDriver.
func (d *Driver) Hooks() vnflcm.Hooks {
	return vnflcm.Hooks{
		vnflcm.InstantiateEnd: d.instantiateEnd,
		vnflcm.ScaleStart:     d.scaleStart,
		vnflcm.ScaleEnd:       d.scaleEnd,
		vnflcm.HealStart:      d.healStart,
		vnflcm.HealEnd:        d.healEnd,
		vnflcm.TerminateStart: d.terminateStart,
		vnflcm.TerminateEnd:   d.terminateEnd,
	}
}

// Validate implements vnflcm.MgmtDriver.
func (d *Driver) Validate(ctx context.Context, op *vnflcm.Operation) error {
	if op.Terminate != nil {
		return nil // nothing of a request may keep a cluster from being removed
	}
	p, err := read(op)
	p.warn(ctx, op)
	return errors.Join(err, p.check(op), p.checkTargets(op), mgmt.CheckJumpHost(ctx, op))
}

// checkTargets refuses what cannot be done to a control plane.
func (p *parameters) checkTargets(op *vnflcm.Operation) error {
	master := p.Cluster.Master.SSHCPName
	switch {
	case op.Scale != nil:
		for _, cp := range op.Flavour.CPs {
			for _, aspect := range op.Flavour.AspectsOf(cp.VDU) {
				if cp.ID == master && aspect == op.Scale.AspectID {
					return &vnflcm.ParamError{Path: "aspectId", Value: aspect, Reason: "control-plane nodes cannot be scaled: choose their number when instantiating"}
				}
			}
		}
	case op.Heal != nil && !op.WholeVNF():
		return p.checkMasters(op)
	}
	return nil
}

// deployment is the cluster of one operation.
type deployment struct {
	*Driver
	op      *vnflcm.Operation
	p       *clusterParam
	masters []mgmt.Node
	workers []mgmt.Node
	up      []mgmt.Node // control-plane nodes that may be asked
	kube    *cluster.Cluster[mgmt.Node]
	api     apiAddress // where nodes and others reach the API

	balancing sync.Mutex // see balancer
}

// open finds the nodes of the cluster.
func (d *Driver) open(op *vnflcm.Operation) (*deployment, error) {
	params, err := read(op)
	if err != nil {
		return nil, err
	}
	if err := params.check(op); err != nil {
		return nil, err
	}
	p := &params.Cluster
	dep := &deployment{Driver: d, op: op, p: p}
	var err1, err2 error
	dep.masters, err1 = p.Master.access().Nodes(op, d.config.Pool, "master")
	dep.workers, err2 = p.Worker.access().Nodes(op, d.config.Pool, "worker")
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	if len(dep.masters) == 0 {
		return nil, errors.New("kubeadm: the VNF has no control-plane node")
	}
	dep.ask(dep.masters)
	if err := dep.findEndpoint(); err != nil {
		return nil, err
	}
	return dep, nil
}

func (n nodeParam) access() mgmt.Access {
	return mgmt.Access{CP: n.SSHCPName, NIC: n.NICCPName, User: n.Username, Password: n.Password}
}

// nodes are all nodes, the control plane first.
func (d *deployment) nodes() []mgmt.Node {
	return append(append([]mgmt.Node(nil), d.masters...), d.workers...)
}

// among keeps the nodes that are in the list of VNFCs.
func among(nodes []mgmt.Node, vnfcs []vnflcm.VNFC) []mgmt.Node {
	var out []mgmt.Node
	for _, n := range nodes {
		for _, v := range vnfcs {
			if v.ID == n.ID {
				out = append(out, n)
			}
		}
	}
	return out
}

// do runs a step on a node, for at most limit.
func (d *deployment) do(ctx context.Context, name string, n mgmt.Node, limit time.Duration, fn func(context.Context) error) error {
	return vnflcm.Do(ctx, d.op, name, n.ID, func(ctx context.Context) error { return within(ctx, limit, fn) })
}

// within bounds fn by a timeout whose cause says so.
func within(ctx context.Context, limit time.Duration, fn func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, timeoutError(limit))
	defer cancel()
	return fn(ctx)
}

// timeoutError is the cause of a step that took too long.
type timeoutError time.Duration

func (e timeoutError) Error() string { return "no success within " + time.Duration(e).String() }
func (e timeoutError) Timeout() bool { return true }
