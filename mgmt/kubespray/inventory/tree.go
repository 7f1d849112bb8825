package inventory

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// Limits of what is read: an inventory may come from anywhere.
const (
	maxBytes   = 16 << 20
	maxHosts   = 20_000
	maxMembers = 200_000 // hosts in groups, each counted
	maxValues  = 400_000 // of YAML; of variables of hosts, those of a range counted for each of its hosts
)

// tree is what an inventory file says: values are plain, or encrypted.
type tree struct {
	hosts  map[string]map[string]any
	order  []string // of hosts
	groups map[string]*group
	names  []string // of groups, in their order
	count  int      // of hosts in groups
	values int      // of hosts
}

type group struct {
	hosts, children []string
	vars            map[string]any
}

// encrypted is a value that a vault password opens.
type encrypted string

func newTree() *tree { return &tree{hosts: map[string]map[string]any{}, groups: map[string]*group{}} }

func (t *tree) group(name string) *group {
	if t.groups[name] == nil {
		t.groups[name] = &group{vars: map[string]any{}}
		t.names = append(t.names, name)
	}
	return t.groups[name]
}

// addHosts puts hosts into a group and gives them variables.
func (t *tree) addHosts(group string, names []string, vars map[string]any) error {
	if t.values += len(names) * (size(vars) - 1); t.values > maxValues {
		return fmt.Errorf("gives hosts more than %d values", maxValues)
	}
	for _, name := range names {
		if err := t.addHost(group, name, vars); err != nil {
			return err
		}
	}
	return nil
}

// size is the number of values in a plain value, itself among them.
func size(value any) int {
	count := 1
	switch v := value.(type) {
	case []any:
		for _, each := range v {
			count += size(each)
		}
	case map[string]any:
		for _, each := range v {
			count += size(each)
		}
	}
	return count
}

func (t *tree) addHost(group, name string, vars map[string]any) error {
	if t.hosts[name] == nil {
		if len(t.hosts) == maxHosts {
			return fmt.Errorf("has more than %d hosts", maxHosts)
		}
		t.hosts[name] = map[string]any{}
		t.order = append(t.order, name)
	}
	maps.Copy(t.hosts[name], vars)
	if t.count++; t.count > maxMembers {
		return fmt.Errorf("names hosts more than %d times", maxMembers)
	}
	g := t.group(group)
	g.hosts = append(g.hosts, name)
	return nil
}

// membership tells the groups of each host, those above its own too.
func (t *tree) membership() (map[string]map[string]bool, error) {
	above := map[string][]string{}
	for _, name := range t.names {
		for _, child := range t.groups[name].children {
			if known := above[child]; len(known) == 0 || known[len(known)-1] != name {
				above[child] = append(known, name)
			}
		}
	}
	out := map[string]map[string]bool{}
	for host := range t.hosts {
		out[host] = map[string]bool{}
	}
	work := 0
	for _, name := range t.names {
		reached := map[string]bool{name: true}
		for queue := []string{name}; len(queue) > 0; queue = queue[1:] {
			for _, parent := range above[queue[0]] {
				if !reached[parent] {
					reached[parent] = true
					queue = append(queue, parent)
				}
			}
		}
		if work += (1 + len(t.groups[name].hosts)) * len(reached); work > maxMembers {
			return nil, errors.New("has too many groups of groups")
		}
		for _, host := range t.groups[name].hosts {
			for group := range reached {
				out[host][group] = true
			}
		}
	}
	return out, nil
}

// inventory makes an Inventory of a file and the variables files beside it.
func (t *tree) inventory(files []File, o Options) (Inventory, error) {
	inv := Inventory{Generation: Current, GroupVars: map[string]map[string]any{}}
	for name := range t.groups {
		if currentGroup(name) != name {
			inv.Generation = Legacy
		}
	}
	membership, err := t.membership()
	if err != nil {
		return Inventory{}, err
	}
	secrets, values := apart{}, apart{}
	if err := t.groupVars(&inv, files, o, secrets, values); err != nil {
		return Inventory{}, err
	}
	for _, name := range t.order {
		n := Node{Name: name}
		for _, each := range roleGroups {
			if membership[name][each.group] || membership[name][Legacy.group(each.group)] || each.role == ControlPlane && membership[name][groupMaster] {
				n.Roles = append(n.Roles, each.role)
			}
		}
		for _, group := range slices.Sorted(maps.Keys(membership[name])) {
			if !ofKubespray(currentGroup(group)) && group != "ungrouped" {
				n.Groups = append(n.Groups, group)
			}
		}
		for _, variable := range slices.Sorted(maps.Keys(t.hosts[name])) {
			value := t.hosts[name][variable]
			if hidden, found := secrets.resolve(secretsVariable, value); found {
				value = vnflcm.NewSecret(fmt.Sprint(hidden))
			} else if kept, found := values.resolve(valuesVariable, value); found {
				value = kept
			} else if value, err = opened(value, o); err != nil {
				return Inventory{}, fmt.Errorf("host %s: %s: %w", name, variable, err)
			}
			n.set(variable, value)
		}
		inv.Nodes = append(inv.Nodes, n)
	}
	if len(inv.GroupVars) == 0 {
		inv.GroupVars = nil
	}
	return inv, nil
}

// set stores a variable of a host in the field that stands for it, if the field can say it, and otherwise among the variables.
func (n *Node) set(name string, value any) {
	text, isText := value.(string)
	secret, isSecret := value.(vnflcm.Secret)
	_, isTemplate := value.(Template)
	if isText && name != varPassword && name != varBecome && strings.TrimSpace(text) == "" {
		isText = false
	}
	switch name {
	case varPassword, "ansible_ssh_pass", "ansible_ssh_password":
		if n.Password.IsZero() && !isTemplate && value != nil && value != "" {
			n.Password = cmp.Or(secret, vnflcm.NewSecret(fmt.Sprint(value)))
			return
		}
	case varBecome, "ansible_become_pass":
		if n.BecomePassword.IsZero() && !isTemplate && value != nil && value != "" {
			n.BecomePassword = cmp.Or(secret, vnflcm.NewSecret(fmt.Sprint(value)))
			return
		}
	case varHost, varIP:
		if a, err := netip.ParseAddr(text); err == nil && a.Unmap() == a && a.Zone() == "" && a.String() == text {
			if name == varHost {
				n.Address = a
			} else {
				n.IP = a
			}
			return
		}
	case varPort:
		if port, isNumber := value.(int64); isNumber && port > 0 && port <= 65535 {
			n.Port = int(port)
			return
		}
	case varUser, varMember, varKey:
		if field := map[string]*string{varUser: &n.User, varMember: &n.EtcdMember, varKey: &n.KeyFile}[name]; isText {
			*field = text
			return
		}
	}
	if n.Vars == nil {
		n.Vars = map[string]any{}
	}
	if isSecret {
		n.Vars[name] = secret
		return
	}
	n.Vars[name] = handed(value)
}

// handed turns a plain value into what a caller would have written.
func handed(value any) any {
	switch v := value.(type) {
	case int64:
		return int(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = handed(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key := range v {
			out[key] = handed(v[key])
		}
		return out
	}
	return value
}
