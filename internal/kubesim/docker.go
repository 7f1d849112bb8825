package kubesim

import (
	"cmp"
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
)

// docker is the client of Docker Engine, with what the daemon does for it.
func dockerCommand(ctx context.Context, c *call) error {
	if slices.Equal(c.args, []string{"--version"}) {
		return c.on(func(m *machine) error {
			c.printf("Docker version %s, build 297e128\n", m.dockerVersion())
			return nil
		})
	}
	var dir string
	set := pflag.NewFlagSet("docker", pflag.ContinueOnError)
	set.SetInterspersed(false)
	set.SetOutput(io.Discard)
	set.StringVar(&dir, "config", path.Join(home(c.process.User), ".docker"), "")
	if err := set.Parse(c.args); err != nil {
		return err
	}
	if err := c.on(func(m *machine) error { return c.reachDaemon(m, set.Args()) }); err != nil {
		return err
	}
	args := set.Args()
	if len(args) == 0 {
		return errors.New("docker: no command")
	}
	switch args[0] {
	case "login":
		return c.dockerLogin(ctx, dir+"/config.json", args[1:])
	case "logout":
		return c.dockerLogout(dir+"/config.json", args[1:])
	case "pull":
		return c.dockerPull(ctx, dir+"/config.json", args[1:])
	case "info":
		return c.dockerInfo(args[1:])
	case "version":
		return c.dockerVersion(args[1:])
	case "load":
		return c.dockerLoad(ctx, args[1:])
	case "run":
		return c.dockerRun(args[1:])
	case "image", "container":
		if len(args) > 1 {
			if command := dockerCommands[args[0]+" "+args[1]]; command != nil {
				return command(c, args[2:])
			}
		}
	}
	return fmt.Errorf("docker: '%s' is not a docker command.\nSee 'docker --help'", strings.Join(args[:min(2, len(args))], " "))
}

// reachDaemon fails as the client does when it cannot talk to the daemon. It prints the template of the command even without values.
// The socket starts a daemon that is stopped.
func (c *call) reachDaemon(m *machine, args []string) error {
	if m.runs("docker.socket") && c.process.User == "root" {
		return c.startDaemon(m, false)
	}
	if slices.Contains(args, "--format") {
		c.printf("\n")
	}
	if c.process.User != "root" {
		return errors.New("Got permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock: " +
			`Get "http://%2Fvar%2Frun%2Fdocker.sock/v1.24/version": dial unix /var/run/docker.sock: connect: permission denied`)
	}
	return errors.New("Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?")
}

// dockerCommands are those that are about one image or container.
var dockerCommands = map[string]func(*call, []string) error{
	"image inspect": (*call).imageInspect, "container inspect": (*call).containerInspect, "container rm": (*call).containerRemove,
	"container start": (*call).containerStart, "container stop": (*call).containerStop, "container logs": (*call).containerLogs,
}

func (c *call) dockerVersion(args []string) error {
	if !slices.Equal(args, []string{"--format", "{{.Server.Version}}"}) {
		return fmt.Errorf("kubesim: docker version %q is not simulated", args)
	}
	return c.on(func(m *machine) error {
		c.printf("%s\n", m.dockerVersion())
		return nil
	})
}

// dockerVersion is the version of the package, without its epoch and its revision.
func (m *machine) dockerVersion() string {
	version := cmp.Or(m.Packages["docker-ce"], m.Packages["docker.io"])
	version, _, _ = strings.Cut(strings.TrimPrefix(version, "5:"), "-")
	return version
}

// dockerWay returns how the daemon accesses a server: by HTTP if its configuration says so.
func (c *call) dockerWay(server string) (way, error) {
	w := way{scheme: "https"}
	if err := c.on(func(m *machine) error {
		if slices.Contains(m.Insecure, server) {
			w.scheme = "http"
		}
		return nil
	}); err != nil {
		return w, err
	}
	names, err := afero.Glob(c.process.FS, "/etc/docker/certs.d/"+strings.NewReplacer("[", `\[`, "]", `\]`).Replace(server)+"/*.crt")
	for _, name := range names {
		text, err := afero.ReadFile(c.process.FS, name)
		if err != nil {
			return w, err
		}
		w.cas = append(w.cas, text...)
	}
	return w, err
}

