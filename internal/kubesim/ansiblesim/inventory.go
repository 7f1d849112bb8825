package ansiblesim

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/spf13/afero"
	"gopkg.in/yaml.v3"

	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// inventory is the combined content of the files of -i.
type inventory struct {
	order  []string // hosts, as they came
	hosts  map[string]vars
	groups map[string]*group
	dirs   []string // of the files: group_vars and host_vars are beside them
}

type group struct {
	hosts, children []string
	vars            vars
}

func readInventory(p *sshtest.Process, names, keys []string) (*inventory, error) {
	inv := &inventory{hosts: map[string]vars{}, groups: map[string]*group{}}
	inv.group("all")
	for _, name := range names {
		name = absolute(p, name)
		text, err := afero.ReadFile(p.FS, name)
		if err != nil { // a warning only, with the real one: nothing is run then
			_, _ = fmt.Fprintf(p.Stderr, "[WARNING]: Unable to parse %s as an inventory source\n", name)
			continue
		}
		if ext := path.Ext(name); ext == ".yml" || ext == ".yaml" {
			err = inv.parseYAML(text, keys)
		} else {
			err = inv.parseINI(string(text))
		}
		if err != nil {
			_, _ = fmt.Fprintf(p.Stderr, "[WARNING]:  * Failed to parse %s: %v\n[WARNING]: Unable to parse %s as an inventory source\n", name, err, name)
			continue
		}
		inv.dirs = append(inv.dirs, path.Dir(name))
	}
	if len(inv.hosts) == 0 {
		_, _ = fmt.Fprintln(p.Stderr, "[WARNING]: No inventory was parsed, only implicit localhost is available")
	}
	return inv, inv.check()
}

func (inv *inventory) group(name string) *group {
	g := inv.groups[name]
	if g == nil {
		g = &group{vars: vars{}}
		inv.groups[name] = g
	}
	return g
}

func (inv *inventory) add(groupName, host string) vars {
	g := inv.group(groupName)
	if !slices.Contains(g.hosts, host) {
		g.hosts = append(g.hosts, host)
	}
	if inv.hosts[host] == nil {
		inv.hosts[host] = vars{}
		inv.order = append(inv.order, host)
	}
	return inv.hosts[host]
}

// check refuses children that are no group, and loops.
func (inv *inventory) check() error {
	for name := range inv.groups {
		for _, child := range inv.groups[name].children {
			if child == name || slices.Contains(inv.below(child, nil), name) {
				return exit(4, "ERROR! Cannot add '%s' as a child of '%s': it would create a loop", child, name)
			}
		}
	}
	return nil
}

// below are the groups in a group, itself included.
func (inv *inventory) below(name string, seen []string) []string {
	if slices.Contains(seen, name) || inv.groups[name] == nil {
		return seen
	}
	seen = append(seen, name)
	for _, child := range inv.groups[name].children {
		seen = inv.below(child, seen)
	}
	return seen
}

// members are the hosts of a group, those of its children included, in the order of the inventory.
func (inv *inventory) members(name string) []string {
	if name == "all" {
		return inv.order
	}
	var in []string
	for _, g := range inv.below(name, nil) {
		in = append(in, inv.groups[g].hosts...)
	}
	return slices.DeleteFunc(slices.Clone(inv.order), func(host string) bool { return !slices.Contains(in, host) })
}

// of are the groups of a host, but for all, in the order in which their variables count: those of children win over those of
// their parents, then the alphabet decides.
func (inv *inventory) of(host string) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(inv.groups)) {
		if name != "all" && slices.Contains(inv.members(name), host) {
			out = append(out, name)
		}
	}
	slices.SortStableFunc(out, func(a, b string) int { return inv.depth(a) - inv.depth(b) })
	return out
}

func (inv *inventory) depth(name string) int {
	depth := 1
	for parent, g := range inv.groups {
		if parent != "all" && slices.Contains(g.children, name) {
			depth = max(depth, inv.depth(parent)+1)
		}
	}
	return depth
}

