package inventory

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// The variables that hold the fields of a Node.
const (
	varHost     = "ansible_host"
	varPort     = "ansible_port"
	varIP       = "ip"
	varMember   = "etcd_member_name"
	varUser     = "ansible_user"
	varPassword = "ansible_password"
	varBecome   = "ansible_become_password"
	varKey      = "ansible_ssh_private_key_file"
)

// managed are the variables of the fields, in the order of the specification's sample.
var managed = []string{varHost, varPort, varIP, varMember, varUser, varPassword, varBecome, varKey}

// The variables with dictionaries that hosts refer to.
const (
	secretsVariable = "vnfkit_secrets" //nolint:gosec // a name
	// valuesVariable has the values that an INI file cannot quote: data that looks like a template.
	valuesVariable = "vnfkit_values"
)

// variable is a variable of a host. Its value is of a type that plain returns.
type variable struct {
	name   string
	value  any
	secret bool
}

// field returns the value of the field that a variable holds, or nil if the field is not set.
func (n Node) field(name string) any {
	var text string
	switch name {
	case varHost:
		return address(n.Address)
	case varPort:
		if n.Port == 0 {
			return nil
		}
		return int64(n.Port)
	case varIP:
		return address(n.IP)
	case varMember:
		text = n.EtcdMember
	case varUser:
		text = n.User
	case varPassword:
		text = n.Password.Reveal()
	case varBecome:
		text = n.BecomePassword.Reveal()
	case varKey:
		text = n.KeyFile
	}
	if text == "" {
		return nil
	}
	return text
}

func address(a netip.Addr) any {
	if !a.IsValid() {
		return nil
	}
	return a.Unmap().String()
}

// variables returns the variables of a checked node, in the order in which they are written.
func (n Node) variables() []variable {
	var out []variable
	for _, name := range managed {
		if value := n.field(name); value != nil {
			out = append(out, variable{name, value, name == varPassword || name == varBecome})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(n.Vars)) {
		if secret, isSecret := n.Vars[name].(vnflcm.Secret); isSecret {
			out = append(out, variable{name, secret.Reveal(), true})
			continue
		}
		value, _ := plain(n.Vars[name]) // check has found no error
		out = append(out, variable{name, value, false})
	}
	return out
}

// complete sets the member names of etcd hosts that have none.
func complete(inv Inventory) Inventory {
	inv.Nodes = slices.Clone(inv.Nodes)
	count := 0
	for i := range inv.Nodes {
		n := &inv.Nodes[i]
		if !slices.Contains(n.Roles, Etcd) {
			continue
		}
		count++
		if _, given := n.Vars[varMember]; n.EtcdMember == "" && !given {
			n.EtcdMember = fmt.Sprintf("etcd%d", count)
		}
	}
	return inv
}

// apart are the values that are written into a dictionary instead of the line of their host, by host and variable.
type apart map[string]map[string]any

// host is a node as it is written: values in dictionaries are replaced by references.
type host struct {
	Node
	lines []variable
}

// written moves values that must not be on the lines of the hosts into dictionaries: secrets, and values for which
// unquotable returns true, because the form cannot quote them.
func written(nodes []Node, o Options, unquotable func(any) bool) (hosts []host, secrets, values apart) {
	secrets, values = apart{}, apart{}
	for _, n := range nodes {
		h := host{Node: n, lines: n.variables()}
		for i, v := range h.lines {
			switch {
			case v.secret && (o.Secrets != SecretsInline || unquotable(v.value)):
				h.lines[i].value = secrets.put(secretsVariable, n.Name, v)
			case unquotable(v.value):
				h.lines[i].value = values.put(valuesVariable, n.Name, v)
			}
		}
		hosts = append(hosts, h)
	}
	return hosts, secrets, values
}

// put stores a value and returns a template that refers to it. The template has the name of the host, because
// inventory_hostname is another host's name in a delegated task. The filter `string` prevents Ansible from reading a
// password such as [1] as a list.
func (a apart) put(dictionary, host string, v variable) Template {
	if a[host] == nil {
		a[host] = map[string]any{}
	}
	a[host][v.name] = v.value
	filter := ""
	if _, isText := v.value.(string); isText {
		filter = " | string"
	}
	return Template(fmt.Sprintf("{{ %s['%s']['%s']%s }}", dictionary, host, v.name, filter))
}
