// Package helm simulates what drivers call of Helm on a machine: its version, its environment and its list of repositories. It refuses
// every other command. It does not know charts: a repository answers unless its name ends in .invalid.
package helm

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/spf13/afero"
	"github.com/spf13/pflag"
	"gopkg.in/yaml.v3"

	"github.com/vnfkit/vnfkit/internal/kubesim/program"
)

// repositoriesFile is repositories.yaml.
type repositoriesFile struct {
	APIVersion   string       `yaml:"apiVersion"`
	Repositories []repository `yaml:"repositories"`
}

type repository struct {
	Name     string `yaml:"name"`
	URL      string `yaml:"url"`
	Username string `yaml:"username"`
	Password string `yaml:"password"`
}

// command is one run of Helm.
type command struct{ *program.Call }

// Run runs once a script has installed it as /usr/local/bin/helm. A file with a version in it, such as v3.5.4, is a Helm of that
// version.
func Run(p *program.Call) error {
	c := command{p}
	content, err := afero.ReadFile(c.FS, "/usr/local/bin/helm")
	if err != nil {
		return errors.New("bash: helm: command not found")
	}
	switch strings.Join(c.Args[:min(2, len(c.Args))], " ") {
	case "version --template":
		if strings.Join(c.Args[2:], " ") != "{{.Version}}" {
			break
		}
		version := strings.TrimSpace(string(content))
		if !strings.HasPrefix(version, "v") {
			version = "v3.18.4"
		}
		c.Printf("%s", version)
		return nil
	case "version --short":
		c.Printf("v3.18.4+gd80839c\n")
		return nil
	case "env":
		c.Printf("HELM_MAX_HISTORY=\"10\"\nHELM_REPOSITORY_CONFIG=%q\n", c.file())
		return nil
	case "repo add":
		return c.add(c.Args[2:])
	case "repo list":
		return c.list()
	case "repo update":
		return c.update()
	}
	return fmt.Errorf("kubesim: helm %q is not simulated", c.Args)
}

func (c command) file() string {
	return path.Join(cmp.Or(c.Env("HOME"), c.Home()), ".config/helm/repositories.yaml")
}

func (c command) repositories() (repositoriesFile, error) {
	f := repositoriesFile{}
	text, err := afero.ReadFile(c.FS, c.file())
	if err != nil {
		return f, errors.New("Error: no repositories to show")
	}
	if err := yaml.Unmarshal(text, &f); err != nil {
		return f, fmt.Errorf("Error: couldn't load repositories file (%s): %w", c.file(), err)
	}
	return f, nil
}

func (c command) add(args []string) error {
	r := repository{}
	var stdin bool
	rest, err := c.Flags(args, func(f *pflag.FlagSet) {
		f.StringVar(&r.Username, "username", "", "")
		f.BoolVar(&stdin, "password-stdin", false, "")
	})
	if err != nil {
		return err
	}
	if len(rest) != 2 {
		return errors.New("Error: \"helm repo add\" requires 2 arguments")
	}
	r.Name, r.URL = rest[0], rest[1]
	if stdin {
		text, err := io.ReadAll(c.Stdin)
		if err != nil {
			return err
		}
		r.Password = strings.TrimSpace(string(text))
	}
	f, err := c.repositories()
	if err != nil {
		f = repositoriesFile{}
	}
	f.Repositories = append(slices.DeleteFunc(f.Repositories, func(o repository) bool { return o.Name == r.Name }), r)
	text, err := yaml.Marshal(f)
	if err != nil {
		return err
	}
	return c.Write(c.file(), string(text), 0o600)
}

func (c command) list() error {
	f, err := c.repositories()
	for _, r := range f.Repositories {
		c.Printf("%s\t%s\n", r.Name, r.URL)
	}
	return err
}

// update fails for repositories whose names say that they do not answer.
func (c command) update() error {
	f, err := c.repositories()
	if err != nil || len(f.Repositories) == 0 {
		return errors.New("Error: no repositories found. You must add one before updating")
	}
	for _, r := range f.Repositories {
		if strings.Contains(r.URL, ".invalid") {
			return fmt.Errorf("Error: failed to update the following repositories: [%s]", r.URL)
		}
		if err := c.Write(path.Join(path.Dir(c.file()), "../../.cache/helm/repository", r.Name+"-index.yaml"), "", 0o644); err != nil {
			return err
		}
	}
	return nil
}