// parseINI reads the INI form.
// https://docs.ansible.com/ansible/latest/collections/ansible/builtin/ini_inventory.html
func (inv *inventory) parseINI(text string) error {
	section, kind := "ungrouped", "hosts"
	var children []string
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if line[0] == '[' {
			name, _, _ := strings.Cut(line[1:], "]")
			section, kind, _ = strings.Cut(name, ":")
			if kind == "" {
				kind = "hosts"
			}
			if !slices.Contains([]string{"hosts", "children", "vars"}, kind) {
				return fmt.Errorf("line %d: Section [%s] has unknown type: %s", i+1, name, kind)
			}
			inv.group(section)
			continue
		}
		var err error
		switch kind {
		case "hosts":
			err = inv.hostLine(section, line)
		case "children":
			var words []string
			if words, err = split(line, true); err == nil && len(words) == 1 {
				g := inv.group(section)
				g.children, children = append(g.children, words[0]), append(children, words[0])
			}
		case "vars":
			err = inv.varLine(section, line)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	for _, child := range children {
		if inv.groups[child] == nil {
			return fmt.Errorf("Section [...:children] includes undefined group: %s", child)
		}
	}
	return nil
}

func (inv *inventory) hostLine(section, line string) error {
	words, err := split(line, true)
	if err != nil {
		return fmt.Errorf("Error parsing host definition '%s': %w", line, err)
	}
	if len(words) == 0 {
		return nil
	}
	name := words[0]
	if strings.ContainsAny(name, "[]:=") {
		return fmt.Errorf("ansiblesim: the host %q, with a range or a port, is not simulated", name)
	}
	host := inv.add(section, name)
	for _, word := range words[1:] {
		key, value, given := strings.Cut(word, "=")
		if !given {
			return fmt.Errorf("Expected key=value host variable assignment, got: %s", word)
		}
		if host[key], err = literal(value); err != nil {
			return err
		}
	}
	return nil
}

func (inv *inventory) varLine(section, line string) error {
	key, value, given := strings.Cut(line, "=")
	if !given {
		return fmt.Errorf("Expected key=value, got: %s", line)
	}
	parsed, err := literal(strings.TrimSpace(value))
	inv.group(section).vars[strings.TrimSpace(key)] = parsed
	return err
}

// parseYAML reads the YAML form.
// https://docs.ansible.com/ansible/latest/collections/ansible/builtin/yaml_inventory.html
func (inv *inventory) parseYAML(text []byte, keys []string) error {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return err
	}
	if len(doc.Content) == 0 {
		return fmt.Errorf("Parsed empty YAML file")
	}
	value, err := valueOf(doc.Content[0], keys)
	if err != nil {
		return err
	}
	top, isMap := value.(map[string]any)
	if !isMap {
		return fmt.Errorf("YAML inventory has invalid structure, it should be a dictionary")
	}
	// Hosts come in the order of the file.
	inv.orderOf(doc.Content[0])
	for _, name := range slices.Sorted(maps.Keys(top)) {
		if err := inv.groupYAML(name, top[name]); err != nil {
			return err
		}
	}
	inv.order = slices.DeleteFunc(inv.order, func(host string) bool { return inv.hosts[host] == nil })
	return nil
}

// orderOf notes the hosts as they come.
func (inv *inventory) orderOf(n *yaml.Node) {
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		switch key.Value {
		case "vars":
		case "hosts":
			for j := 0; j+1 < len(value.Content); j += 2 {
				if host := value.Content[j].Value; inv.hosts[host] == nil {
					inv.hosts[host], inv.order = vars{}, append(inv.order, host)
				}
			}
		default:
			inv.orderOf(value)
		}
	}
}

func (inv *inventory) groupYAML(name string, value any) error {
	g := inv.group(name)
	if value == nil {
		return nil
	}
	parts, isMap := value.(map[string]any)
	if !isMap {
		return fmt.Errorf("Invalid \"%s\" entry: requires a dictionary", name)
	}
	for _, key := range slices.Sorted(maps.Keys(parts)) {
		part, isMap := parts[key].(map[string]any)
		if parts[key] != nil && !isMap {
			return fmt.Errorf("Invalid \"%s\" entry for \"%s\" group, requires a dictionary", key, name)
		}
		switch key {
		case "vars":
			maps.Copy(g.vars, part)
		case "children":
			for _, child := range slices.Sorted(maps.Keys(part)) {
				if !slices.Contains(g.children, child) {
					g.children = append(g.children, child)
				}
				if err := inv.groupYAML(child, part[child]); err != nil {
					return err
				}
			}
		case "hosts":
			for host, own := range part {
				hostVars, isMap := own.(map[string]any)
				if own != nil && !isMap {
					return fmt.Errorf("the variables of host %s are no dictionary", host)
				}
				maps.Copy(inv.add(name, host), hostVars)
			}
		default:
			return fmt.Errorf("Skipping unexpected key (%s) in group (%s), only \"vars\", \"children\" and \"hosts\" are valid", key, name)
		}
	}
	return nil
}
