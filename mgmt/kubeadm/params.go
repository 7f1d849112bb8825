package kubeadm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"slices"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/cluster"
	"github.com/vnfkit/vnfkit/mgmt/registry"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// parameters are the additionalParams that the driver reads. docs/kubeadm.md lists them for users.
type parameters struct {
	Cluster clusterParam `json:"k8s_cluster_installation_param"`

	// Scale and heal requests may give other credentials than instantiate did.
	MasterUsername string        `json:"master_node_username"`
	MasterPassword vnflcm.Secret `json:"master_node_password"`
	WorkerUsername string        `json:"worker_node_username"`
	WorkerPassword vnflcm.Secret `json:"worker_node_password"`

	// For infra drivers; named here so that they do not count as unknown.
	UserData      string `json:"lcm-operation-user-data"`
	UserDataClass string `json:"lcm-operation-user-data-class"`
}

type clusterParam struct {
	ScriptPath        string      `json:"script_path"`
	VIMName           string      `json:"vim_name"`
	KubernetesVersion string      `json:"kubernetes_version"` // beyond Tacker
	CNIManifestPath   string      `json:"cni_manifest_path"`  // beyond Tacker
	APIEndpoint       string      `json:"api_endpoint"`       // beyond Tacker
	Master            masterParam `json:"master_node"`
	Worker            nodeParam   `json:"worker_node"`
	Proxy             mgmt.Proxy  `json:"proxy"`

	Registries  registry.Connections `json:"private_registry_connection_info"`
	DrainPolicy cluster.DrainPolicy  `json:"drain_policy"` // beyond Tacker; default Fail
	HelmScript  string               `json:"helm_installation_script_path"`
	Storage     any                  `json:"storage_server"`
	Packages    packagesParam        `json:"packages"`
	Flannel     flannelParam         `json:"flannel"`
	componentParam
	Volumes any      `json:"pv_registration_params"`
	VIM     vimParam `json:"vim_registration"` // beyond Tacker
}

type nodeParam struct {
	AspectID  string        `json:"aspect_id"`
	SSHCPName string        `json:"ssh_cp_name"`
	NICCPName string        `json:"nic_cp_name"`
	Username  string        `json:"username"`
	Password  vnflcm.Secret `json:"password"`
	nodeMarks
}

type masterParam struct {
	nodeParam
	PodCIDR        string `json:"pod_cidr"`
	ClusterCIDR    string `json:"cluster_cidr"`
	ClusterCPName  string `json:"cluster_cp_name"`
	ClusterFIPName string `json:"cluster_fip_name"`
}

// clusterPath is where most parameters are.
const clusterPath = "additionalParams.k8s_cluster_installation_param"

// The defaults of Tacker, and the version that the sandbox simulates.
const (
	defaultPodCIDR     = "192.168.0.0/16"
	defaultClusterCIDR = "10.96.0.0/12"
	defaultVersion     = "1.34.4"
)

// SecretParams implements vnflcm.SecretParams.
func (d *Driver) SecretParams() []string { return vnflcm.SecretPaths(parameters{}) }

// read decodes the parameters and fills in defaults. The fault of a wrong type does not hide others.
func read(op *vnflcm.Operation) (*parameters, error) {
	p := &parameters{}
	_, err := op.Params.Decode(p)
	c := &p.Cluster
	c.Master.PodCIDR = cmp.Or(c.Master.PodCIDR, defaultPodCIDR)
	c.Master.ClusterCIDR = cmp.Or(c.Master.ClusterCIDR, defaultClusterCIDR)
	c.KubernetesVersion = cmp.Or(c.KubernetesVersion, defaultVersion)
	c.Master.Username = cmp.Or(p.MasterUsername, c.Master.Username)
	c.Worker.Username = cmp.Or(p.WorkerUsername, c.Worker.Username)
	if !p.MasterPassword.IsZero() {
		c.Master.Password = p.MasterPassword
	}
	if !p.WorkerPassword.IsZero() {
		c.Worker.Password = p.WorkerPassword
	}
	return p, vnflcm.AtPath("additionalParams", err)
}

// warn names what is accepted but is not, or not as given, put to use. Once per operation: in Validate.
func (p *parameters) warn(ctx context.Context, op *vnflcm.Operation) {
	unknown, _ := op.Params.Decode(&parameters{}) // read has reported the error
	for _, name := range unknown {
		op.Log.WarnContext(ctx, "attribute is not known and has no effect", "attribute", "additionalParams."+name)
	}
	master := &p.Cluster.Master
	for _, n := range []struct{ name, given string }{{"pod_cidr", master.PodCIDR}, {"cluster_cidr", master.ClusterCIDR}} {
		if prefix, err := netip.ParsePrefix(n.given); err == nil && prefix != prefix.Masked() {
			op.Log.WarnContext(ctx, "network has host bits set; they are masked", "attribute", clusterPath+".master_node."+n.name,
				"given", n.given, "used", prefix.Masked())
		}
	}
	p.Cluster.Registries.Warn(ctx, op.Log, clusterPath+"."+registriesParam)
	if proxy := p.Cluster.Proxy; !proxy.Used() && (!proxy.HTTPProxy.IsZero() || !proxy.HTTPSProxy.IsZero()) {
		op.Log.WarnContext(ctx, "the proxy is not used: it takes both http_proxy and https_proxy", "attribute", clusterPath+".proxy")
	}
}

