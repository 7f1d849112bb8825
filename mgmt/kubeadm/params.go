package kubeadm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/cluster"
	"github.com/vnfkit/vnfkit/mgmt/internal/clusterparam"
	"github.com/vnfkit/vnfkit/mgmt/internal/vimentry"
	"github.com/vnfkit/vnfkit/mgmt/internal/vnfbalancer"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/nodeprep"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// parameters are the additionalParams that the driver reads. docs/kubeadm.md lists them for users.
type parameters struct {
	Cluster clusterParam `json:"k8s_cluster_installation_param"`
	restoreParam
	ChangePassOver []string `json:"change_pass_over"` // of a change of the package: checks whose refusal is a warning

	// Credentials in scale and heal requests, which replace those of the instantiate request.
	MasterUsername   string        `json:"master_node_username"`
	MasterPassword   vnflcm.Secret `json:"master_node_password"`
	MasterKey        vnflcm.Secret `json:"master_node_private_key"` // beyond Tacker
	MasterPassphrase vnflcm.Secret `json:"master_node_passphrase"`  // beyond Tacker
	WorkerUsername   string        `json:"worker_node_username"`
	WorkerPassword   vnflcm.Secret `json:"worker_node_password"`
	WorkerKey        vnflcm.Secret `json:"worker_node_private_key"` // beyond Tacker
	WorkerPassphrase vnflcm.Secret `json:"worker_node_passphrase"`  // beyond Tacker

	// Parameters of infra drivers, declared here so that the driver does not report them as unknown.
	UserData      string   `json:"lcm-operation-user-data"`
	UserDataClass string   `json:"lcm-operation-user-data-class"`
	VIMPassOver   []string `json:"vim_pass_over"`

	versions clusterVersions
}

// clusterVersions are the versions of the cluster before the operation. They are no parameters.
type clusterVersions struct {
	from     string                     // of the control plane before the operation, as far as the driver knows
	given    map[string]json.RawMessage // parameters of the cluster that the request of a later operation gives
	initial  *nodeprep.Packages         // of the instantiation
	upgraded upgraded
}

type clusterParam struct {
	ScriptPath          string      `json:"script_path"`
	VIMName             string      `json:"vim_name"`
	KubernetesVersion   string      `json:"kubernetes_version"`   // beyond Tacker
	ImageRepository     string      `json:"image_repository"`     // beyond Tacker
	CNIManifestPath     string      `json:"cni_manifest_path"`    // beyond Tacker
	APIEndpoint         string      `json:"api_endpoint"`         // beyond Tacker
	CertificateValidity string      `json:"certificate_validity"` // beyond Tacker; a duration, default 8760h
	Master              masterParam `json:"master_node"`
	Worker              nodeParam   `json:"worker_node"`
	Proxy               mgmt.Proxy  `json:"proxy"`

	Balancer *vnfbalancer.BalancerParam `json:"external_lb_param"` // Tacker's for kubespray
	pullSources
	DrainPolicy cluster.DrainPolicy `json:"drain_policy"` // beyond Tacker; default Fail
	HelmScript  string              `json:"helm_installation_script_path"`
	Storage     *storageParam       `json:"storage_server"`
	Packages    nodeprep.Packages   `json:"packages"`
	Flannel     flannelParam        `json:"flannel"`
	componentParam
	userParam                   // beyond Tacker
	Upgrade   upgradeParam      `json:"upgrade"`   // beyond Tacker; of requests to upgrade
	Preflight preflightParam    `json:"preflight"` // beyond Tacker
	Volumes   []nfsVolumeParam  `json:"pv_registration_params"`
	VIM       vimentry.VIMParam `json:"vim_registration"` // beyond Tacker
}

type nodeParam struct {
	AspectID  string `json:"aspect_id"`
	VDUID     string `json:"vdu_id"` // name in version 2 of Tacker's API
	SSHCPName string `json:"ssh_cp_name"`
	NICCPName string `json:"nic_cp_name"`
	mgmt.Login
	HostKeys mgmt.HostKeys `json:"host_keys"` // beyond Tacker
	nodeMarks
}

type masterParam struct {
	nodeParam
	PodCIDR        string `json:"pod_cidr"`
	ClusterCIDR    string `json:"cluster_cidr"`
	ClusterCPName  string `json:"cluster_cp_name"`
	ClusterFIPName string `json:"cluster_fip_name"`
}

// clusterPath is the path of most parameters.
const clusterPath = clusterparam.Path

// SecretParams implements vnflcm.SecretParams.
func (d *Driver) SecretParams() []string { return vnflcm.SecretPaths(parameters{}) }

