package inventory

import (
	"errors"
	"fmt"
	"strings"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// opened decrypts a value that is encrypted on its own (!vault).
func opened(value any, o Options) (any, error) {
	vault, isEncrypted := value.(encrypted)
	if !isEncrypted {
		return value, nil
	}
	if o.VaultPassword.IsZero() {
		return nil, errors.New("is encrypted, and no vault password is given")
	}
	text, err := Decrypt([]byte(vault), o.VaultPassword)
	if err != nil {
		return nil, err
	}
	return vnflcm.NewSecret(string(text)), nil
}

// groupVars gathers the variables by group, first those of the inventory, then those of the files, which win in Ansible too.
func (t *tree) groupVars(inv *Inventory, files []File, o Options, secrets, values apart) error {
	put := func(group, name string, value any) {
		group = currentGroup(group)
		if inv.GroupVars[group] == nil {
			inv.GroupVars[group] = map[string]any{}
		}
		inv.GroupVars[group][name] = handed(value)
	}
	for _, name := range t.names {
		for variable, value := range t.groups[name].vars {
			value, err := opened(value, o)
			if err != nil {
				return fmt.Errorf("group %s: %s: %w", name, variable, err)
			}
			put(name, variable, value)
		}
	}
	for _, f := range files {
		group, file, ok := groupOfFile(f.Path)
		if !ok {
			continue
		}
		vars, err := readVariables(f, o)
		if err != nil {
			return err
		}
		for variable, value := range vars {
			switch {
			case group == groupAll && variable == secretsVariable:
				secrets.read(value)
				continue
			case group == groupAll && variable == valuesVariable:
				values.read(value)
				continue
			}
			if value, err = opened(value, o); err != nil {
				return fmt.Errorf("%s: %s: %w", f.Path, variable, err)
			}
			if text, isText := value.(string); isText && file == secretsFile {
				value = vnflcm.NewSecret(text)
			}
			put(group, variable, value)
		}
	}
	return nil
}

// read is the inverse of asMap.
func (a apart) read(value any) {
	hosts, _ := value.(map[string]any)
	for host, vars := range hosts {
		if vars, ok := vars.(map[string]any); ok {
			a[host] = vars
		}
	}
}

// groupOfFile tells the group of a variables file: group_vars/<group>.yml or group_vars/<group>/<file>.yml.
func groupOfFile(path string) (group, file string, ok bool) {
	rest, ok := strings.CutPrefix(path, "group_vars/")
	if !ok {
		return "", "", false
	}
	group, file, isDir := strings.Cut(rest, "/")
	if !isDir {
		for _, suffix := range variablesSuffixes {
			group = strings.TrimSuffix(group, suffix)
		}
	}
	return group, file, group != ""
}

func readVariables(f File, o Options) (map[string]any, error) {
	content := f.Content
	if isVault(content) {
		if o.VaultPassword.IsZero() {
			return nil, fmt.Errorf("%s: is encrypted, and no vault password is given", f.Path)
		}
		var err error
		if content, err = Decrypt(content, o.VaultPassword); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Path, err)
		}
	}
	value, err := readYAML(content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	vars, isMap := value.(map[string]any)
	if !isMap && value != nil {
		return nil, fmt.Errorf("%s: must be a map of variables", f.Path)
	}
	return vars, nil
}
