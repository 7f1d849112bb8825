package kubeadm

import (
	"context"
	"errors"
	"time"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/clusterparam"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
)

// Config configures a Driver.
type Config struct {
	Pool     *sshexec.Pool // required; the caller closes it
	Parallel int           // bound of machines worked on concurrently; default 32
	Timeouts Timeouts
	// ConfirmWholeHeal refuses to heal the whole VNF unless the request has additionalParams.all, true or false. A heal
	// request without vnfcInstanceId replaces every machine of the cluster. Default: false, because requests in Tacker's
	// guides lack this parameter.
	ConfirmWholeHeal bool
	// ShortCertificates allows requests with a certificate_validity of less than 30 days, for tests. Default: false, because a cluster ends
	// with its certificates.
	ShortCertificates bool
	// Scratch is the folder in which snapshots are restored for a test. It needs as much space as the data of etcd. Default: os.TempDir.
	Scratch string
	// Allow judges IP addresses in parameters that are for programs on the machines: of proxies, registries and package
	// repositories. With the policy of Pool it also judges the addresses of servers that ServedCertificates connects to. Default:
	// outbound.RefuseLocal.
	Allow outbound.Policy
}

// Timeouts bound the parts of an operation that wait for machines.
type Timeouts struct {
	Boot    time.Duration // until a new machine accepts the login and cloud-init has finished; default 15 min
	Login   time.Duration // part of Boot: how long a machine may refuse the credentials, since images create users late; default 1 min
	Install time.Duration // of one machine: packages, the package's script, kubeadm; default 45 min
	Ready   time.Duration // until every node is Ready; default 15 min
	Drain   time.Duration // until the connections (of a load balancer of the VNF), then the pods, of a node have ended; default 5 min
	Detach  time.Duration // until no volume is attached to a node that has been drained; default 6 min, as in Kubernetes
}

// Driver creates and changes Kubernetes clusters with kubeadm. It is safe for concurrent use.
type Driver struct{ config Config }

// New returns a Driver.
func New(c Config) *Driver {
	if c.Parallel < 1 {
		c.Parallel = 32
	}
	for value, otherwise := range map[*time.Duration]time.Duration{
		&c.Timeouts.Boot: 15 * time.Minute, &c.Timeouts.Login: time.Minute, &c.Timeouts.Install: 45 * time.Minute,
		&c.Timeouts.Ready: 15 * time.Minute, &c.Timeouts.Drain: 5 * time.Minute, &c.Timeouts.Detach: 6 * time.Minute,
	} {
		if *value <= 0 {
			*value = otherwise
		}
	}
	return &Driver{config: c}
}

// Hooks implements vnflcm.MgmtDriver.
func (d *Driver) Hooks() vnflcm.Hooks {
	return operations.Hooks(d.config.Parallel, d.shaped)
}

// shaped returns the environment of an operation and the shape of its cluster.
func (d *Driver) shaped(ctx context.Context, op *vnflcm.Operation) (*environment, clusterShape, error) {
	e, err := d.environmentOf(ctx, op)
	if err != nil {
		return nil, clusterShape{}, err
	}
	return e, e.shape, nil
}

var _ vnflcm.Maintainer = (*Driver)(nil)

// Maintains implements vnflcm.Maintainer: the driver has vnflcm.RenewCertificates and vnflcm.Upgrade.
func (d *Driver) Maintains(task vnflcm.MaintenanceTask) bool { return operations.Maintains(task) }

// Maintain implements vnflcm.Maintainer.
func (d *Driver) Maintain(ctx context.Context, op *vnflcm.Operation) error {
	return operations.RunPhase(ctx, op, vnflcm.MaintenancePhase, d.config.Parallel, d.shaped)
}

var _ vnflcm.Configurer = (*Driver)(nil)

// Configure implements vnflcm.Configurer: the property kubernetes_version starts vnflcm.Upgrade.
func (d *Driver) Configure(properties vnflcm.Params) (vnflcm.MaintainVnfRequest, bool, error) {
	var given struct {
		Version string `json:"kubernetes_version"`
	}
	if _, err := properties.Decode(&given); err != nil || given.Version == "" {
		return vnflcm.MaintainVnfRequest{}, false, err
	}
	params, err := vnflcm.NewParams(map[string]any{"k8s_cluster_installation_param": map[string]any{"kubernetes_version": given.Version}})
	return vnflcm.MaintainVnfRequest{Task: vnflcm.Upgrade, AdditionalParams: params}, true, err
}

var _ vnflcm.Previewer = (*Driver)(nil)

// Preview implements vnflcm.Previewer.
func (d *Driver) Preview(ctx context.Context, op *vnflcm.Operation) ([]vnflcm.PlannedTask, error) {
	params, rotation, err := readRunning(ctx, op)
	if err != nil && op.Terminate == nil {
		return nil, err
	}
	if op.ChangeVnfPkg != nil && op.Batch == nil {
		return nil, nil // hooks of the change do nothing
	}
	c, err := shapeOf(ctx, op, params, rotation)
	if err == nil && op.Scale != nil {
		err = params.Cluster.checkLeavingAddress(op)
	}
	if err != nil {
		return nil, err
	}
	if len(c.ControlPlane) == 0 && op.Terminate == nil {
		return nil, errNoControlPlane
	}
	return operations.Plan(op, c).Preview(), nil
}

// Validate implements vnflcm.MgmtDriver.
func (d *Driver) Validate(ctx context.Context, op *vnflcm.Operation) error {
	if err := op.Check(); err != nil {
		return err
	}
	if op.Terminate != nil {
		return nil // a wrong parameter must not prevent terminating
	}
	p, err := read(ctx, op)
	_, err1 := p.findRegistries(ctx, op)
	p.warn(ctx, op)
	p.warnVersion(ctx, op)
	if d.config.ConfirmWholeHeal {
		err = errors.Join(err, clusterparam.ConfirmWholeHeal(op))
	}
	err = errors.Join(err, err1, p.check(op), d.checkValidity(op, p), p.checkTargets(op), p.checkScaling(op), p.checkUpgrade(op), p.checkRepository(op), p.checkSources(op), p.checkPackageChange(op), p.checkRestore(op),
		op.CheckAddresses(addresses, d.config.Allow.CheckHost), mgmt.CheckJumpHost(ctx, op))
	if err != nil {
		return err
	}
	return d.checkLoss(ctx, op, p)
}

// addresses are the attributes with addresses that programs on the machines, or the driver through them, connect to.
var addresses = []string{"k8s_cluster_installation_param.api_endpoint", "k8s_cluster_installation_param.proxy.http_proxy", "k8s_cluster_installation_param.proxy.https_proxy",
	"k8s_cluster_installation_param.private_registry_connection_info[].server", "k8s_cluster_installation_param.registry_mirrors[].server",
	"k8s_cluster_installation_param.image_repository", "k8s_cluster_installation_param.packages.repository_url", "k8s_cluster_installation_param.packages.mirrors[].repository_url"}

// checkTargets refuses to scale the load balancer, and checks which control-plane nodes a heal
// replaces.
func (p *parameters) checkTargets(op *vnflcm.Operation) error {
	if err := p.Cluster.Balancer.CheckScaling(&newChecker(op).Checker); err != nil {
		return err
	}
	if op.Heal != nil && !op.WholeVNF() {
		return p.checkControlPlane(op)
	}
	return nil
}
