package kubespray

import (
	"errors"
	"fmt"
	"net/netip"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/vnfkit/vnfkit/mgmt/internal/clusterparam"
	"github.com/vnfkit/vnfkit/mgmt/internal/vnfbalancer"
	"github.com/vnfkit/vnfkit/mgmt/kubespray/inventory"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

func joined(errs ...error) error { return errors.Join(errs...) }

// checker collects the faults of the parameters against the package.
type checker struct{ clusterparam.Checker }

// check finds every fault of the parameters, and requests that kubespray cannot carry out on this cluster.
func (d *Driver) check(p *parameters, op *vnflcm.Operation) error {
	c := &checker{clusterparam.Checker{Op: op}}
	k := &p.Cluster
	c.node("master_node", k.Master.nodeParam)
	c.node("worker_node", k.Worker)
	c.Workers(k.Master.SSHCPName, k.Worker.SSHCPName)
	c.CP("master_node.cluster_cp_name", k.Master.ClusterCPName)
	c.networks(&k.Master)
	c.ansible(k.Ansible, d.config.Server != nil)
	k.Balancer.Check(&c.Checker, vnfbalancer.Role{Machines: "control-plane nodes", CP: k.Master.SSHCPName}, vnfbalancer.Role{Machines: "workers", CP: k.Worker.SSHCPName})
	c.Add(vnflcm.AtPath("proxy", k.Proxy.Validate()))
	c.groups(k.Groups)
	c.DrainPolicy(k.Drain)
	k.VIM.Check(&c.Checker)
	return joined(vnflcm.AtPath(clusterparam.Path, c.Err()), c.odd(k.Master.SSHCPName), c.targets(k))
}

func (c *checker) node(at string, n nodeParam) {
	c.Place(at, clusterparam.Place{AspectID: n.AspectID, VDUID: n.VDUID, SSHCPName: n.SSHCPName, NICCPName: n.NICCPName})
	c.Add(errors.Join(n.Validate(at+"."), n.HostKeys.Validate(at+".host_keys")))
}

// odd refuses an even number of control-plane nodes, because each of them runs etcd. kubespray refuses an even number too
// (roles/kubernetes/preinstall, "Stop if even number of etcd hosts"), but only after the machines have been created.
func (c *checker) odd(controlPlaneCP string) error {
	vdu := c.Op.VDUOf(controlPlaneCP)
	if c.Op.Kind != vnflcm.OpInstantiate || vdu == "" {
		return nil
	}
	numbers, err := c.Op.Instances()
	if n := numbers[vdu]; err == nil && n%2 == 0 {
		return &vnflcm.ParamError{Path: "flavourId", Value: c.Op.Flavour.ID, Reason: fmt.Sprintf(
			"with its scale levels gives VDU %s %d machines: kubespray takes an odd number of control-plane nodes only, since etcd is on each; choose a flavour or levels with 1, 3 or 5", vdu, n)}
	}
	return err
}

// networks refuses IPv6: kubespray has separate variables for IPv6, and they differ between its versions.
func (c *checker) networks(m *masterParam) {
	c.Networks(&m.PodCIDR, &m.ClusterCIDR)
	c.ServiceNetworkSize(m.ClusterCIDR) // how pod_cidr is divided, operators may change (kube_network_node_prefix)
	for _, n := range []struct{ name, value string }{{"pod_cidr", m.PodCIDR}, {"cluster_cidr", m.ClusterCIDR}} {
		if prefix, err := netip.ParsePrefix(n.value); err == nil && !prefix.Addr().Is4() {
			c.Fault("master_node."+n.name, n.value, "must be an IPv4 network: clusters of kubespray are made with IPv4")
		}
	}
}

// groupNames is the type of the parameter kubespray_groups.
type groupNames string

// auto chooses the names of the groups by the version of kubespray. It is the default.
const auto groupNames = "auto"

func (c *checker) groups(g groupNames) {
	switch g {
	case "", auto, groupNames(inventory.Current), groupNames(inventory.Legacy):
	default:
		c.Fault("kubespray_groups", string(g), `must be "auto", "current" or "legacy"`)
	}
}

// generation returns the group names that this version of kubespray uses: kube_node since 2.16 (kubespray, "Rename ansible
// groups to use _ instead of -").
func (g groupNames) generation(version string) inventory.Generation {
	switch {
	case g != "" && g != auto:
		return inventory.Generation(g)
	case olderThan(version, 2, 16):
		return inventory.Legacy
	}
	return inventory.Current
}

// olderThan reports whether a version such as 2.15.1 is older than major.minor. It returns false for a version that it
// cannot parse.
func olderThan(version string, major, minor int) bool {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(parts) < 2 {
		return false
	}
	a, err1 := strconv.Atoi(parts[0])
	b, err2 := strconv.Atoi(parts[1])
	return err1 == nil && err2 == nil && (a < major || a == major && b < minor)
}

// targets refuses scaling or healing single machines for which kubespray has no playbook.
func (c *checker) targets(k *clusterParam) error {
	if k.Master.SSHCPName != "" && c.Scales(k.Master.SSHCPName) {
		return &vnflcm.ParamError{Path: "aspectId", Value: c.Op.Scale.AspectID, Reason: "control-plane nodes cannot be scaled: choose their number when instantiating"}
	}
	if err := k.Balancer.CheckScaling(&c.Checker); err != nil {
		return err
	}
	if c.Op.Heal == nil || c.Op.WholeVNF() {
		return nil
	}
	var faults []error
	for _, v := range c.Op.HealTargets() {
		if vdu := c.Op.VDUOf(k.Master.SSHCPName); vdu != "" && v.VDU == vdu {
			faults = append(faults, &vnflcm.ParamError{Path: "vnfcInstanceId", Value: v.ID,
				Reason: "is a control-plane node: kubespray has no playbook that replaces one; heal the whole VNF (without vnfcInstanceId)"})
		}
	}
	return errors.Join(faults...)
}

// pathForm matches the paths on the Ansible server that the driver accepts. A path becomes a part of options of ssh, where
// other characters have a meaning.
var pathForm = regexp.MustCompile(`^/[A-Za-z0-9._/@+-]+$`)

func goodPath(text string) bool {
	return pathForm.MatchString(text) && path.Clean(text) == strings.TrimSuffix(text, "/") && text != "/"
}

const pathReason = "must be an absolute path of letters, digits and . _ @ + - without /../"

func (c *checker) ansible(a ansibleParam, ours bool) {
	const at = "ansible."
	switch {
	case a.Address == "" && ours:
		if a.ownLogin() {
			c.Fault(at+"ip_address", "", "is required with a username, password or key: without it the Ansible server of the VNFM is used")
		}
	case a.Address == "":
		c.Fault(at+"ip_address", "", "is required: the VNFM has no default Ansible server")
	default:
		c.server(a)
	}
	for _, p := range []struct{ name, value string }{{"kubespray_root_path", a.Root}, {"transferring_inventory_path", a.Inventory}} {
		if p.value != "" && !goodPath(p.value) {
			c.Fault(at+p.name, p.value, pathReason)
		}
	}
	if a.Root == "" {
		c.Fault(at+"kubespray_root_path", "", "is required")
	}
}

// server checks the parameters of the connection to the Ansible server.
func (c *checker) server(a ansibleParam) {
	const at = "ansible."
	if _, err := netip.ParseAddr(a.Address); err != nil && !hostName.MatchString(a.Address) {
		c.Fault(at+"ip_address", a.Address, "must be an address or a host name")
	}
	if a.Port < 0 || a.Port > 65535 {
		c.Fault(at+"port", strconv.Itoa(a.Port), "must be from 1 to 65535")
	}
	c.Add(a.Validate(at))
	if a.HostKey != "" {
		if _, err := sshexec.PinnedHostKeys(a.HostKey); err != nil {
			c.Fault(at+"host_key", "", "must be a public key in authorized_keys form, as ssh-keyscan writes it after the host name")
		}
	}
}

// hostName matches host names. A name must have a letter: a text without letters is an address, perhaps mistyped.
var hostName = regexp.MustCompile(`^[A-Za-z0-9.-]{0,252}[A-Za-z][A-Za-z0-9.-]{0,252}$`)
