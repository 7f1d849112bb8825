package kubespray

import (
	"cmp"
	"context"
	"errors"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/cluster"
	"github.com/vnfkit/vnfkit/mgmt/internal/clusterparam"
	"github.com/vnfkit/vnfkit/mgmt/internal/vimentry"
	"github.com/vnfkit/vnfkit/mgmt/internal/vnfbalancer"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// parameters are the additionalParams that the driver reads. docs/kubespray.md lists them for users.
type parameters struct {
	Cluster clusterParam `json:"k8s_cluster_installation_param"`

	// Parameters of infra drivers, declared here so that the driver does not report them as unknown.
	UserData      string   `json:"lcm-operation-user-data"`
	UserDataClass string   `json:"lcm-operation-user-data-class"`
	VIMPassOver   []string `json:"vim_pass_over"`
}

type clusterParam struct {
	ScriptPath string          `json:"script_path"` // empty in the specification; has no effect
	VIMName    string          `json:"vim_name"`
	Ansible    ansibleParam    `json:"ansible"`
	Master     masterParam     `json:"master_node"`
	Worker     nodeParam       `json:"worker_node"`
	Proxy      mgmt.Proxy      `json:"proxy"`
	Balancer   *balancerParam  `json:"external_lb_param"`
	Groups     groupNames      `json:"kubespray_groups"` // beyond Tacker
	Drain      drainPolicy     `json:"drain_policy"`     // beyond Tacker; default Fail
	VIM        vimRegistration `json:"vim_registration"` // beyond Tacker
}

type (
	drainPolicy     = cluster.DrainPolicy
	vimRegistration = vimentry.VIMParam
	balancerParam   = vnfbalancer.BalancerParam
)

type nodeParam struct {
	AspectID  string `json:"aspect_id"`
	VDUID     string `json:"vdu_id"` // name in version 2 of Tacker's API
	SSHCPName string `json:"ssh_cp_name"`
	NICCPName string `json:"nic_cp_name"`
	mgmt.Login
	HostKeys       mgmt.HostKeys `json:"host_keys"`       // beyond Tacker
	BecomePassword vnflcm.Secret `json:"become_password"` // beyond Tacker; default: the password
}

type masterParam struct {
	nodeParam
	PodCIDR       string `json:"pod_cidr"`
	ClusterCIDR   string `json:"cluster_cidr"`
	ClusterCPName string `json:"cluster_cp_name"` // connection point of the API if there is no load balancer; default nic_cp_name
}

// SecretParams implements vnflcm.SecretParams.
func (d *Driver) SecretParams() []string { return vnflcm.SecretPaths(parameters{}) }

// PublicParams implements vnflcm.PublicParams.
func (d *Driver) PublicParams() []string { return vnflcm.PublicPaths(parameters{}) }

// read decodes the parameters and fills in defaults. A value of a wrong type does not hide other faults.
func (d *Driver) read(ctx context.Context, op *vnflcm.Operation) (*parameters, error) {
	p := &parameters{}
	_, err := op.Params.Decode(p)
	settings, err1 := clusterparam.ReadSettings(ctx, op)
	m := &p.Cluster.Master
	m.PodCIDR = cmp.Or(m.PodCIDR, settings.PodCIDR)
	m.ClusterCIDR = cmp.Or(m.ClusterCIDR, settings.ClusterCIDR)
	if d.config.Server != nil {
		p.Cluster.Ansible.Root = cmp.Or(p.Cluster.Ansible.Root, d.config.Server.Root)
	}
	return p, errors.Join(vnflcm.AtPath("additionalParams", err), err1)
}

// warn logs parameters that are accepted but have no effect, or another effect than the name says. It is called once per
// operation, in Validate.
func (p *parameters) warn(ctx context.Context, op *vnflcm.Operation) {
	c := &p.Cluster
	if c.ScriptPath != "" {
		op.Log.WarnContext(ctx, "script_path has no effect: kubespray's playbooks make the nodes", "attribute", clusterparam.Path+".script_path")
	}
	clusterparam.Warn(ctx, op, &parameters{}, c.Master.PodCIDR, c.Master.ClusterCIDR, c.Proxy)
}

// Validate implements vnflcm.MgmtDriver.
func (d *Driver) Validate(ctx context.Context, op *vnflcm.Operation) error {
	if err := op.Check(); err != nil {
		return err
	}
	moved := op.CheckMoved(serverAddress, d.SecretParams())
	if op.Terminate != nil {
		return moved // any other wrong parameter must not prevent terminating
	}
	p, err := d.read(ctx, op)
	p.warn(ctx, op)
	if d.config.ConfirmWholeHeal {
		err = errors.Join(err, clusterparam.ConfirmWholeHeal(op))
	}
	return joined(err, d.check(p, op), moved, op.CheckAddresses(addresses, d.config.Allow.CheckHost), mgmt.CheckJumpHost(ctx, op))
}

// serverAddress are the attributes that say where the Ansible server is. The driver gives it the logins of all machines.
var serverAddress = []string{"k8s_cluster_installation_param.ansible.ip_address", "k8s_cluster_installation_param.ansible.port"}

// addresses are the attributes with addresses that the driver, or a program on the machines, connects to.
var addresses = []string{serverAddress[0], "k8s_cluster_installation_param.proxy.http_proxy", "k8s_cluster_installation_param.proxy.https_proxy"}
