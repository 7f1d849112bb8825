package kubesim

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/afero"
	"github.com/spf13/pflag"

	"github.com/vnfkit/vnfkit/internal/kubesim/distribution"
)

// OccupyPort makes another program listen at a port of a machine, or ends that.
func (w *World) OccupyPort(id string, number int, taken bool) {
	w.change(func() {
		m := w.state.Machines[id]
		if m == nil {
			return
		}
		m.Taken = slices.DeleteFunc(m.Taken, func(n int) bool { return n == number })
		if taken {
			m.Taken = append(m.Taken, number)
		}
	})
}

// dockerRun makes a container and starts it. The code is 125 when Docker itself fails (docker run, "Exit status").
func (c *call) dockerRun(args []string) error {
	k, ref, err := newContainer(args)
	if err != nil {
		return exitError{125, err.Error() + "\nSee 'docker run --help'."}
	}
	for _, v := range k.Volumes { // Docker creates missing directories of volumes
		if err := c.process.FS.MkdirAll(v.From, 0o755); err != nil {
			return exitError{125, fmt.Sprintf("docker: Error response from daemon: error while creating mount source path '%s': %v.", v.From, err)}
		}
	}
	return c.on(func(m *machine) error {
		found := m.Docker.image(ref)
		switch other := m.Docker.container(k.Name); {
		case found == nil && distribution.IsDigest(ref):
			return exitError{125, "docker: Error response from daemon: No such image: " + ref + ".\nSee 'docker run --help'."}
		case found == nil:
			return exitError{125, fmt.Sprintf("Unable to find image '%s' locally\nkubesim: docker run does not pull", tagged(ref))}
		case other != nil:
			return exitError{125, fmt.Sprintf("docker: Error response from daemon: Conflict. The container name \"/%s\" is already in use by container %q. "+
				"You have to remove (or rename) that container to be able to reuse that name.\nSee 'docker run --help'.", k.Name, other.ID)}
		}
		k.Image, k.Registry = found.ID, found.Registry
		m.Docker.Containers = append(m.Docker.Containers, k)
		c.printf("%s\n", k.ID) // also of one that does not start
		if err := c.w.startContainer(m, k); err != nil {
			return exitError{125, fmt.Sprintf("docker: Error response from daemon: %v.", err)}
		}
		return nil
	})
}

// newContainer reads the arguments of docker run.
func newContainer(args []string) (k *container, image string, err error) {
	k = &container{ID: randomHex(32), Status: "created", Labels: map[string]string{}, Env: map[string]string{}, Ports: map[string]string{}}
	var detach bool
	var env, labels, ports, volumes []string
	set := pflag.NewFlagSet("docker run", pflag.ContinueOnError)
	set.SetInterspersed(false)
	set.SetOutput(io.Discard)
	set.BoolVarP(&detach, "detach", "d", false, "")
	set.StringVar(&k.Name, "name", "", "")
	set.StringVar(&k.Restart, "restart", "no", "")
	set.StringArrayVarP(&ports, "publish", "p", nil, "")
	set.StringArrayVarP(&volumes, "volume", "v", nil, "")
	set.StringArrayVarP(&env, "env", "e", nil, "")
	set.StringArrayVarP(&labels, "label", "l", nil, "")
	if err := set.Parse(args); err != nil {
		return nil, "", err
	}
	switch {
	case set.NArg() != 1 || !detach || k.Name == "":
		return nil, "", fmt.Errorf("kubesim: docker run %q is not simulated", args)
	case k.Restart != "no" && k.Restart != "always":
		return nil, "", fmt.Errorf("docker: invalid restart policy %q", k.Restart)
	}
	for _, pair := range env {
		name, value, _ := strings.Cut(pair, "=")
		k.Env[name] = value
	}
	for _, pair := range labels {
		name, value, _ := strings.Cut(pair, "=")
		k.Labels[name] = value
	}
	return k, set.Arg(0), errors.Join(k.publish(ports), k.bind(volumes))
}

func (k *container) publish(ports []string) error {
	for _, pair := range ports {
		outside, inside, both := strings.Cut(pair, ":")
		for name, number := range map[string]string{"hostPort": outside, "containerPort": inside} {
			if n, err := strconv.Atoi(number); !both || err != nil || n < 1 || n > 65535 {
				return fmt.Errorf("docker: Invalid %s: %s.", name, number)
			}
		}
		k.Ports[outside] = inside
	}
	return nil
}

func (k *container) bind(volumes []string) error {
	for _, text := range volumes {
		parts := strings.Split(text, ":")
		if len(parts) < 2 || len(parts) > 3 || !path.IsAbs(parts[0]) || !path.IsAbs(parts[1]) || len(parts) == 3 && parts[2] != "ro" {
			return fmt.Errorf("kubesim: docker run --volume %s is not simulated", text)
		}
		k.Volumes = append(k.Volumes, bind{From: path.Clean(parts[0]), To: path.Clean(parts[1]), ReadOnly: len(parts) == 3})
	}
	return nil
}

