package inventory

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"

	"gopkg.in/yaml.v3"
)

// Merge is [INI.Merge] for the YAML form. What others wrote stays with its comments; indentation and blank lines may change.
func (g YAML) Merge(existing []byte, inv Inventory, former []string) ([]File, error) {
	inv = complete(inv)
	if err := check(inv, g.Options); err != nil {
		return nil, err
	}
	root, err := documentOf(existing)
	if err != nil {
		return nil, fmt.Errorf("inventory: the existing inventory: %w", err)
	}
	if isNothing(root) {
		return g.Generate(inv)
	}
	return mergeFiles(existing, inv, g.Options, yamlName, former, g.written, parseYAML, mergeYAML)
}

func mergeYAML(existing []byte, m *merge) ([]byte, error) {
	root, err := documentOf(existing)
	if err != nil {
		return nil, err
	}
	f := yamlFile{merge: m, groups: map[string][]*yaml.Node{}}
	f.gather(root)
	all, err := f.group(root, groupAll)
	if err != nil {
		return nil, err
	}
	homes := f.homes()
	for _, name := range f.order {
		for _, g := range f.groups[name] {
			f.editHosts(name, child(g, "hosts"), homes)
		}
	}
	if err := f.addHosts(all, homes); err != nil {
		return nil, err
	}
	if err := f.addGroups(all); err != nil {
		return nil, err
	}
	out, err := encodeYAML(root)
	if bytes.HasPrefix(existing, []byte("---")) {
		out = append([]byte("---\n"), out...)
	}
	return out, err
}

// yamlFile is an inventory by the places of its groups: the same group may have several.
type yamlFile struct {
	*merge
	groups map[string][]*yaml.Node
	order  []string // of groups
}

// gather finds the groups. What an alias stands for is left alone; one name where a map could be becomes a map of it.
func (f *yamlFile) gather(groups *yaml.Node) {
	if groups == nil || groups.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(groups.Content); i += 2 {
		name, g := groups.Content[i].Value, groups.Content[i+1]
		if len(f.groups[name]) == 0 {
			f.order = append(f.order, name)
		}
		f.groups[name] = append(f.groups[name], g)
		for _, part := range []string{"hosts", "children"} {
			if names := child(g, part); names != nil && names.Kind == yaml.ScalarNode && !isNothing(names) {
				nameToMap(names)
			}
		}
		f.gather(child(g, "children"))
	}
}

// group returns the place where a group is described, or else the first where it is named, and makes one below groups if it has none.
func (f *yamlFile) group(groups *yaml.Node, name string) (*yaml.Node, error) {
	if places := f.groups[name]; len(places) > 0 {
		described := slices.IndexFunc(places, func(g *yaml.Node) bool { return g.Kind == yaml.MappingNode })
		place := places[max(described, 0)]
		return place, makeMap(place)
	}
	g, err := open(groups, name)
	f.groups[name], f.order = append(f.groups[name], g), append(f.order, name)
	return g, err
}

// homes are the maps of variables of hosts: in `all`, otherwise the first with variables, otherwise the first.
func (f *yamlFile) homes() map[string]*yaml.Node {
	out, rank := map[string]*yaml.Node{}, map[string]int{}
	for _, name := range f.order {
		for _, g := range f.groups[name] {
			hosts := child(g, "hosts")
			if hosts == nil || hosts.Kind != yaml.MappingNode {
				continue
			}
			for i := 0; i+1 < len(hosts.Content); i += 2 {
				host, vars := hosts.Content[i].Value, hosts.Content[i+1]
				r := 1
				switch {
				case f.hosts[host].Name == "" || !f.belongs(host, name):
					continue
				case name == groupAll:
					r = 3
				case vars.Kind == yaml.MappingNode:
					r = 2
				}
				if r > rank[host] {
					out[host], rank[host] = vars, r
				}
			}
		}
	}
	return out
}

// editHosts brings our hosts in one group up to date. Variables of others move home with a host that leaves the group.
func (f *yamlFile) editHosts(group string, hosts *yaml.Node, homes map[string]*yaml.Node) {
	if hosts == nil || hosts.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(hosts.Content); {
		name, vars := hosts.Content[i].Value, hosts.Content[i+1]
		isOurs := f.hosts[name].Name != ""
		if (isOurs || f.gone[name]) && !f.belongs(name, group) {
			if isOurs {
				f.moveHome(name, vars, homes)
			}
			removeEntry(hosts, i)
			continue
		}
		if isOurs && vars != homes[name] {
			f.strip(name, vars)
		}
		i += 2
	}
}

