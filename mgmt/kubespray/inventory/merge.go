package inventory

import (
	"fmt"
	"reflect"
	"slices"
)

// aliases are further names of the variables that fields stand for: left on a host they would contradict them.
var aliases = []string{
	"ansible_ssh_host", "ansible_ssh_port", "ansible_ssh_user", "ansible_ssh_pass", "ansible_ssh_password", "ansible_become_pass", "ansible_private_key_file",
}

// merge is what both forms do to an existing inventory.
type merge struct {
	inv    Inventory
	hosts  map[string]host
	names  []string        // of our hosts, in order
	gone   map[string]bool // hosts that were ours
	before *tree
}

func newMerge(inv Inventory, hosts []host, former []string, before *tree) *merge {
	m := &merge{inv: inv, hosts: map[string]host{}, gone: map[string]bool{}, before: before}
	for _, h := range hosts {
		m.hosts[h.Name] = h
		m.names = append(m.names, h.Name)
	}
	for _, name := range former {
		if _, stays := m.hosts[name]; !stays {
			m.gone[name] = true
		}
	}
	return m
}

// value returns what a host that is ours has by a name.
func (m *merge) value(host, name string) (any, bool) {
	for _, v := range m.hosts[host].lines {
		if v.name == name {
			return v.value, true
		}
	}
	return nil, false
}

// ours reports whether a variable of one of our hosts is ours to set and to remove.
func (m *merge) ours(host, name string) bool {
	_, given := m.value(host, name)
	return given || slices.Contains(managed, name) || slices.Contains(aliases, name)
}

// belongs reports whether a host of ours that is in a group may stay there: the groups of the roles have whom the roles say, in others
// are also those whom somebody else put there.
func (m *merge) belongs(host, group string) bool {
	if m.gone[host] {
		return false
	}
	role, isRole := roleOf(currentGroup(group))
	if !isRole {
		return true
	}
	return group == m.inv.Generation.group(currentGroup(group)) && slices.Contains(m.hosts[host].Roles, role)
}

// missing are the hosts that a group is to have and has not, neither itself nor by a group below it.
func (m *merge) missing(want parent, listed map[string]bool) []string {
	below := m.before.below(want.name)
	var out []string
	for _, name := range want.children {
		covered := slices.ContainsFunc(roleGroups, func(each struct {
			role  Role
			group string
		}) bool {
			return below[m.inv.Generation.group(each.group)] && slices.Contains(m.hosts[name].Roles, each.role)
		})
		if !listed[name] && !covered {
			out = append(out, name)
		}
	}
	return out
}

// below are the groups in a group.
func (t *tree) below(name string) map[string]bool {
	out := map[string]bool{}
	for queue := []string{name}; len(queue) > 0; queue = queue[1:] {
		if g := t.groups[queue[0]]; g != nil {
			for _, child := range g.children {
				if !out[child] {
					out[child] = true
					queue = append(queue, child)
				}
			}
		}
	}
	return out
}

// verify reads the outcome and compares: our hosts are as they were meant, those of others as they were. What others say of our hosts
// in a place that is not ours (a range, a group of groups) can stand in the way.
func (m *merge) verify(after *tree) error {
	groupsBefore, err := m.before.membership()
	if err != nil {
		return err
	}
	groupsAfter, err := after.membership()
	if err != nil {
		return err
	}
	for _, name := range m.names {
		for _, v := range m.hosts[name].lines {
			if !reflect.DeepEqual(after.hosts[name][v.name], v.value) {
				return fmt.Errorf("host %s: %s is set by others too: remove that from the existing inventory", name, v.name)
			}
		}
		for variable := range after.hosts[name] {
			if _, given := m.value(name, variable); !given && m.ours(name, variable) {
				return fmt.Errorf("host %s: %s is set by others: remove that from the existing inventory", name, variable)
			}
		}
		for _, each := range roleGroups {
			for _, group := range []string{each.group, Legacy.group(each.group)} {
				if groupsAfter[name][group] && !slices.Contains(m.hosts[name].Roles, each.role) {
					return fmt.Errorf("host %s would be in %s through what others wrote: a range of hosts or a group of groups: change that in the existing inventory", name, group)
				}
			}
			if group := m.inv.Generation.group(each.group); slices.Contains(m.hosts[name].Roles, each.role) && !groupsAfter[name][group] {
				return fmt.Errorf("host %s would not be in %s", name, group)
			}
		}
	}
	for name := range m.gone {
		if _, there := after.hosts[name]; there {
			return fmt.Errorf("host %s cannot be removed: others wrote it as a part of a range of hosts: change that in the existing inventory", name)
		}
	}
	for name, vars := range m.before.hosts {
		if _, isOurs := m.hosts[name]; isOurs || m.gone[name] {
			continue
		}
		if _, there := after.hosts[name]; !there || !reflect.DeepEqual(vars, after.hosts[name]) {
			return fmt.Errorf("host %s of others would change", name)
		}
		for group := range groupsBefore[name] {
			if !groupsAfter[name][group] {
				return fmt.Errorf("host %s of others would leave the group %s", name, group)
			}
		}
	}
	for name, g := range m.before.groups {
		if now := after.groups[name]; now == nil || !reflect.DeepEqual(g.vars, now.vars) {
			return fmt.Errorf("the variables of the group %s would change", name)
		}
	}
	return nil
}

// mergeFiles is Merge of both forms.
func mergeFiles(existing []byte, inv Inventory, o Options, name string, former []string, hosts func(Inventory) ([]host, apart, apart),
	parse func([]byte) (*tree, error), edit func([]byte, *merge) ([]byte, error),
) ([]File, error) {
	before, err := parse(existing)
	if err != nil {
		return nil, fmt.Errorf("inventory: the existing inventory: %w", err)
	}
	rendered, secrets, values := hosts(inv)
	m := newMerge(inv, rendered, former, before)
	content, err := edit(existing, m)
	if err != nil {
		return nil, fmt.Errorf("inventory: the existing inventory: %w", err)
	}
	after, err := parse(content)
	if err != nil {
		return nil, fmt.Errorf("inventory: the merged inventory: %w", err)
	}
	if err := m.verify(after); err != nil {
		return nil, fmt.Errorf("inventory: merge: %w", err)
	}
	if reflect.DeepEqual(before, after) { // it was as it should be: not even a blank line changes
		content = existing
	}
	files, err := variablesFiles(inv, o, secrets, values)
	return append([]File{{name, o.inventoryMode(), content}}, files...), err
}

func isBlank(content []byte) bool { return strip(string(content)) == "" }
