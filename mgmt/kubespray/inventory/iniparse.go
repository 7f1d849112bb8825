package inventory

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Parse reads an INI inventory and the variables files below group_vars beside it, what Generate makes or others wrote. The first
// file is the inventory; host_vars are not read. Roles come from kubespray's groups, of both generations and through groups of groups; ranges of
// hosts are expanded. A value that the field of a Node cannot say is among its Vars; a reference to a secret whose file is not
// given stays a Template.
func (g INI) Parse(files []File) (Inventory, error) { return parseFiles(files, g.Options, parseINI) }

func parseFiles(files []File, o Options, parse func([]byte) (*tree, error)) (Inventory, error) {
	if len(files) == 0 {
		return Inventory{}, errors.New("inventory: there is no file to read")
	}
	t, err := parse(files[0].Content)
	if err != nil {
		return Inventory{}, fmt.Errorf("inventory: %s: %w", files[0].Path, err)
	}
	inv, err := t.inventory(files[1:], o)
	if err != nil {
		return Inventory{}, fmt.Errorf("inventory: %w", err)
	}
	return inv, nil
}

func parseINI(content []byte) (*tree, error) {
	switch {
	case len(content) > maxBytes:
		return nil, fmt.Errorf("is larger than %d bytes", maxBytes)
	case !utf8.Valid(content):
		return nil, errors.New("is not UTF-8 text")
	}
	p := iniParser{tree: newTree(), section: "ungrouped", kind: "hosts", declared: map[string]bool{groupAll: true, "ungrouped": true}, wanted: map[string]int{}}
	for i, line := range splitLines(string(content)) {
		if err := p.line(i+1, strip(line)); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.wanted)) {
		if !p.declared[name] {
			return nil, fmt.Errorf("line %d: there is no group %q", p.wanted[name], name)
		}
	}
	return p.tree, nil
}

type iniParser struct {
	*tree
	section, kind string
	declared      map[string]bool
	wanted        map[string]int // groups that must be declared somewhere, and the line that says so
}

func (p *iniParser) line(number int, line string) error {
	if line == "" || line[0] == '#' || line[0] == ';' {
		return nil
	}
	if m := sectionPattern.FindStringSubmatch(line); m != nil {
		p.section, p.kind = m[1], m[2]
		switch p.kind {
		case "", "hosts", "children":
			p.declared[p.section] = true
		case "vars":
			if p.wanted[p.section] == 0 {
				p.wanted[p.section] = number
			}
		default:
			return fmt.Errorf("[%s:%s] must end in :children, :vars or :hosts", p.section, p.kind)
		}
		p.group(p.section)
		return nil
	}
	if line[0] == '[' && line[len(line)-1] == ']' {
		return errors.New("is no section: it must be like [name], [name:children] or [name:vars]")
	}
	switch p.kind {
	case "children":
		m := groupNamePattern.FindStringSubmatch(line)
		if m == nil {
			return errors.New("must be the name of a group")
		}
		if p.wanted[m[1]] == 0 {
			p.wanted[m[1]] = number
		}
		g := p.group(p.section)
		if g.children = append(g.children, m[1]); len(g.children) > maxHosts {
			return fmt.Errorf("more than %d groups in one", maxHosts)
		}
		return nil
	case "vars":
		name, value, ok := strings.Cut(line, "=")
		if !ok {
			return errors.New("must be like name=value")
		}
		p.group(p.section).vars[strip(name)] = readLiteral(strip(value))
		return nil
	}
	return p.host(line)
}

func (p *iniParser) host(line string) error {
	words, err := splitWords(line)
	if err != nil {
		return err
	}
	if len(words) == 0 {
		return errors.New("must begin with the name of a host")
	}
	names, port, err := expandHosts(words[0].text, maxHosts)
	if err != nil {
		return err
	}
	vars := map[string]any{}
	if port != 0 {
		vars[varPort] = port
	}
	for _, w := range words[1:] {
		name, value, ok := strings.Cut(w.text, "=")
		if !ok {
			return errors.New("after the name of the host all must be like name=value")
		}
		vars[name] = readLiteral(value)
	}
	return p.addHosts(p.section, names, vars)
}