func (f *yamlFile) moveHome(name string, vars *yaml.Node, homes map[string]*yaml.Node) {
	f.strip(name, vars)
	if vars.Kind != yaml.MappingNode || len(vars.Content) == 0 {
		return
	}
	home := homes[name]
	switch {
	case home == nil:
		homes[name] = vars
	case makeMap(home) == nil:
		for i := 0; i+1 < len(vars.Content); i += 2 {
			if index(home, vars.Content[i].Value) < 0 {
				home.Content = append(home.Content, vars.Content[i:i+2]...)
			}
		}
	}
}

// strip removes the variables that are ours.
func (f *yamlFile) strip(name string, vars *yaml.Node) {
	if vars.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(vars.Content); {
		if f.ours(name, vars.Content[i].Value) {
			removeEntry(vars, i)
			continue
		}
		i += 2
	}
}

// addHosts writes the variables of our hosts.
func (f *yamlFile) addHosts(all *yaml.Node, homes map[string]*yaml.Node) error {
	placed := f.placed()
	for _, name := range f.names {
		home := homes[name]
		if !placed[home] {
			hosts, err := open(all, "hosts")
			if err != nil {
				return err
			}
			if home == nil {
				home = mapping()
			}
			add(hosts, name, home)
		}
		if err := f.update(name, home); err != nil {
			return err
		}
	}
	return nil
}

// placed are the maps of variables that are in some group.
func (f *yamlFile) placed() map[*yaml.Node]bool {
	out := map[*yaml.Node]bool{}
	for _, places := range f.groups {
		for _, g := range places {
			if hosts := child(g, "hosts"); hosts != nil {
				for _, vars := range hosts.Content {
					out[vars] = true
				}
			}
		}
	}
	return out
}

func (f *yamlFile) update(name string, home *yaml.Node) error {
	lines := f.hosts[name].lines
	if len(lines) == 0 && isNothing(home) {
		return nil
	}
	if err := makeMap(home); err != nil {
		return fmt.Errorf("host %s: %w", name, err)
	}
	for i := 0; i+1 < len(home.Content); {
		variable := home.Content[i].Value
		if _, given := f.value(name, variable); !given && f.ours(name, variable) {
			removeEntry(home, i)
			continue
		}
		i += 2
	}
	for _, v := range lines {
		i := index(home, v.name)
		if i < 0 {
			add(home, v.name, valueNode(v.value))
			continue
		}
		var r valueReader
		if was, err := r.read(home.Content[i+1], 0); err != nil || !reflect.DeepEqual(was, v.value) {
			now := valueNode(v.value)
			now.HeadComment, now.LineComment, now.FootComment = home.Content[i+1].HeadComment, home.Content[i+1].LineComment, home.Content[i+1].FootComment
			home.Content[i+1] = now
		}
	}
	return nil
}

// addGroups puts our hosts into their groups, and the groups into theirs.
func (f *yamlFile) addGroups(all *yaml.Node) error {
	children, err := open(all, "children")
	if err != nil {
		return err
	}
	for _, want := range f.inv.memberships() {
		listed := map[string]bool{}
		for _, g := range f.groups[want.name] {
			if hosts := child(g, "hosts"); hosts != nil {
				for _, key := range hosts.Content {
					listed[key.Value] = true
				}
			}
		}
		if err := f.addEntries(children, want.name, "hosts", f.missing(want, listed)); err != nil {
			return err
		}
	}
	for _, want := range f.inv.Generation.groupTree() {
		var missing []string
		for _, name := range want.children {
			there := false
			for _, g := range f.groups[want.name] {
				there = there || index(child(g, "children"), name) >= 0
			}
			if !there {
				missing = append(missing, name)
			}
		}
		if err := f.addEntries(children, want.name, "children", missing); err != nil {
			return err
		}
	}
	return nil
}

// addEntries adds names to the hosts or children of a group, which is there afterwards in any case.
func (f *yamlFile) addEntries(groups *yaml.Node, group, kind string, names []string) error {
	if len(names) == 0 && len(f.groups[group]) > 0 {
		return nil
	}
	g, err := f.group(groups, group)
	if err != nil {
		return fmt.Errorf("group %s: %w", group, err)
	}
	if len(names) == 0 {
		return nil
	}
	entries, err := open(g, kind)
	if err != nil {
		return fmt.Errorf("group %s: %w", group, err)
	}
	for _, name := range names {
		add(entries, name, null())
	}
	return nil
}
