package kubesim

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/internal/kubesim/distribution"
	"github.com/vnfkit/vnfkit/internal/kubesim/docker"
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
	k, ref, err := docker.NewContainer(args)
	if err != nil {
		return exitError{125, err.Error() + "\nSee 'docker run --help'."}
	}
	for _, v := range k.Volumes { // Docker creates missing directories of volumes
		if err := c.process.FS.MkdirAll(v.From, 0o755); err != nil {
			return exitError{125, fmt.Sprintf("docker: Error response from daemon: error while creating mount source path '%s': %v.", v.From, err)}
		}
	}
	return c.on(func(m *machine) error {
		found := m.Docker.Image(ref)
		switch other := m.Docker.Container(k.Name); {
		case found == nil && distribution.IsDigest(ref):
			return exitError{125, "docker: Error response from daemon: No such image: " + ref + ".\nSee 'docker run --help'."}
		case found == nil:
			return exitError{125, fmt.Sprintf("Unable to find image '%s' locally\nkubesim: docker run does not pull", docker.Tagged(ref))}
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

// startContainer gives a container its ports and lets its program run.
func (w *World) startContainer(m *machine, k *docker.Container) error {
	for number := range k.Ports {
		if err := w.portTaken(m, number); err != nil {
			err = fmt.Errorf("driver failed programming external connectivity on endpoint %s (%s): %w", k.Name, randomHex(32), err)
			k.ExitCode, k.Error = 128, err.Error()
			return err
		}
	}
	k.Restarts = 0
	w.registry(w.files[m.ID]()).Launch(k)
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
	m.Services["docker"], m.Services["docker.socket"] = true, true
	c.w.daemonChanged(m)
	return nil
}

// daemonChanged is called when Docker has ended or started: its containers end with it, and those with restart policy
// "always" start with it, except those that never ran.
func (w *World) daemonChanged(m *machine) {
	for _, k := range m.Docker.Containers {
		switch {
		case !m.runs("docker"):
			k.Stop()
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
