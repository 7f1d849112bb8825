package inventory

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/vnfkit/vnfkit/vnflcm"
)

var (
	labelPattern    = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
	memberPattern   = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$`)
	variablePattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// faults collects the faults of an inventory.
type faults []error

func (f *faults) add(path, value, format string, args ...any) {
	*f = append(*f, &vnflcm.ParamError{Path: path, Value: value, Reason: fmt.Sprintf(format, args...)})
}

// check returns all faults of an inventory and its options.
func check(inv Inventory, o Options) error {
	var f faults
	switch inv.Generation {
	case "", Current, Legacy:
	default:
		f.add("generation", string(inv.Generation), "must be %q or %q", Current, Legacy)
	}
	switch o.Secrets {
	case "", SecretsFile, SecretsInline:
	default:
		f.add("secrets", string(o.Secrets), "must be %q or %q", SecretsFile, SecretsInline)
	}
	if vault := o.VaultPassword.Reveal(); strings.TrimSpace(vault) != vault {
		f.add("vault_password", "", "must not begin or end with white space: Ansible leaves that out when it reads the password from a file")
	}
	names, members := map[string]int{}, map[string]int{}
	for i, n := range inv.Nodes {
		path := fmt.Sprintf("nodes[%d]", i)
		if first, taken := names[n.Name]; taken {
			f.add(path+".name", n.Name, "is also the name of nodes[%d]", first)
		} else {
			names[n.Name] = i
		}
		if n.EtcdMember != "" {
			if first, taken := members[n.EtcdMember]; taken {
				f.add(path+".etcd_member_name", n.EtcdMember, "is also that of nodes[%d]; where it is not given it is etcd1, etcd2, ... in order", first)
			} else {
				members[n.EtcdMember] = i
			}
		}
		f.checkNode(path, n)
	}
	f.checkGroups(inv)
	return errors.Join(f...)
}

// checkGroups checks the names of groups and their variables. It refuses a node with the name of a group, because Ansible
// cannot tell a host from a group of the same name.
func (f *faults) checkGroups(inv Inventory) {
	groups := map[string]bool{"ungrouped": true, groupAll: true, groupEtcd: true, groupControlPlane: true}
	for _, n := range inv.Nodes {
		for _, group := range n.Groups {
			groups[group] = true
		}
	}
	for i, n := range inv.Nodes {
		if groups[n.Name] || currentGroup(n.Name) != n.Name {
			f.add(fmt.Sprintf("nodes[%d].name", i), n.Name, "is the name of a group")
		}
	}
	for _, group := range slices.Sorted(maps.Keys(inv.GroupVars)) {
		path := "group_vars." + group
		if !variablePattern.MatchString(group) {
			f.add(path, group, "must be the name of a group: letters, digits and _, not a digit first, in the Current generation's spelling")
		}
		f.checkVars(path, inv.GroupVars[group])
		if group == groupAll && inv.GroupVars[group][secretsVariable] != nil {
			f.add(path+"."+secretsVariable, "", "is the variable that the passwords are kept in")
		}
	}
}

func (f *faults) checkNode(path string, n Node) {
	if len(n.Name) > 253 || slices.ContainsFunc(strings.Split(n.Name, "."), func(label string) bool { return !labelPattern.MatchString(label) }) {
		f.add(path+".name", n.Name, "must be a name of a Kubernetes node (RFC 1123): at most 253 of lower-case letters, digits, - and ., labels of at most 63 which begin and end with a letter or digit")
	}
	f.checkAddress(path+".address", n.Address)
	f.checkAddress(path+".ip", n.IP)
	if n.Port < 0 || n.Port > 65535 {
		f.add(path+".port", fmt.Sprint(n.Port), "must be between 1 and 65535")
	}
	for _, field := range []struct{ name, value string }{{".user", n.User}, {".key_file", n.KeyFile}} {
		if !utf8.ValidString(field.value) || strings.ContainsFunc(field.value, unicode.IsControl) || strings.Contains(field.value, `"`) {
			f.add(path+field.name, field.value, `must not have control characters or ": they cannot be given to ssh`)
		}
	}
	for _, field := range []struct {
		name  string
		value vnflcm.Secret
	}{{".password", n.Password}, {".become_password", n.BecomePassword}} {
		if text := field.value.Reveal(); !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
			f.add(path+field.name, "", "must be UTF-8 text without control characters: Ansible types passwords at a terminal, which acts on those")
		}
	}
	if n.EtcdMember != "" && !memberPattern.MatchString(n.EtcdMember) {
		f.add(path+".etcd_member_name", n.EtcdMember, "must be at most 63 letters, digits, _, . and -, a letter or digit first and last")
	}
	for i, role := range n.Roles {
		at := fmt.Sprintf("%s.roles[%d]", path, i)
		if !slices.ContainsFunc(roleGroups, func(each roleGroup) bool { return each.role == role }) {
			f.add(at, string(role), "must be %q, %q, %q or %q", ControlPlane, Etcd, Worker, RouteReflector)
		}
		if slices.Contains(n.Roles[:i], role) {
			f.add(at, string(role), "is given twice")
		}
	}
	for i, group := range n.Groups {
		at := fmt.Sprintf("%s.groups[%d]", path, i)
		switch {
		case !variablePattern.MatchString(strings.ReplaceAll(group, "-", "_")):
			f.add(at, group, "must be letters, digits, - and _, not a digit first")
		case ofKubespray(currentGroup(group)) || group == "ungrouped":
			f.add(at, group, "is a group of kubespray or Ansible: it follows from the roles")
		case slices.Contains(n.Groups[:i], group):
			f.add(at, group, "is given twice")
		}
	}
	f.checkVars(path+".vars", n.Vars)
	for _, name := range managed {
		if _, given := n.Vars[name]; given && n.field(name) != nil {
			f.add(path+".vars."+name, "", "is said twice, in vars and by a field of the node")
		}
	}
}

func (f *faults) checkAddress(path string, a netip.Addr) {
	if a.IsValid() && (a.Zone() != "" || a.IsUnspecified() || a.IsMulticast()) {
		f.add(path, a.String(), "must be the address of one machine, without a zone")
	}
}

func (f *faults) checkVars(path string, vars map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		at := path + "." + name
		if !variablePattern.MatchString(name) {
			f.add(at, "", "must be the name of a variable: letters, digits and _, not a digit first")
		}
		if secret, isSecret := vars[name].(vnflcm.Secret); isSecret {
			if !utf8.ValidString(secret.Reveal()) {
				f.add(at, "", "must be UTF-8 text")
			}
			continue
		}
		if _, err := plain(vars[name]); err != nil {
			f.add(at, "", "%v", err)
		}
	}
}
