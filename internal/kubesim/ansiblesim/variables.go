package ansiblesim

import (
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// variables are those of every host.
// https://docs.ansible.com/ansible/latest/playbook_guide/playbooks_variables.html#understanding-variable-precedence
type variables struct {
	inv   *inventory
	extra vars
	files map[string]vars // of group_vars and host_vars, by "group_vars/name"
}

func readVariables(p *sshtest.Process, inv *inventory, extra vars, keys []string) (*variables, error) {
	v := &variables{inv: inv, extra: extra, files: map[string]vars{}}
	for _, dir := range inv.dirs {
		for name := range inv.groups {
			if err := v.read(p, dir, "group_vars/"+name, keys); err != nil {
				return nil, err
			}
		}
		for name := range inv.hosts {
			if err := v.read(p, dir, "host_vars/"+name, keys); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// read takes the file, or the files of the directory, in the order of the alphabet. https://docs.ansible.com/ansible/latest/inventory_guide/intro_inventory.html#organizing-host-and-group-variables
func (v *variables) read(p *sshtest.Process, dir, name string, keys []string) error {
	if v.files[name] == nil {
		v.files[name] = vars{}
	}
	for _, ext := range []string{"", ".yml", ".yaml", ".json"} {
		file := path.Join(dir, name) + ext
		info, err := p.FS.Stat(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && info.IsDir() {
			err = v.readDir(p, file, name, keys)
		} else if err == nil {
			err = v.readFile(p, file, name, keys)
		}
		if err != nil {
			return err
		}
		return nil
	}
	return nil
}

func (v *variables) readDir(p *sshtest.Process, dir, name string, keys []string) error {
	entries, err := afero.ReadDir(p.FS, dir) // sorted
	if err != nil {
		return exit(4, "ERROR! %v", err)
	}
	for _, entry := range entries {
		file := path.Join(dir, entry.Name())
		switch ext := path.Ext(entry.Name()); {
		case strings.HasPrefix(entry.Name(), "."), strings.HasSuffix(entry.Name(), "~"):
		case entry.IsDir():
			err = v.readDir(p, file, name, keys)
		case slices.Contains([]string{"", ".yml", ".yaml", ".json"}, ext):
			err = v.readFile(p, file, name, keys)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (v *variables) readFile(p *sshtest.Process, file, name string, keys []string) error {
	data, err := afero.ReadFile(p.FS, file)
	if err != nil {
		return exit(4, "ERROR! an error occurred while trying to read the file '%s': %v", file, err)
	}
	return v.files[name].load(file, data, keys)
}

// of are the variables of a host, "" the implicit localhost: from the weakest to the strongest.
func (v *variables) of(host string) vars {
	out := vars{}
	groups := v.inv.of(host)
	maps.Copy(out, v.inv.groups["all"].vars)
	for _, g := range groups {
		maps.Copy(out, v.inv.groups[g].vars)
	}
	maps.Copy(out, v.files["group_vars/all"])
	for _, g := range groups {
		maps.Copy(out, v.files["group_vars/"+g])
	}
	maps.Copy(out, v.inv.hosts[host])
	maps.Copy(out, v.files["host_vars/"+host])
	maps.Copy(out, v.extra)
	out["inventory_hostname"] = unsafe(host)
	members := map[string]any{}
	for name := range v.inv.groups {
		var list []any
		for _, member := range v.inv.members(name) {
			list = append(list, unsafe(member))
		}
		members[name] = list
	}
	out["groups"] = members
	return out
}
