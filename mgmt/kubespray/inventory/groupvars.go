package inventory

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// The files of variables in the directory of a group. Ansible reads the files in alphabetical order and the last value
// wins, so these names take precedence over files of a sample directory.
const (
	varsFile    = "zz_vnfkit.yml"
	secretsFile = "zz_vnfkit_secrets.yml" //nolint:gosec // a name
)

func groupFile(group, file string) string { return "group_vars/" + group + "/" + file }

// Hides returns the paths of files that Ansible ignores if files, which Generate has returned, exist. Ansible reads the
// variables of a group either from the directory group_vars/<group> or from the first of group_vars/<group>.yml, .yaml and
// .json (find_vars_files in lib/ansible/parsing/dataloader.py). If such a file exists, move it into the directory.
func Hides(files []File) []string {
	var out []string
	for _, f := range files {
		group, inDirectory := strings.CutPrefix(path.Dir(f.Path), "group_vars/")
		if !inDirectory {
			continue
		}
		for _, suffix := range []string{".yml", ".yaml", ".json"} {
			out = append(out, "group_vars/"+group+suffix)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// variablesFiles returns the files with the variables of the groups and with the dictionaries that hosts refer to.
func variablesFiles(inv Inventory, o Options, secrets, values apart) ([]File, error) {
	clear, hidden := map[string]map[string]any{}, map[string]map[string]any{}
	put := func(to map[string]map[string]any, group, name string, value any) {
		if to[group] == nil {
			to[group] = map[string]any{}
		}
		to[group][name] = value
	}
	for group, vars := range inv.GroupVars {
		for name, value := range vars {
			if secret, isSecret := value.(vnflcm.Secret); isSecret {
				put(hidden, group, name, secret.Reveal())
				continue
			}
			p, _ := plain(value) // check has found no error
			put(clear, group, name, p)
		}
	}
	if len(values) > 0 {
		put(clear, groupAll, valuesVariable, values.asMap())
	}
	if len(secrets) > 0 {
		put(hidden, groupAll, secretsVariable, secrets.asMap())
	}
	var out []File
	for _, group := range slices.Sorted(maps.Keys(clear)) {
		content, err := variablesYAML(clear[group])
		if err != nil {
			return nil, err
		}
		out = append(out, File{groupFile(inv.Generation.group(group), varsFile), 0o644, content})
	}
	for _, group := range slices.Sorted(maps.Keys(hidden)) {
		content, err := variablesYAML(hidden[group])
		if err != nil {
			return nil, err
		}
		if !o.VaultPassword.IsZero() {
			if content, err = Encrypt(content, o.VaultPassword); err != nil {
				return nil, err
			}
		}
		out = append(out, File{groupFile(inv.Generation.group(group), secretsFile), 0o600, content})
	}
	return out, nil
}

func (a apart) asMap() map[string]any {
	out := map[string]any{}
	for host, vars := range a {
		out[host] = vars
	}
	return out
}

func variablesYAML(vars map[string]any) ([]byte, error) {
	out, err := encodeYAML(valueNode(vars))
	return append([]byte("# Written by vnfkit, which overwrites changes made here.\n"), out...), err
}

func encodeYAML(n *yaml.Node) ([]byte, error) {
	spellNulls(n, false)
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := e.Encode(n); err != nil {
		return nil, fmt.Errorf("write YAML: %w", err)
	}
	return out.Bytes(), e.Close()
}

// spellNulls writes null for empty values within braces. The encoder would write an empty string, which Ansible does not
// accept as an empty group.
func spellNulls(n *yaml.Node, inFlow bool) {
	inFlow = inFlow || n.Style&yaml.FlowStyle != 0
	if inFlow && n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" && n.Value == "" {
		n.Value = "null"
	}
	for _, each := range n.Content {
		spellNulls(each, inFlow)
	}
}