// startContainer gives a container its ports and lets its program run.
func (w *World) startContainer(m *machine, k *container) error {
	for number := range k.Ports {
		if err := w.portTaken(m, number); err != nil {
			err = fmt.Errorf("driver failed programming external connectivity on endpoint %s (%s): %w", k.Name, randomHex(32), err)
			k.ExitCode, k.Error = 128, err.Error()
			return err
		}
	}
	k.Restarts = 0
	w.launch(m, k)
	return nil
}

// portTaken reports what listens at a port, other than a service of the simulation that Docker publishes.
func (w *World) portTaken(m *machine, number string) error {
	if _, allocated := m.published(number); allocated {
		return fmt.Errorf("Bind for 0.0.0.0:%s failed: port is already allocated", number)
	}
	_, serves := w.portOf(m, number)
	n, _ := strconv.Atoi(number)
	if serves || number == "22" || slices.Contains(m.Taken, n) {
		return fmt.Errorf("Error starting userland proxy: listen tcp4 0.0.0.0:%s: bind: address already in use", number)
	}
	return nil
}

// published returns the container port behind a port of the machine.
func (m *machine) published(number string) (port, bool) {
	if !m.runs("docker") {
		return port{}, false
	}
	for _, k := range m.Docker.Containers {
		if inside, ok := k.Ports[number]; ok && (k.Status == "running" || k.Status == "restarting") {
			return port{serve: func(w *World, id string, conn net.Conn) { w.serveRegistry(id, k.ID, inside, conn) }}, true
		}
	}
	return port{}, false
}

// launch runs the program of a container once.
func (w *World) launch(m *machine, k *container) {
	k.Status, k.ExitCode, k.Error, k.TLS = "running", 0, "", nil
	code := 0
	if k.Registry {
		var said string
		code, said = w.startRegistry(m, k)
		const most = 100
		k.Logs = slices.Concat(k.Logs, strings.Split(said, "\n"))
		k.Logs = k.Logs[max(0, len(k.Logs)-most):]
	}
	if code != 0 || !k.Registry { // any other program has nothing to do
		k.ExitCode = code
		k.Status = map[bool]string{true: "restarting", false: "exited"}[k.Restart == "always"]
	}
}

// logged is a line as the registry logs.
func (w *World) logged(level, format string, args ...any) string {
	return fmt.Sprintf("time=%q level=%s msg=%q", w.nowFunc().UTC().Format(time.RFC3339Nano), level, fmt.Sprintf(format, args...))
}

// startDaemon starts Docker, unless it runs and need not restart.
func (c *call) startDaemon(m *machine, restart bool) error {
	if m.Services["docker"] && !restart {
		return nil
	}
	m.Services["docker"] = false
	c.w.daemonChanged(m)
	if err := c.loadDaemon(m, false); err != nil {
		return fmt.Errorf("Job for docker.service failed because the control process exited with error code: %w", err)
	}
	m.Services["docker"] = true
	c.w.daemonChanged(m)
	return nil
}

// daemonChanged is called when Docker has ended or started: its containers end with it, and those with restart policy
// "always" start with it, except those that never ran.
func (w *World) daemonChanged(m *machine) {
	for _, k := range m.Docker.Containers {
		switch {
		case !m.runs("docker"):
			k.stop()
		case k.Restart == "always" && k.Status == "exited":
			_ = w.startContainer(m, k) // it keeps the error
		}
	}
}

// offersDocker reports whether a source of packages is one of Docker's own.
func (c *call) offersDocker() bool {
	names, err := afero.Glob(c.process.FS, "/etc/apt/sources.list.d/*")
	return err == nil && slices.ContainsFunc(names, func(name string) bool {
		text, err := afero.ReadFile(c.process.FS, name)
		return err == nil && strings.Contains(name+string(text), "docker")
	})
}

// within is the file of the machine that a container sees under a name.
func (k *container) within(name string) (file string, readOnly, mounted bool) {
	for _, v := range k.Volumes {
		if rest, ok := strings.CutPrefix(path.Clean(name), v.To); ok && (rest == "" || rest[0] == '/') {
			return path.Join(v.From, rest), v.ReadOnly, true
		}
	}
	return "", false, false
}

// registryImage reports whether the program of an image is the registry of distribution, by its configuration
// (OCI image specification, config.md).
func registryImage(config []byte) bool {
	var f struct {
		Config struct{ Entrypoint, Cmd []string } `json:"config"`
	}
	if err := json.Unmarshal(config, &f); err != nil {
		return false
	}
	words := strings.Join(slices.Concat(f.Config.Entrypoint, f.Config.Cmd), " ")
	return strings.Contains(words, "registry") || strings.Contains(words, "/etc/distribution/")
}
