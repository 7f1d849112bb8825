package kubespray

import (
	"context"
	"encoding/json"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/spf13/afero"
	"github.com/spf13/pflag"

	"github.com/vnfkit/vnfkit/internal/kubesim/program"
	"github.com/vnfkit/vnfkit/sshexec"
)

// arguments of ansible-playbook.
type arguments struct {
	inventory, extra, vault, become string
	root, version                   bool
	limit                           []string
	playbook                        string
}

func parseArguments(c *program.Call) (a arguments, err error) {
	rest, err := c.Flags(c.Args, func(set *pflag.FlagSet) {
		set.StringVarP(&a.inventory, "inventory", "i", "", "")
		set.StringVarP(&a.extra, "extra-vars", "e", "", "")
		set.StringSliceVarP(&a.limit, "limit", "l", nil, "")
		set.StringVar(&a.vault, "vault-password-file", "", "")
		set.BoolVarP(&a.root, "become", "b", false, "")
		set.StringVar(&a.become, "become-user", "root", "")
		set.IntP("forks", "f", 5, "")
		set.BoolVar(&a.version, "version", false, "")
	})
	switch {
	case err != nil:
		return a, exit(2, "ansible-playbook: %v", err)
	case a.version:
		return a, nil
	case len(rest) != 1:
		return a, exit(2, "ansible-playbook: error: one playbook is required: %q", rest)
	case !a.root || a.become != "root":
		return a, exit(2, "This has to be run as root")
	}
	a.playbook = absolute(c, rest[0])
	return a, nil
}

func absolute(c *program.Call, name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(c.Dir, name)
}

// playbook is ansible-playbook.
func (s Server) playbook(ctx context.Context, c *program.Call) error {
	a, err := parseArguments(c)
	if err != nil {
		return err
	}
	if a.version {
		c.Printf("ansible-playbook [core %s]\n", s.Version)
		return nil
	}
	book := s.books()[strings.TrimPrefix(a.playbook, s.Root+"/")]
	if book == nil || !c.Exists(a.playbook) {
		return exit(1, "ERROR! the playbook: %s could not be found", a.playbook)
	}
	if name := c.Env("ANSIBLE_STDOUT_CALLBACK"); name != jsonLines {
		return exit(1, "ERROR! Invalid callback for stdout specified: %s", name)
	}
	r, err := s.newRun(c, a)
	if err != nil {
		return err
	}
	defer func() { _ = r.pool.Close() }()
	if err := book(ctx, r); err != nil && !errors.Is(err, errEnded) {
		return err
	}
	if ctx.Err() != nil {
		return exit(99, "ERROR! User interrupted execution")
	}
	return r.end()
}

func (s Server) newRun(c *program.Call, a arguments) (*run, error) {
	r := &run{server: s, call: c, recap: map[string]map[string]int{}, extra: map[string]any{}}
	var key string
	if a.vault != "" {
		text, err := c.Read(a.vault)
		if err != nil {
			return nil, exit(1, "ERROR! The vault password file %s was not found", a.vault)
		}
		key = strings.TrimSpace(string(text))
	}
	if name, isFile := strings.CutPrefix(a.extra, "@"); a.extra != "" {
		text, err := c.Read(name)
		if err == nil && isFile {
			err = json.Unmarshal(text, &r.extra)
		}
		if err != nil || !isFile {
			return nil, exit(1, "ERROR! the variables of %s cannot be read: %v", a.extra, err)
		}
	}
	var err error
	if r.inventory, err = readInventory(c, absolute(c, a.inventory), key); err != nil {
		return nil, exit(4, "ERROR! %v", err)
	}
	for _, host := range a.limit {
		if slices.Contains(r.inventory.hosts, host) {
			r.limit = append(r.limit, host)
		}
	}
	if len(r.limit) < len(a.limit) {
		return nil, exit(1, "ERROR! Specified inventory, host pattern and/or --limit leaves us with no hosts to target: %q", a.limit)
	}
	config, err := afero.ReadFile(c.FS, path.Join(c.Dir, "ansible.cfg"))
	if err != nil {
		return nil, exit(1, "ERROR! the working directory is not that of kubespray: %v", err)
	}
	r.config = string(config)
	r.pool = sshexec.NewPool(sshexec.Options{Dial: s.Dial})
	return r, nil
}
