package inventory

import (
	"io/fs"
	"net/netip"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// Role is a role of a node in the cluster.
type Role string

// The roles.
const (
	ControlPlane   Role = "control-plane"
	Etcd           Role = "etcd"
	Worker         Role = "worker"
	RouteReflector Role = "route-reflector" // calico_rr
)

// Node is a host of the inventory.
type Node struct {
	// Name is the name in the inventory and of the Kubernetes node: RFC 1123, lower case.
	Name    string
	Address netip.Addr // ansible_host. Default: left out, Ansible connects to Name
	Port    int        // ansible_port. Default: Ansible's
	IP      netip.Addr // ip, the address for other nodes. Default: left out
	User    string     // ansible_user. Default: Ansible's
	// Password is ansible_password. Default: none, then a key is required.
	Password       vnflcm.Secret
	BecomePassword vnflcm.Secret // ansible_become_password. Default: none
	KeyFile        string        // ansible_ssh_private_key_file, a path of the Ansible server. Default: Ansible's
	Roles          []Role
	EtcdMember     string // etcd_member_name. Default for etcd hosts: etcd1, etcd2, ... in the order of Nodes
	// Groups are further groups of the host, in addition to those of its roles and `all`.
	Groups []string
	// Vars are further variables of the host. A value is a string (always data, even if it looks like a template), a
	// [Template], a [vnflcm.Secret], a bool, an integer, a float64, nil, or a []any, []string, map[string]any or
	// map[string]string of these. A vnflcm.Secret must be the whole value.
	Vars map[string]any
}

// Inventory describes the nodes and variables of a cluster. A [Generator] writes it as files.
type Inventory struct {
	Generation Generation // default: Current
	Nodes      []Node
	// GroupVars are variables by group. The groups have their names of the Current generation: all, k8s_cluster, kube_node,
	// ... Values are as in Node.Vars. A vnflcm.Secret is written to a separate file of mode 0600.
	GroupVars map[string]map[string]any
}

// Template is a value that Ansible evaluates as a Jinja template.
type Template string

// File is one file of an inventory.
type File struct {
	Path    string // relative to the directory of the inventory, with slashes
	Mode    fs.FileMode
	Content []byte
}

// Generator writes an inventory as files. The first file is the inventory itself, the argument of ansible-playbook -i. The
// error joins a *vnflcm.ParamError for every fault of the input. The caller must delete files that an earlier Generate
// returned and the present one does not.
type Generator interface {
	Generate(inv Inventory) ([]File, error)
}

// INI is a Generator for hosts.ini, the form of the specification.
type INI struct{ Options }

// YAML is a Generator for hosts.yaml.
type YAML struct{ Options }

// Options of INI and YAML.
type Options struct {
	// Secrets says where passwords are written. Default: SecretsFile.
	Secrets SecretsPlace
	// VaultPassword encrypts the files with secrets (Ansible Vault 1.1). Default: these files are not encrypted, and have
	// mode 0600.
	VaultPassword vnflcm.Secret
}

// SecretsPlace says where passwords are written.
type SecretsPlace string

// The places for passwords.
const (
	SecretsFile   SecretsPlace = "file"  // a file of variables of mode 0600 beside the inventory
	SecretsInline SecretsPlace = "hosts" // the lines of the hosts; the inventory then has mode 0600
)

// The names of the inventory files that Generate returns.
const (
	iniName  = "hosts.ini"
	yamlName = "hosts.yaml"
)

func (o Options) inventoryMode() fs.FileMode {
	if o.Secrets == SecretsInline {
		return 0o600
	}
	return 0o644
}
