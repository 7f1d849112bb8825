package kubesim

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/afero"

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

// startContainer gives a container its ports and lets its program run.
func (w *World) startContainer(m *machine, k *docker.Container) error {
	for number := range k.Ports {
		if err := w.portTaken(m, number); err != nil {
			err = fmt.Errorf("driver failed programming external connectivity on endpoint %s: %w", k.Name, err)
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
	if k, _ := m.published(number); k != nil {
		return fmt.Errorf("Bind for 0.0.0.0:%s failed: port is already allocated", number)
	}
	n, _ := strconv.Atoi(number)
	if w.portOf(m, number) != nil || number == "22" || slices.Contains(m.Taken, n) {
		return fmt.Errorf("Error starting userland proxy: listen tcp4 0.0.0.0:%s: bind: address already in use", number)
	}
	return nil
}

// published returns the container that a port of the machine leads to, and the port of the container.
func (m *machine) published(number string) (k *docker.Container, inside string) {
	if !m.runs("docker") {
		return nil, ""
	}
	for _, k := range m.Docker.Containers {
		if inside, ok := k.Ports[number]; ok && (k.Status == "running" || k.Status == "restarting") {
			return k, inside
		}
	}
	return nil, ""
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
	names, err := afero.Glob(c.FS, "/etc/apt/sources.list.d/*")
	return err == nil && slices.ContainsFunc(names, func(name string) bool {
		text, err := afero.ReadFile(c.FS, name)
		return err == nil && strings.Contains(name+string(text), "docker")
	})
}

// dockerVersion is the version of the package, without its epoch and its revision.
func (m *machine) dockerVersion() string {
	version := cmp.Or(m.Packages["docker-ce"], m.Packages["docker.io"])
	version, _, _ = strings.Cut(strings.TrimPrefix(version, "5:"), "-")
	return version
}

// loadDaemon loads the configuration as Docker does at its start or reload. A reload does not notice that a list was
// removed.
func (c *call) loadDaemon(m *machine, reload bool) error {
	var f struct {
		Insecure *[]string `json:"insecure-registries"`
	}
	text, err := afero.ReadFile(c.FS, "/etc/docker/daemon.json")
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
