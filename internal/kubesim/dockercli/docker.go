// Package dockercli simulates the client of Docker Engine, with what the daemon does for it: images are loaded, pulled and inspected,
// containers run, inspected, started, stopped and removed. It refuses other commands and options. What the daemon has is in package
// docker. TestDockerContract in package kubesim asks both and Docker 20.10 what drivers ask: errors have the words that drivers read, not all
// of Docker.
package dockercli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/spf13/afero"
	"github.com/spf13/pflag"

	"github.com/vnfkit/vnfkit/internal/kubesim/docker"
	"github.com/vnfkit/vnfkit/internal/kubesim/program"
	"github.com/vnfkit/vnfkit/internal/kubesim/pull"
)

// Client is one run of the client on a machine.
type Client struct {
	*program.Call
	Network pull.Network
	Public  []string // images of the public registry, such as "registry:latest"; none: it cannot be reached

	Reach func() (bool, error)                // reports whether the daemon answers: its socket starts it
	On    func(fn func(e Engine) error) error // runs fn while nothing else changes the daemon
}

// Engine is the daemon, whether it runs or not.
type Engine struct {
	*docker.Engine
	Version  string
	Runs     bool
	Insecure []string                      // registries without TLS
	Launch   func(*docker.Container)       // runs its program once more
	Start    func(*docker.Container) error // gives it its ports, and launches it
}

// Run runs the client.
func (c *Client) Run(ctx context.Context) error {
	if slices.Equal(c.Args, []string{"--version"}) {
		return c.On(func(e Engine) error {
			c.Printf("Docker version %s, build 297e128\n", e.Version)
			return nil
		})
	}
	var dir string
	set := pflag.NewFlagSet("docker", pflag.ContinueOnError)
	set.SetInterspersed(false)
	set.SetOutput(io.Discard)
	set.StringVar(&dir, "config", path.Join(c.Home(), ".docker"), "")
	if err := set.Parse(c.Args); err != nil {
		return err
	}
	args := set.Args()
	if err := c.reachDaemon(); err != nil {
		return err
	}
	if len(args) == 0 {
		return errors.New("docker: no command")
	}
	switch args[0] {
	case "login":
		return c.login(ctx, dir+"/config.json", args[1:])
	case "logout":
		return c.logout(dir+"/config.json", args[1:])
	case "pull":
		return c.pull(ctx, dir+"/config.json", args[1:])
	case "info":
		return c.info(args[1:])
	case "version":
		return c.version(args[1:])
	case "load":
		return c.load(args[1:])
	case "run":
		return c.run(args[1:])
	case "image", "container":
		if len(args) > 1 {
			if command := objects[args[0]+" "+args[1]]; command != nil {
				return command(c, args[2:])
			}
		}
	}
	return fmt.Errorf("docker: '%s' is not a docker command.\nSee 'docker --help'", strings.Join(args[:min(2, len(args))], " "))
}

// reachDaemon fails as the client does when it cannot talk to the daemon.
func (c *Client) reachDaemon() error {
	if c.User != "root" {
		return errors.New("permission denied while trying to connect to the Docker daemon socket")
	}
	if answers, err := c.Reach(); answers || err != nil {
		return err
	}
	return errors.New("Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?")
}

// objects are those that are about one image or container.
var objects = map[string]func(*Client, []string) error{
	"image inspect": (*Client).imageInspect, "container inspect": (*Client).containerInspect, "container rm": (*Client).containerRemove,
	"container start": (*Client).containerStart, "container stop": (*Client).containerStop, "container logs": (*Client).containerLogs,
}

func (c *Client) version(args []string) error {
	if !slices.Equal(args, []string{"--format", "{{.Server.Version}}"}) {
		return fmt.Errorf("kubesim: docker version %q is not simulated", args)
	}
	return c.On(func(e Engine) error {
		c.Printf("%s\n", e.Version)
		return nil
	})
}

