package kubesim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/spf13/afero"
	"github.com/spf13/pflag"
	"gopkg.in/yaml.v3"
)

func init() { registryPrograms["helm"] = helm }

// helmRepositories is repositories.yaml.
type helmRepositories struct {
	APIVersion   string           `yaml:"apiVersion"`
	Repositories []helmRepository `yaml:"repositories"`
}

type helmRepository struct {
	Name     string `yaml:"name"`
	URL      string `yaml:"url"`
	Username string `yaml:"username"`
	Password string `yaml:"password"`
}

// helm runs once a script has installed it as /usr/local/bin/helm. A file with a version in it, such as v3.5.4, is a Helm of that
// version.
func helm(_ context.Context, c *call) error {
	program, err := afero.ReadFile(c.process.FS, "/usr/local/bin/helm")
	if err != nil {
		return errors.New("bash: helm: command not found")
	}
	switch strings.Join(c.args[:min(2, len(c.args))], " ") {
	case "version --template":
		if strings.Join(c.args[2:], " ") != "{{.Version}}" {
			break
		}
		version := strings.TrimSpace(string(program))
		if !strings.HasPrefix(version, "v") {
			version = "v3.18.4"
		}
		c.printf("%s", version)
		return nil
	case "version --short":
		c.printf("v3.18.4+gd80839c\n")
		return nil
	case "env":
		c.printf("HELM_MAX_HISTORY=\"10\"\nHELM_REPOSITORY_CONFIG=%q\n", c.helmFile())
		return nil
	case "repo add":
		return c.helmRepoAdd(c.args[2:])
	case "repo list":
		return c.helmRepoList()
	case "repo update":
		return c.helmRepoUpdate()
	}
	return fmt.Errorf("kubesim: helm %q is not simulated", c.args)
}

func (c *call) helmFile() string {
	return path.Join(cmp.Or(c.process.Env("HOME"), home(c.process.User)), ".config/helm/repositories.yaml")
}

func (c *call) helmRepositories() (helmRepositories, error) {
	f := helmRepositories{}
	text, err := afero.ReadFile(c.process.FS, c.helmFile())
	if err != nil {
		return f, errors.New("Error: no repositories to show")
	}
	if err := yaml.Unmarshal(text, &f); err != nil {
		return f, fmt.Errorf("Error: couldn't load repositories file (%s): %w", c.helmFile(), err)
	}
	return f, nil
}

func (c *call) helmRepoAdd(args []string) error {
	r := helmRepository{}
	var stdin bool
	rest, err := c.flags(args, func(f *pflag.FlagSet) {
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
		text, err := io.ReadAll(c.process.Stdin)
		if err != nil {
			return err
		}
		r.Password = strings.TrimSpace(string(text))
	}
	f, err := c.helmRepositories()
	if err != nil {
		f = helmRepositories{}
	}
	f.Repositories = append(slices.DeleteFunc(f.Repositories, func(o helmRepository) bool { return o.Name == r.Name }), r)
	text, err := yaml.Marshal(f)
	if err != nil {
		return err
	}
	return c.write(c.helmFile(), string(text), 0o600)
}

func (c *call) helmRepoList() error {
	f, err := c.helmRepositories()
	for _, r := range f.Repositories {
		c.printf("%s\t%s\n", r.Name, r.URL)
	}
	return err
}

// helmRepoUpdate fails for repositories whose names say that they do not answer.
func (c *call) helmRepoUpdate() error {
	f, err := c.helmRepositories()
	if err != nil || len(f.Repositories) == 0 {
		return errors.New("Error: no repositories found. You must add one before updating")
	}
	for _, r := range f.Repositories {
		if strings.Contains(r.URL, ".invalid") {
			return fmt.Errorf("Error: failed to update the following repositories: [%s]", r.URL)
		}
		if err := c.write(path.Join(path.Dir(c.helmFile()), "../../.cache/helm/repository", r.Name+"-index.yaml"), "", 0o644); err != nil {
			return err
		}
	}
	return nil
}
