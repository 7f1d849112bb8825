package kubeadm

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/cluster"
	"github.com/vnfkit/vnfkit/mgmt/internal/clusterparam"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// Config of a Driver.
type Config struct {
	Pool     *sshexec.Pool // required; the caller closes it
	Parallel int           // nodes worked on at once; default 32
	Timeouts Timeouts
	// ConfirmWholeHeal refuses a heal request without vnfcInstanceId, which replaces every machine of the cluster, unless
	// additionalParams.all is given, true or false. Default: Tacker's guides send requests without it, which are accepted.
	ConfirmWholeHeal bool
}

// Timeouts bound the parts of an operation that wait for machines.
type Timeouts struct {
	Boot    time.Duration // until a new machine lets us log in and cloud-init has finished; default 15 min
	Login   time.Duration // of that, while it refuses the password: users are set up last; default 1 min
	Install time.Duration // of one machine: packages, the package's script, kubeadm; default 45 min
	Ready   time.Duration // until every node is Ready; default 15 min
	Drain   time.Duration // until the connections (of a load balancer of the VNF), then the pods, of a node have left; default 5 min
}

// Driver makes and changes Kubernetes clusters with kubeadm. It is safe for concurrent use.
type Driver struct{ config Config }

// New returns a Driver.
func New(c Config) *Driver {
	if c.Parallel < 1 {
		c.Parallel = 32
	}
	for value, otherwise := range map[*time.Duration]time.Duration{
		&c.Timeouts.Boot: 15 * time.Minute, &c.Timeouts.Login: time.Minute, &c.Timeouts.Install: 45 * time.Minute,
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
	return vnflcm.Checked(vnflcm.Hooks{
		vnflcm.InstantiateEnd: d.instantiateEnd,
		vnflcm.ScaleStart:     d.scaleStart,
		vnflcm.ScaleEnd:       d.scaleEnd,
		vnflcm.HealStart:      d.healStart,
		vnflcm.HealEnd:        d.healEnd,
		vnflcm.TerminateStart: d.terminateStart,
		vnflcm.TerminateEnd:   d.terminateEnd,
	})
}

// Validate implements vnflcm.MgmtDriver.
func (d *Driver) Validate(ctx context.Context, op *vnflcm.Operation) error {
	if err := op.Check(); err != nil {
		return err
	}
	if op.Terminate != nil {
		return nil // nothing of a request may keep a cluster from being removed
	}
	p, err := read(ctx, op)
	_, err1 := p.findRegistries(ctx, op)
	p.warn(ctx, op)
	p.warnVersion(ctx, op)
	if d.config.ConfirmWholeHeal {
		err = errors.Join(err, clusterparam.ConfirmWholeHeal(op))
	}
	return errors.Join(err, err1, p.check(op), p.checkTargets(op), mgmt.CheckJumpHost(ctx, op))
}

// checkTargets refuses what cannot be done to a control plane.
func (p *parameters) checkTargets(op *vnflcm.Operation) error {
	if err := p.Cluster.Balancer.CheckScaling(&newChecker(op).Checker); err != nil {
		return err
	}
	switch {
	case op.Scale != nil:
		if newChecker(op).Scales(p.Cluster.Master.SSHCPName) {
			return &vnflcm.ParamError{Path: "aspectId", Value: op.Scale.AspectID, Reason: "control-plane nodes cannot be scaled: choose their number when instantiating"}
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
	storage []mgmt.Node // the storage server, if there is one
	up      []mgmt.Node // control-plane nodes that may be asked
	// Of external_lb_param, by address: the first one has the API.
	balancers []mgmt.Node
	kube      *cluster.Cluster[mgmt.Node]
	api       apiAddress // where nodes and others reach the API

	rotation rotation

	balancing sync.Mutex // see balancer
}

// open finds the nodes of the cluster.
func (d *Driver) open(ctx context.Context, op *vnflcm.Operation) (*deployment, error) {
	params, err := read(ctx, op)
	if err != nil {
		return nil, err
	}
	rotation, err := params.findRegistries(ctx, op)
	if err != nil {
		return nil, err
	}
	if err := params.check(op); err != nil {
		return nil, err
	}
	p := &params.Cluster
	dep := &deployment{Driver: d, op: op, p: p, rotation: rotation}
	var err1, err2, err3 error
	dep.masters, err1 = d.access(p.Master.nodeParam).Nodes(op, d.config.Pool, "master")
	dep.workers, err2 = d.access(p.Worker).Nodes(op, d.config.Pool, "worker")
	dep.balancers, err3 = p.Balancer.Balancers(op, d.config.Pool, mgmt.Access{LoginGrace: d.config.Timeouts.Login})
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	if len(dep.masters) == 0 {
		return nil, errors.New("kubeadm: the VNF has no control-plane node")
	}
	dep.ask(dep.masters)
	if err := errors.Join(dep.findEndpoint(), dep.findStorage()); err != nil {
		return nil, err
	}
	return dep, nil
}

func (d *Driver) access(n nodeParam) mgmt.Access {
	return mgmt.Access{CP: n.SSHCPName, NIC: n.NICCPName, Login: n.Login, LoginGrace: d.config.Timeouts.Login}
}

// nodes are all nodes, the control plane first.
func (d *deployment) nodes() []mgmt.Node {
	return append(append([]mgmt.Node(nil), d.masters...), d.workers...)
}

// do runs a step on a node, for at most limit.
func (d *deployment) do(ctx context.Context, name string, n mgmt.Node, limit time.Duration, fn func(context.Context) error) error {
	return n.Do(ctx, d.op, name, limit, fn)
}