// wayTo returns how the daemon accesses a server: by HTTP if its configuration says so.
func (c *Client) wayTo(server string) (pull.Way, error) {
	w := pull.Way{Scheme: "https"}
	if err := c.On(func(e Engine) error {
		if slices.Contains(e.Insecure, server) {
			w.Scheme = "http"
		}
		return nil
	}); err != nil {
		return w, err
	}
	names, err := afero.Glob(c.FS, "/etc/docker/certs.d/"+strings.NewReplacer("[", `\[`, "]", `\]`).Replace(server)+"/*.crt")
	for _, name := range names {
		text, err := afero.ReadFile(c.FS, name)
		if err != nil {
			return w, err
		}
		w.CAs = append(w.CAs, text...)
	}
	return w, err
}

// auth is an entry of config.json of the client: "name:password".
type auth struct {
	Auth []byte `json:"auth"`
}

// config reads config.json of the client.
func (c *Client) config(name string) map[string]auth {
	var f struct{ Auths map[string]auth }
	if text, err := afero.ReadFile(c.FS, name); err == nil {
		_ = json.Unmarshal(text, &f)
	}
	if f.Auths == nil {
		f.Auths = map[string]auth{}
	}
	return f.Auths
}

// writeConfig changes the entries; the client keeps the rest of the file, and formats it again.
func (c *Client) writeConfig(name string, auths map[string]auth) error {
	f := map[string]any{}
	if text, err := afero.ReadFile(c.FS, name); err == nil {
		_ = json.Unmarshal(text, &f)
	}
	f["auths"] = auths
	text, err := json.MarshalIndent(f, "", "\t")
	if err != nil {
		return err
	}
	return c.Write(name, string(text), 0o600)
}

func (c *Client) login(ctx context.Context, file string, args []string) error {
	var user string
	var stdin bool
	rest, err := c.Flags(args, func(f *pflag.FlagSet) {
		f.StringVarP(&user, "username", "u", "", "")
		f.BoolVar(&stdin, "password-stdin", false, "")
	})
	if err != nil {
		return err
	}
	if len(rest) != 1 || !stdin || user == "" {
		return errors.New("docker login: a server, --username and --password-stdin are required")
	}
	text, err := io.ReadAll(c.Stdin)
	if err != nil {
		return err
	}
	w, err := c.wayTo(rest[0])
	if err != nil {
		return err
	}
	creds := user + ":" + strings.TrimRight(string(text), "\r\n")
	r, err := c.Network.Contact(ctx, c.Call, rest[0], w)
	if err == nil {
		err = r.Admits(ctx, creds)
	}
	if err != nil && !errors.Is(err, pull.ErrUnauthorized) {
		return fmt.Errorf("Error response from daemon: Get \"%s://%s/v2/\": %w", w.Scheme, rest[0], err)
	}
	if err != nil {
		return fmt.Errorf("Error response from daemon: login attempt to %s://%s/v2/ failed with status: 401 Unauthorized", w.Scheme, rest[0])
	}
	f := c.config(file)
	f[rest[0]] = auth{[]byte(creds)}
	c.Printf("Login Succeeded\n")
	return c.writeConfig(file, f)
}

func (c *Client) logout(file string, args []string) error {
	server, err := about(args)
	if err != nil {
		return err
	}
	f := c.config(file)
	if _, exists := f[server]; !exists {
		return nil
	}
	delete(f, server)
	return c.writeConfig(file, f)
}

// info prints the registries without TLS in the current configuration.
func (c *Client) info(args []string) error {
	if !slices.Equal(args, []string{"--format", "{{json .RegistryConfig.IndexConfigs}}"}) {
		return fmt.Errorf("kubesim: docker info %q is not simulated", args)
	}
	type index struct{ Secure bool }
	known := map[string]index{"docker.io": {true}}
	return c.On(func(e Engine) error {
		for _, server := range e.Insecure {
			known[server] = index{}
		}
		text, err := json.Marshal(known)
		c.Printf("%s\n", text)
		return err
	})
}