// PublicParams implements vnflcm.PublicParams.
func (d *Driver) PublicParams() []string { return vnflcm.PublicPaths(parameters{}) }

// read decodes the parameters and fills in defaults. A value of a wrong type does not hide other faults.
func read(ctx context.Context, op *vnflcm.Operation) (*parameters, error) {
	p := &parameters{}
	_, err := op.Params.Decode(p)
	p.restoreParam = restoreParamOf(op)
	settings, err1 := clusterparam.ReadSettings(ctx, op)
	c := &p.Cluster
	c.Master.PodCIDR = cmp.Or(c.Master.PodCIDR, settings.PodCIDR)
	c.Master.ClusterCIDR = cmp.Or(c.Master.ClusterCIDR, settings.ClusterCIDR)
	c.KubernetesVersion = cmp.Or(c.KubernetesVersion, settings.KubernetesVersion)
	c.Master.Login, c.Worker.Login = p.override(c)
	return p, errors.Join(vnflcm.AtPath("additionalParams", err), err1, p.findUpgraded(ctx, op, settings.KubernetesVersion))
}

// changed returns the login old with the changes of given. A new password replaces an old key, and a new key replaces an
// old password.
func changed(old, given mgmt.Login) mgmt.Login {
	given.Username = cmp.Or(given.Username, old.Username)
	if given.Password.IsZero() && given.PrivateKey.IsZero() && given.Passphrase.IsZero() {
		given.Password, given.PrivateKey, given.Passphrase = old.Password, old.PrivateKey, old.Passphrase
	}
	return given
}

// warn logs parameters that are accepted but have no effect, or another effect than the name says. It is called once per
// operation, in Validate.
func (p *parameters) warn(ctx context.Context, op *vnflcm.Operation) {
	clusterparam.Warn(ctx, op, &parameters{}, p.Cluster.Master.PodCIDR, p.Cluster.Master.ClusterCIDR, p.Cluster.Proxy)
	if cp := p.Cluster.Master.ClusterCPName; cp != "" && p.Cluster.Balancer != nil {
		op.Log.WarnContext(ctx, "cluster_cp_name has no effect with external_lb_param, whose load balancer has the API",
			"attribute", clusterPath+".master_node.cluster_cp_name", "value", cp)
	}
	p.Cluster.Registries.Warn(ctx, op.Log, clusterPath+"."+registriesParam)
}

// checker collects the faults of the parameters against the package.
type checker struct{ clusterparam.Checker }

func newChecker(op *vnflcm.Operation) *checker { return &checker{clusterparam.Checker{Op: op}} }

// check finds every fault; the paths are relative to k8s_cluster_installation_param.
func (p *parameters) check(op *vnflcm.Operation) error {
	c := newChecker(op)
	k := &p.Cluster
	c.node("master_node", k.Master.nodeParam)
	c.node("worker_node", k.Worker)
	c.Workers(k.Master.SSHCPName, k.Worker.SSHCPName)
	if k.Master.ClusterCPName == "" && k.APIEndpoint == "" && k.Balancer == nil {
		c.Fault("master_node.cluster_cp_name", "", "is required")
	}
	c.Networks(&k.Master.PodCIDR, &k.Master.ClusterCIDR)
	if k.ScriptPath == "" {
		c.PodNetworkSize(k.Master.PodCIDR)
		c.ServiceNetworkSize(k.Master.ClusterCIDR)
	}
	c.File("script_path", k.ScriptPath)
	c.File("cni_manifest_path", k.CNIManifestPath)
	c.version(k.KubernetesVersion)
	c.apiEndpoint(k)
	c.externalBalancer(k)
	c.components(k)
	c.userConfig(k)
	c.validity(k)
	c.packages(k)
	c.flannel(k)
	c.marks("master_node", k.Master.nodeMarks)
	c.marks("worker_node", k.Worker.nodeMarks)
	c.File("helm_installation_script_path", k.HelmScript)
	c.Add(vnflcm.AtPath("proxy", k.Proxy.Validate()))
	c.registries(k)
	c.imageRepository(k)
	c.DrainPolicy(k.DrainPolicy)
	k.VIM.Check(&c.Checker)
	c.storage(k)
	c.preflight(k)
	return vnflcm.AtPath(clusterPath, c.Err())
}

func (c *checker) node(path string, n nodeParam) {
	c.Place(path, clusterparam.Place{AspectID: n.AspectID, VDUID: n.VDUID, SSHCPName: n.SSHCPName, NICCPName: n.NICCPName})
	c.Add(vnflcm.AtPath(path, errors.Join(n.Validate(""), n.HostKeys.Validate("host_keys"))))
}
