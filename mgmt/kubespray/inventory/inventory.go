package inventory

import (
	"io/fs"
	"net/netip"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// Role is what a node is in the cluster.
type Role string

// The roles.
const (
	ControlPlane   Role = "control-plane"
	Etcd           Role = "etcd"
	Worker         Role = "worker"
	RouteReflector Role = "route-reflector" // calico_rr
)

// Node is a machine of the inventory.
type Node struct {
	// Name in the inventory, also the name of the Kubernetes node: RFC 1123, lower case.
	Name    string
	Address netip.Addr // ansible_host. Default: left out, Ansible connects to Name
	Port    int        // ansible_port. Default: Ansible's
	IP      netip.Addr // ip: by which the other nodes know it. Default: left out
	User    string     // ansible_user. Default: Ansible's
	// Password is ansible_password. Default: none, a key is needed.
	Password       vnflcm.Secret
	BecomePassword vnflcm.Secret // ansible_become_password. Default: none
	KeyFile        string        // ansible_ssh_private_key_file, a path of the Ansible server. Default: Ansible's
	Roles          []Role
	EtcdMember     string // etcd_member_name. Default for etcd hosts: etcd1, etcd2, ... in their order
	// Groups are further groups of the host, beyond those of its roles and `all`, which every host is in.
	Groups []string
	// Vars are further variables of the host. A value is a string (data, whatever it looks like), a [Template], a
	// [vnflcm.Secret], a bool, an integer, a float64, nil, or a []any, []string, map[string]any, map[string]string of those without Secret.
	Vars map[string]any
}

// Inventory is what there is to be written.
type Inventory struct {
	Generation Generation // default: Current
	Nodes      []Node
	// GroupVars are variables by group, named as in the Current generation: all, k8s_cluster, kube_node, ... Values
	// are as in Node.Vars. A vnflcm.Secret is written to a file of its own, of mode 0600.
	GroupVars map[string]map[string]any
}

// Template is the value of a variable that Ansible is to evaluate as a Jinja template.
type Template string

// File is a part of an inventory on disk.
type File struct {
	Path    string // relative to the directory of the inventory, with slashes
	Mode    fs.FileMode
	Content []byte
}

// Generator makes the files of an inventory. The first file is the inventory itself, what ansible-playbook is given
// with -i. Bad input is a *vnflcm.ParamError for each fault, joined. Files that an earlier Generate returned and this one does
// not are to be removed by who writes them.
type Generator interface {
	Generate(inv Inventory) ([]File, error)
}

// INI is a Generator of the specification's form, hosts.ini.
type INI struct{ Options }

// YAML is a Generator of hosts.yaml.
type YAML struct{ Options }

// Options of both forms.
type Options struct {
	// Secrets says where passwords are. Default: SecretsFile.
	Secrets SecretsPlace
	// VaultPassword encrypts the files with the secrets (Ansible Vault 1.1). Default: they are in
	// clear, of mode 0600.
	VaultPassword vnflcm.Secret
}

// SecretsPlace says where passwords are.
type SecretsPlace string

// The places.
const (
	SecretsFile   SecretsPlace = "file"  // in a variables file of mode 0600 beside the inventory
	SecretsInline SecretsPlace = "hosts" // on the lines of the hosts: the inventory has mode 0600 then
)

// The names of inventories that Generate gives.
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