// checker collects the faults of the parameters against the package.
type checker struct {
	op     *vnflcm.Operation
	faults []error
}

func (c *checker) fault(path, value, reason string) {
	c.faults = append(c.faults, &vnflcm.ParamError{Path: path, Value: value, Reason: reason})
}

// check finds every fault; the paths are relative to k8s_cluster_installation_param.
func (p *parameters) check(op *vnflcm.Operation) error {
	c := &checker{op: op}
	k := &p.Cluster
	c.node("master_node", k.Master.nodeParam)
	c.node("worker_node", k.Worker)
	if vdu := c.vduOf(k.Master.SSHCPName); vdu != "" && vdu == c.vduOf(k.Worker.SSHCPName) {
		c.fault("worker_node.ssh_cp_name", k.Worker.SSHCPName, "is of VDU "+vdu+", whose machines are control-plane nodes")
	}
	if k.Master.ClusterCPName == "" && k.APIEndpoint == "" {
		c.fault("master_node.cluster_cp_name", "", "is required")
	}
	c.networks(&k.Master)
	c.file("script_path", k.ScriptPath)
	c.file("cni_manifest_path", k.CNIManifestPath)
	c.version(k.KubernetesVersion)
	c.apiEndpoint(k)
	c.components(k)
	c.packages(k)
	c.flannel(k)
	c.marks("master_node", k.Master.nodeMarks)
	c.marks("worker_node", k.Worker.nodeMarks)
	c.file("helm_installation_script_path", k.HelmScript)
	c.faults = append(c.faults, vnflcm.AtPath("proxy", k.Proxy.Validate()))
	c.registries(k)
	c.drainPolicy(k.DrainPolicy)
	c.vim(k.VIM)
	c.unsupported(k)
	return vnflcm.AtPath(clusterPath, errors.Join(c.faults...))
}

func (c *checker) node(path string, n nodeParam) {
	for _, required := range []struct {
		name    string
		missing bool
	}{{"ssh_cp_name", n.SSHCPName == ""}, {"username", n.Username == ""}, {"password", n.Password.IsZero()}} {
		if required.missing {
			c.fault(path+"."+required.name, "", "is required")
		}
	}
	for _, cp := range []struct{ name, value string }{{"ssh_cp_name", n.SSHCPName}, {"nic_cp_name", n.NICCPName}} {
		if cp.value != "" && c.vduOf(cp.value) == "" {
			c.fault(path+"."+cp.name, cp.value, "the flavour has no such connection point")
		}
	}
	vdu := c.vduOf(n.SSHCPName)
	if nic := c.vduOf(n.NICCPName); vdu != "" && nic != "" && nic != vdu {
		c.fault(path+".nic_cp_name", n.NICCPName, fmt.Sprintf("is of VDU %s, but ssh_cp_name is of VDU %s", nic, vdu))
	}
	if vdu != "" && n.AspectID != "" && !slices.Contains(c.op.Flavour.AspectsOf(vdu), n.AspectID) {
		c.fault(path+".aspect_id", n.AspectID, fmt.Sprintf("does not scale VDU %s, which has connection point %s", vdu, n.SSHCPName))
	}
}

func (c *checker) vduOf(cp string) string {
	for _, known := range c.op.Flavour.CPs {
		if known.ID == cp {
			return known.VDU
		}
	}
	return ""
}

// networks parses the CIDRs. Host bits are masked, since the meaning is clear: Tacker's own guide has some.
func (c *checker) networks(m *masterParam) {
	var parsed []netip.Prefix
	for _, n := range []struct {
		path  string
		value *string
	}{{"master_node.pod_cidr", &m.PodCIDR}, {"master_node.cluster_cidr", &m.ClusterCIDR}} {
		prefix, err := netip.ParsePrefix(*n.value)
		if err != nil {
			c.fault(n.path, *n.value, "must be a network such as 10.244.0.0/16")
			continue
		}
		*n.value = prefix.Masked().String()
		parsed = append(parsed, prefix.Masked())
	}
	if len(parsed) == 2 && parsed[0].Overlaps(parsed[1]) {
		c.fault("master_node.pod_cidr", m.PodCIDR, "overlaps cluster_cidr "+m.ClusterCIDR)
	}
}

func (c *checker) file(path, name string) {
	if name == "" {
		return
	}
	if _, err := c.op.Package.Artifact(name); err != nil {
		reason := err.Error()
		if errors.Is(err, fs.ErrNotExist) {
			reason = "the package has no such file"
		}
		c.fault(path, name, reason)
	}
}

// unsupported refuses what Tacker knows and this driver does not yet do: it must not be dropped in silence.
func (c *checker) unsupported(p *clusterParam) {
	for _, asked := range []struct {
		path  string
		given bool
	}{
		{"storage_server", p.Storage != nil}, {"pv_registration_params", p.Volumes != nil},
	} {
		if asked.given {
			c.fault(asked.path, "", "is not supported yet")
		}
	}
}

func (c *checker) drainPolicy(policy cluster.DrainPolicy) {
	switch policy {
	case "", cluster.DrainFail, cluster.DrainDelete, cluster.DrainContinue:
	default:
		c.fault("drain_policy", string(policy), fmt.Sprintf("must be %s, %s or %s", cluster.DrainFail, cluster.DrainDelete, cluster.DrainContinue))
	}
}
