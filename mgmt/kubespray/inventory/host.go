package inventory

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// The variables that fields of a Node stand for.
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

// The dictionaries that hosts refer to.
const (
	secretsVariable = "vnfkit_secrets" //nolint:gosec // a name
	// valuesVariable has what an INI file cannot say: data that looks like a template.
	valuesVariable = "vnfkit_values"
)

// variable of a host. Its value is plain, see there.
type variable struct {
	name   string
	value  any
	secret bool
}

// field returns the value of the field that a variable stands for, nil if it is not set.
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

// variables are those of a checked node, in the order in which they are written.
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
		value, _ := plain(n.Vars[name]) // checked
		out = append(out, variable{name, value, false})
	}
	return out
}

// complete gives etcd hosts their member names.
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

// apart are values that are kept apart from their hosts, by host and variable.
type apart map[string]map[string]any

// host is a node as it is written: what is kept apart is a reference.
type host struct {
	Node
	lines []variable
}

// written puts what does not belong on the lines of the hosts into dictionaries. unquotable tells what the form cannot say.
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

// put keeps a value and returns the reference to it. The reference names the host, since inventory_hostname is another one in a
// delegated task; its filter `string` keeps Ansible from reading a password [1] as a list.
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
