package kubespray

import (
	"context"
	"io"
	"time"

	"github.com/vnfkit/vnfkit/mgmt/kubespray/ansible"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
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
	// Allow judges IP addresses in parameters that are for programs on the machines or on the Ansible server, and that of this
	// server. With the policy of Pool it also judges the addresses of servers that ServedCertificates connects to. Default:
	// outbound.RefuseLocal.
	Allow outbound.Policy
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
	Detach   time.Duration // until no volume is attached to a node that has been drained; default 6 min, as in Kubernetes
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
		&c.Timeouts.Drain: 5 * time.Minute, &c.Timeouts.Detach: 6 * time.Minute, &c.Timeouts.Ready: 15 * time.Minute,
	} {
		if *value <= 0 {
			*value = otherwise
		}
	}
	return &Driver{config: c}
}

// Hooks implements vnflcm.MgmtDriver.
func (d *Driver) Hooks() vnflcm.Hooks {
	return operations.Hooks(d.config.Parallel, func(ctx context.Context, op *vnflcm.Operation) (*deployment, clusterShape, error) {
		e, err := d.open(ctx, op)
		if err != nil {
			return nil, clusterShape{}, err
		}
		return e, e.shape, nil
	})
}

var _ vnflcm.Previewer = (*Driver)(nil)

// Preview implements vnflcm.Previewer.
func (d *Driver) Preview(ctx context.Context, op *vnflcm.Operation) ([]vnflcm.PlannedTask, error) {
	if op.ChangeVnfPkg != nil {
		return nil, nil // no machine of the cluster changes
	}
	params, err := d.read(ctx, op)
	if err != nil && op.Terminate == nil {
		return nil, err
	}
	c := shapeOf(op, &params.Cluster)
	if len(c.ControlPlane) == 0 && op.Terminate == nil {
		return nil, errNoControlPlane
	}
	return operations.Plan(op, c).Preview(), nil
}
