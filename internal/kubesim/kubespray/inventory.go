package kubespray

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/afero"
	"gopkg.in/yaml.v3"

	"github.com/vnfkit/vnfkit/internal/kubesim/program"
)

// inventory is an inventory with the files of variables beside it.
type inventory struct {
	hosts  []string // in the order of the file
	groups map[string]*group
	vars   map[string]vars // of hosts and, as "group_vars/NAME", of groups
}

type group struct{ hosts, children []string }

// vars are variables by name.
type vars map[string]any

func readInventory(c *program.Call, name, key string) (*inventory, error) {
	text, err := afero.ReadFile(c.FS, name)
	if err != nil {
		return nil, err
	}
	inv := &inventory{groups: map[string]*group{}, vars: map[string]vars{}}
	if path.Ext(name) == ".ini" {
		err = inv.parseINI(string(text))
	} else {
		err = inv.parseYAML(text)
	}
	if err != nil {
		return nil, fmt.Errorf("failed to parse %s: %w", name, err)
	}
	for name, g := range inv.groups {
		for _, child := range g.children {
			if inv.groups[child] == nil {
				return nil, fmt.Errorf("section [%s:children] includes undefined group: %s", name, child)
			}
		}
	}
	for group := range inv.groups {
		if err := inv.readGroup(c, path.Join(path.Dir(name), "group_vars", group), group, key); err != nil {
			return nil, err
		}
	}
	return inv, nil
}

// readGroup reads the variables of a group. Of several files that set a variable the last one counts.
func (inv *inventory) readGroup(c *program.Call, dir, group, key string) error {
	entries, err := afero.ReadDir(c.FS, dir) // sorted
	if err != nil {
		return nil //nolint:nilerr // the group has no variables
	}
	all := vars{}
	for _, entry := range entries {
		file := path.Join(dir, entry.Name())
		text, err := afero.ReadFile(c.FS, file)
		if err == nil && strings.HasPrefix(string(text), vaultHeader) {
			text, err = decrypt(string(text), key)
		}
		if err == nil {
			err = yaml.Unmarshal(text, &all)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	inv.vars["group_vars/"+group] = all
	return nil
}

func (inv *inventory) group(name string) *group {
	if inv.groups[name] == nil {
		inv.groups[name] = &group{}
	}
	return inv.groups[name]
}

func (inv *inventory) add(groupName, host string, own vars) {
	g := inv.group(groupName)
	g.hosts = append(g.hosts, host)
	if inv.vars[host] == nil {
		inv.hosts, inv.vars[host] = append(inv.hosts, host), vars{}
	}
	for name, value := range own {
		inv.vars[host][name] = value
	}
}

// assignment matches a variable of a host.
var assignment = regexp.MustCompile(`([A-Za-z_][A-Za-z0-9_]*)=('[^']*'|[^'\s]+)`)

// parseINI reads sections with hosts or children.
func (inv *inventory) parseINI(text string) error {
	section, kind := "", ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if name, isSection := strings.CutPrefix(line, "["); isSection {
			section, kind, _ = strings.Cut(strings.TrimSuffix(name, "]"), ":")
			inv.group(section)
			continue
		}
		host, rest, _ := strings.Cut(line, " ")
		if kind == "children" {
			inv.group(section).children = append(inv.group(section).children, host)
			continue
		}
		own := vars{}
		for _, found := range assignment.FindAllStringSubmatch(rest, -1) {
			value := strings.Trim(found[2], "'")
			if quoted, err := strconv.Unquote(value); err == nil {
				value = quoted
			}
			own[found[1]] = value
		}
		if left := assignment.ReplaceAllString(rest, ""); strings.TrimSpace(left) != "" || kind != "" {
			return fmt.Errorf("[%s:%s]: the line of %s is not simulated", section, kind, host)
		}
		inv.add(section, host, own)
	}
	return nil
}

// yamlGroup is a group of a YAML inventory.
type yamlGroup struct {
	Hosts    yaml.Node            `yaml:"hosts"`
	Children map[string]yamlGroup `yaml:"children"`
}

func (inv *inventory) parseYAML(text []byte) error {
	var top map[string]yamlGroup
	if err := yaml.Unmarshal(text, &top); err != nil {
		return err
	}
	return inv.addYAML("all", top["all"])
}

func (inv *inventory) addYAML(name string, y yamlGroup) error {
	g := inv.group(name)
	for i := 0; i+1 < len(y.Hosts.Content); i += 2 { // in the order of the file
		var own vars
		if err := y.Hosts.Content[i+1].Decode(&own); err != nil {
			return err
		}
		inv.add(name, y.Hosts.Content[i].Value, own)
	}
	for child, its := range y.Children {
		g.children = append(g.children, child)
		if err := inv.addYAML(child, its); err != nil {
			return err
		}
	}
	return nil
}

// members returns the hosts of a group, with those of its children.
func (inv *inventory) members(name string) []string {
	g := inv.groups[name]
	if g == nil {
		return nil
	}
	in := slices.Clone(g.hosts)
	for _, child := range g.children {
		in = append(in, inv.members(child)...)
	}
	return slices.DeleteFunc(slices.Clone(inv.hosts), func(host string) bool { return !slices.Contains(in, host) })
}

// get returns a variable of a host. Variables of a host count more than those of its groups, which count more than those of all.
func (inv *inventory) get(host, name string) any {
	value := inv.vars["group_vars/all"][name]
	for group := range inv.groups {
		if of, given := inv.vars["group_vars/"+group][name]; given && group != "all" && slices.Contains(inv.members(group), host) {
			value = of
		}
	}
	if own, given := inv.vars[host][name]; given {
		value = own
	}
	return value
}

// reference matches the template with which package inventory refers to a secret of a host.
var reference = regexp.MustCompile(`^\{\{ (\w+)\['([^']+)'\]\['([^']+)'\](?: \| string)? \}\}$`)

// text returns a variable of a host as text, "" if it is not set.
func (inv *inventory) text(host, name string) string {
	value := inv.get(host, name)
	if text, isText := value.(string); isText {
		if m := reference.FindStringSubmatch(text); m != nil {
			ofHosts, _ := inv.get(host, m[1]).(vars)
			of, _ := ofHosts[m[2]].(vars)
			value = of[m[3]]
		}
	}
	if value == nil {
		return ""
	}
	return fmt.Sprint(value)
}

// list returns a variable of a host that is a list of texts.
func (inv *inventory) list(host, name string) (out []string) {
	items, _ := inv.get(host, name).([]any)
	for _, item := range items {
		out = append(out, fmt.Sprint(item))
	}
	return out
}
