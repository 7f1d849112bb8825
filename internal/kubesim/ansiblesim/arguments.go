package ansiblesim

import (
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/spf13/afero"
	"github.com/spf13/pflag"
	"gopkg.in/yaml.v3"

	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// arguments of ansible-playbook.
type arguments struct {
	inventories, extra, limits, vaults []string
	playbook                           string
	become, version, syntax            bool
	becomeUser, user, key              string
}

func parseArguments(p *sshtest.Process) (*arguments, error) {
	a := &arguments{}
	set := pflag.NewFlagSet("ansible-playbook", pflag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.SortFlags = false
	set.StringArrayVarP(&a.inventories, "inventory", "i", nil, "")
	set.StringArrayVarP(&a.extra, "extra-vars", "e", nil, "")
	set.StringArrayVarP(&a.limits, "limit", "l", nil, "")
	set.StringArrayVar(&a.vaults, "vault-password-file", nil, "")
	set.StringArrayVar(&a.vaults, "vault-pass-file", nil, "")
	set.BoolVarP(&a.become, "become", "b", false, "")
	set.StringVar(&a.becomeUser, "become-user", "root", "")
	set.StringVarP(&a.user, "user", "u", "", "")
	set.StringVar(&a.key, "private-key", "", "")
	set.IntP("forks", "f", 5, "")
	set.CountP("verbose", "v", "")
	set.BoolVar(&a.syntax, "syntax-check", false, "")
	set.BoolVar(&a.version, "version", false, "")
	usage := func(format string, args ...any) error {
		return exit(2, "usage: ansible-playbook [-h] [--version] [-i INVENTORY] [-l SUBSET] [-e EXTRA_VARS] playbook [playbook ...]\nansible-playbook: error: "+format, args...)
	}
	if err := set.Parse(p.Args[1:]); err != nil {
		return nil, usage("unrecognized arguments: %v", err)
	}
	switch rest := set.Args(); {
	case a.version:
	case len(rest) == 0:
		return nil, usage("the following arguments are required: playbook")
	case len(rest) > 1:
		return nil, usage("ansiblesim: several playbooks are not simulated: %q", rest)
	default:
		a.playbook = absolute(p, rest[0])
	}
	return a, nil
}

func absolute(p *sshtest.Process, name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(p.Dir, name)
}

// extraVars are those of -e: a file, YAML or JSON, or name=value.
func (a *arguments) extraVars(p *sshtest.Process, keys []string) (vars, error) {
	out := vars{}
	for _, text := range a.extra {
		var err error
		switch {
		case strings.HasPrefix(text, "@"):
			var data []byte
			name := absolute(p, text[1:])
			if data, err = afero.ReadFile(p.FS, name); err != nil {
				return nil, exit(1, "ERROR! Unable to retrieve file contents\nCould not find or access '%s' on the Ansible Controller.", name)
			}
			err = out.load(name, data, keys)
		case strings.HasPrefix(text, "{"), strings.HasPrefix(text, "["):
			err = out.load("the command line", []byte(text), keys)
		default:
			var words []string
			if words, err = split(text, false); err == nil {
				err = out.assign(words)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// assign takes name=value words; the values are strings.
func (v vars) assign(words []string) error {
	for _, word := range words {
		name, value, given := strings.Cut(word, "=")
		if given {
			v[name] = value
		}
	}
	return nil
}

// load takes the variables of a file.
func (v vars) load(name string, data []byte, keys []string) error {
	if strings.HasPrefix(string(data), vaultHeader) {
		var err error
		if data, err = decrypt(string(data), keys); err != nil {
			return exit(4, "ERROR! %v on %s", err, name)
		}
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return exit(4, "ERROR! We were unable to read either as JSON nor YAML, these are the errors we got from each: %v\nThe error appears to be in '%s'", err, name)
	}
	if len(doc.Content) == 0 {
		return nil
	}
	value, err := valueOf(doc.Content[0], keys)
	if err != nil {
		return exit(4, "ERROR! %v on %s", err, name)
	}
	loaded, isMap := value.(map[string]any)
	if value != nil && !isMap {
		return exit(4, "ERROR! %s must be stored as a dictionary/hash", name)
	}
	for key, value := range loaded {
		v[key] = value
	}
	return nil
}

// vaultKeys are the passwords of the vault password files.
func (a *arguments) vaultKeys(p *sshtest.Process) (keys []string, err error) {
	for _, name := range a.vaults {
		name = absolute(p, name)
		data, err := afero.ReadFile(p.FS, name)
		if err != nil {
			return nil, exit(1, "ERROR! The vault password file %s was not found", name)
		}
		key := strings.TrimSpace(string(data))
		if key == "" {
			return nil, exit(1, "ERROR! Invalid vault password was provided from file (%s)", name)
		}
		if info, err := p.FS.Stat(name); err == nil && info.Mode()&0o111 != 0 {
			return nil, fmt.Errorf("ansiblesim: %s is a program, which is not simulated", name)
		}
		keys = append(keys, key)
	}
	return keys, nil
}