// dockerAuth is an entry of config.json of the client: "name:password".
type dockerAuth struct {
	Auth []byte `json:"auth"`
}

// dockerConfig reads config.json of the client.
func (c *call) dockerConfig(name string) map[string]dockerAuth {
	var f struct{ Auths map[string]dockerAuth }
	if text, err := afero.ReadFile(c.process.FS, name); err == nil {
		_ = json.Unmarshal(text, &f)
	}
	if f.Auths == nil {
		f.Auths = map[string]dockerAuth{}
	}
	return f.Auths
}

// writeDockerConfig changes the entries; the client keeps the rest of the file, and formats it again.
func (c *call) writeDockerConfig(name string, auths map[string]dockerAuth) error {
	f := map[string]any{}
	if text, err := afero.ReadFile(c.process.FS, name); err == nil {
		_ = json.Unmarshal(text, &f)
	}
	f["auths"] = auths
	text, err := json.MarshalIndent(f, "", "\t")
	if err != nil {
		return err
	}
	return c.write(name, string(text), 0o600)
}

func (c *call) dockerLogin(ctx context.Context, file string, args []string) error {
	var user string
	var stdin bool
	rest, err := c.flags(args, func(f *pflag.FlagSet) {
		f.StringVarP(&user, "username", "u", "", "")
		f.BoolVar(&stdin, "password-stdin", false, "")
	})
	if err != nil {
		return err
	}
	if stdin && user == "" {
		return errors.New("Must provide --username with --password-stdin")
	}
	if len(rest) != 1 || !stdin {
		return errors.New("Error: Cannot perform an interactive login from a non TTY device")
	}
	text, err := io.ReadAll(c.process.Stdin)
	if err != nil {
		return err
	}
	w, err := c.dockerWay(rest[0])
	if err != nil {
		return err
	}
	creds := user + ":" + strings.TrimRight(string(text), "\r\n")
	r, err := c.contact(ctx, rest[0], w)
	if err == nil {
		err = r.admits(ctx, creds)
	}
	if err != nil && !errors.Is(err, errUnauthorized) {
		return fmt.Errorf("Error response from daemon: Get \"%s://%s/v2/\": %w", w.scheme, rest[0], err)
	}
	if err != nil {
		return fmt.Errorf("Error response from daemon: login attempt to %s://%s/v2/ failed with status: 401 Unauthorized", w.scheme, rest[0])
	}
	f := c.dockerConfig(file)
	f[rest[0]] = dockerAuth{[]byte(creds)}
	c.printf("Login Succeeded\n")
	return c.writeDockerConfig(file, f)
}

func (c *call) dockerLogout(file string, args []string) error {
	if len(args) != 1 {
		return errors.New("\"docker logout\" requires at most 1 argument.")
	}
	c.printf("Removing login credentials for %s\n", args[0])
	f := c.dockerConfig(file)
	if _, exists := f[args[0]]; !exists {
		return nil
	}
	delete(f, args[0])
	return c.writeDockerConfig(file, f)
}

// dockerInfo prints the registries without TLS in the current configuration.
func (c *call) dockerInfo(args []string) error {
	if !slices.Equal(args, []string{"--format", "{{json .RegistryConfig.IndexConfigs}}"}) {
		return fmt.Errorf("kubesim: docker info %q is not simulated", args)
	}
	type index struct{ Secure bool }
	known := map[string]index{"docker.io": {true}}
	return c.on(func(m *machine) error {
		for _, server := range m.Insecure {
			known[server] = index{}
		}
		text, err := json.Marshal(known)
		c.printf("%s\n", text)
		return err
	})
}

// loadDaemon loads the configuration as Docker does at its start or reload. A reload does not notice that a list was
// removed.
func (c *call) loadDaemon(m *machine, reload bool) error {
	var f struct {
		Insecure *[]string `json:"insecure-registries"`
	}
	text, err := afero.ReadFile(c.process.FS, "/etc/docker/daemon.json")
	if err == nil {
		if err := json.Unmarshal(text, &f); err != nil {
			return fmt.Errorf("unable to configure the Docker daemon with file /etc/docker/daemon.json: %w", err)
		}
	}
	switch {
	case f.Insecure != nil:
		m.Insecure = *f.Insecure
	case !reload:
		m.Insecure = nil
	}
	return nil
}
