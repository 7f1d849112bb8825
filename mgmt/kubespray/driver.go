package kubespray

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/cluster"
	"github.com/vnfkit/vnfkit/mgmt/internal/clusternodes"
	"github.com/vnfkit/vnfkit/mgmt/internal/vnfbalancer"
	"github.com/vnfkit/vnfkit/mgmt/kubespray/ansible"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// Config configures a Driver.
type Config struct {
	Pool *sshexec.Pool // required; the caller closes it
	// Server is the Ansible server for requests that name none. It may be this machine. Default: requests must name one.
	Server   *Server
	Parallel int // bound of machines set up concurrently, and Ansible's forks; default 32
	Timeouts Timeouts
	// ConfirmWholeHeal refuses to heal the whole VNF unless the request has additionalParams.all, true or false. A heal
	// request without vnfcInstanceId replaces every machine of the cluster. Default: false, because requests in Tacker's
	// guides lack this parameter.
	ConfirmWholeHeal bool
	// Output returns the writer that receives everything that a run of a playbook, such as "cluster.yml", prints, with
	// secrets masked. If Output returns nil, the text is discarded. The driver calls Output once per run; concurrent
	// operations call it concurrently. After a resume or a retry the driver calls Output again, and a run that continued
	// meanwhile is written from its beginning; after a broken connection nothing is written twice. Writes must not block.
	// If a write fails, the driver writes nothing more, and the run continues. Default: the text is discarded.
	Output func(op *vnflcm.Operation, playbook string) io.Writer
}

// Server is an Ansible server with kubespray.
type Server struct {
	ansible.Server
	Root string // kubespray_root_path
}

// Timeouts bound the parts of an operation that wait for machines.
type Timeouts struct {
	Boot     time.Duration // until a new machine accepts the login and cloud-init has finished; default 15 min
	Login    time.Duration // part of Boot: how long a machine may refuse the credentials; also for the Ansible server; default 1 min
	Playbook time.Duration // of one run, and of installing the load balancer; default 2 h
	Drain    time.Duration // until the connections, then the pods, of a node have ended; default 5 min
	Ready    time.Duration // until every node is Ready; default 15 min
}

// Driver creates and changes Kubernetes clusters with kubespray. It is safe for concurrent use.
type Driver struct{ config Config }

// New returns a Driver.
func New(c Config) *Driver {
	if c.Parallel < 1 {
		c.Parallel = 32
	}
	for value, otherwise := range map[*time.Duration]time.Duration{
		&c.Timeouts.Boot: 15 * time.Minute, &c.Timeouts.Login: time.Minute, &c.Timeouts.Playbook: 2 * time.Hour,
		&c.Timeouts.Drain: 5 * time.Minute, &c.Timeouts.Ready: 15 * time.Minute,
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

// deployment is the cluster as one operation sees it.
type deployment struct {
	*Driver
	op        *vnflcm.Operation
	p         *clusterParam
	server    ansible.Server
	masters   []mgmt.Node // sorted by address, so that the first one is the same in every operation
	workers   []mgmt.Node
	balancers []mgmt.Node
	kube      *clusternodes.Cluster

	versions ansible.Versions // set by prepare
	dir      *directory       // set by prepare
	mtu      int              // MTU of the control-plane nodes' network, set by measure
}

// open reads the parameters and finds the nodes of the cluster. It opens no connection.
func (d *Driver) open(ctx context.Context, op *vnflcm.Operation) (*deployment, error) {
	params, err := d.read(ctx, op)
	if err != nil {
		return nil, err
	}
	if err := d.check(params, op); err != nil {
		return nil, err
	}
	dep := &deployment{Driver: d, op: op, p: &params.Cluster}
	var errs [4]error
	dep.server, errs[0] = d.ansibleServer(op, dep.p.Ansible)
	dep.masters, errs[1] = d.nodes(op, dep.p.Master.nodeParam, "master")
	dep.workers, errs[2] = d.nodes(op, dep.p.Worker, "worker")
	dep.balancers, errs[3] = dep.p.Balancer.Balancers(op, d.config.Pool, mgmt.Access{LoginGrace: d.config.Timeouts.Login})
	switch err := errors.Join(errs[:]...); {
	case err != nil:
		return nil, err
	case len(dep.masters) == 0:
		return nil, errors.New("kubespray: the VNF has no control-plane node")
	}
	dep.kube = cluster.New(dep.masters)
	return dep, nil
}

// close closes the connections to the cluster.
func (d *deployment) close() { d.kube.Close() }

// nodes returns the machines of one kind, sorted by address.
func (d *Driver) nodes(op *vnflcm.Operation, n nodeParam, role string) ([]mgmt.Node, error) {
	access := mgmt.Access{CP: n.SSHCPName, NIC: n.NICCPName, Login: n.Login, HostKeys: n.HostKeys, SudoPassword: n.BecomePassword, LoginGrace: d.config.Timeouts.Login}
	nodes, err := access.Nodes(op, d.config.Pool, role)
	vnfbalancer.SortByAddress(nodes)
	return nodes, err
}

// members returns all nodes of the cluster, control-plane nodes first.
func (d *deployment) members() []mgmt.Node { return slices.Concat(d.masters, d.workers) }

// reach waits until the machines accept the login and cloud-init has finished, and records their host keys.
func (d *deployment) reach(ctx context.Context, nodes []mgmt.Node) error {
	return vnflcm.Each(ctx, d.config.Parallel, nodes, func(ctx context.Context, n mgmt.Node) error {
		return n.Reach(ctx, d.op, d.config.Timeouts.Boot)
	})
}

// forget deletes the host keys and the connections of machines that no longer exist.
func (d *Driver) forget(ctx context.Context, op *vnflcm.Operation, gone []vnflcm.VNFC) error {
	var errs []error
	for _, v := range gone {
		d.config.Pool.Forget(v.ResourceID)
		errs = append(errs, mgmt.ForgetHostKey(ctx, op, v.ResourceID))
	}
	return errors.Join(errs...)
}
