package kubesim

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/vnfkit/vnfkit/internal/kubesim/pki"
)

// engine is what Docker Engine has on a machine.
type engine struct {
	Images     []image      `json:"images,omitempty"`
	Containers []*container `json:"containers,omitempty"`
}

// image is an image of Docker Engine.
type image struct {
	ID       string   `json:"id"`              // sha256:... of its configuration
	Names    []string `json:"names,omitempty"` // with tags
	Registry bool     `json:"registry,omitempty"`
}

// imageNamed is an image of which only the name is known.
func imageNamed(name string) image {
	sum := sha256.Sum256([]byte(name))
	repository, _, _ := strings.Cut(name[strings.LastIndexByte(name, '/')+1:], ":")
	return image{ID: "sha256:" + hex.EncodeToString(sum[:]), Registry: repository == "registry"}
}

// container is a container of Docker Engine.
type container struct {
	ID       string            `json:"id"`
	Name     string            `json:"name"`
	Image    string            `json:"image"` // id
	Registry bool              `json:"registry,omitempty"`
	Labels   map[string]string `json:"labels,omitempty"`
	Env      map[string]string `json:"env,omitempty"`
	Ports    map[string]string `json:"ports,omitempty"` // ports of the machine, and their ports in the container
	Volumes  []bind            `json:"volumes,omitempty"`
	Restart  string            `json:"restart"`
	Status   string            `json:"status"` // created, running, restarting, exited
	ExitCode int               `json:"exitCode,omitempty"`
	Error    string            `json:"error,omitempty"`
	Restarts int               `json:"restarts,omitempty"`
	Logs     []string          `json:"logs,omitempty"`
	TLS      *pki.Pair         `json:"tls,omitempty"` // read at its start
}

// bind is a directory of the machine that a container sees.
type bind struct {
	From     string `json:"from"`
	To       string `json:"to"`
	ReadOnly bool   `json:"readOnly,omitempty"`
}

// add keeps an image and gives it the name, which another one may have had: it returns the id of that.
func (e *engine) add(id, name string, registry bool) (renamed string) {
	for i := range e.Images {
		if old := &e.Images[i]; old.ID != id && name != "" && slices.Contains(old.Names, name) {
			old.Names = slices.DeleteFunc(old.Names, func(n string) bool { return n == name })
			renamed = old.ID
		}
	}
	i := slices.IndexFunc(e.Images, func(known image) bool { return known.ID == id })
	if i < 0 {
		e.Images = append(e.Images, image{ID: id, Registry: registry})
		i = len(e.Images) - 1
	}
	if name != "" && !slices.Contains(e.Images[i].Names, name) {
		e.Images[i].Names = append(e.Images[i].Names, name)
	}
	return renamed
}

// image finds an image by its id or by a name.
func (e *engine) image(ref string) *image {
	for i, known := range e.Images {
		if known.ID == ref || slices.Contains(known.Names, tagged(ref)) {
			return &e.Images[i]
		}
	}
	return nil
}

// container finds a container by its id or by its name.
func (e *engine) container(ref string) *container {
	for _, known := range e.Containers {
		if known.ID == ref || known.Name == ref {
			return known
		}
	}
	return nil
}

func (c *call) imageInspect(args []string) error {
	if len(args) != 3 || args[0] != "--format" || args[1] != "{{.Id}}" {
		return fmt.Errorf("kubesim: docker image inspect %q is not simulated", args)
	}
	return c.on(func(m *machine) error {
		found := m.Docker.image(args[2])
		if found == nil {
			c.printf("\n")
			return fmt.Errorf("Error: No such image: %s", args[2])
		}
		c.printf("%s\n", found.ID)
		return nil
	})
}

// containerInspect prints the fields that a driver reads (Docker Engine API, ContainerInspect).
func (c *call) containerInspect(args []string) error {
	if len(args) != 3 || args[0] != "--format" || args[1] != "{{json .}}" {
		return fmt.Errorf("kubesim: docker container inspect %q is not simulated", args)
	}
	return c.on(func(m *machine) error {
		found := m.Docker.container(args[2])
		if found == nil {
			c.printf("\n")
			return fmt.Errorf("Error: No such container: %s", args[2])
		}
		if found.Status == "restarting" { // as time passes, but the same in each run
			found.Restarts++
			c.w.launch(m, found)
		}
		text, err := json.Marshal(found.inspected())
		c.printf("%s\n", text)
		return err
	})
}

func (k *container) inspected() map[string]any {
	env := []string{}
	for _, name := range slices.Sorted(maps.Keys(k.Env)) {
		env = append(env, name+"="+k.Env[name])
	}
	labels := k.Labels
	if labels == nil {
		labels = map[string]string{}
	}
	running := k.Status == "running" || k.Status == "restarting"
	return map[string]any{"Id": k.ID, "Name": "/" + k.Name, "Image": k.Image, "RestartCount": k.Restarts,
		"State": map[string]any{"Status": k.Status, "Running": running, "Paused": false, "Restarting": k.Status == "restarting",
			"OOMKilled": false, "Dead": false, "ExitCode": k.ExitCode, "Error": k.Error},
		"Config":     map[string]any{"Image": k.Image, "Labels": labels, "Env": env},
		"HostConfig": map[string]any{"RestartPolicy": map[string]any{"Name": k.Restart, "MaximumRetryCount": 0}}}
}

// containerRemove removes containers. With --force one that is not there is no fault.
func (c *call) containerRemove(args []string) error {
	var force bool
	rest, err := c.flags(args, func(f *pflag.FlagSet) { f.BoolVarP(&force, "force", "f", false, "") })
	if err != nil {
		return err
	}
	if len(rest) != 1 {
		return errors.New("\"docker container rm\" requires at least 1 argument.")
	}
	return c.on(func(m *machine) error {
		found := m.Docker.container(rest[0])
		switch {
		case found == nil && force:
			_, _ = fmt.Fprintf(c.process.Stderr, "Error: No such container: %s\n", rest[0])
			return nil
		case found == nil:
			return fmt.Errorf("Error: No such container: %s", rest[0])
		case !force && found.Status != "created" && found.Status != "exited":
			return fmt.Errorf("Error response from daemon: You cannot remove a %s container %s. Stop the container before attempting removal or force remove", found.Status, found.ID)
		}
		m.Docker.Containers = slices.DeleteFunc(m.Docker.Containers, func(k *container) bool { return k == found })
		c.printf("%s\n", rest[0])
		return nil
	})
}

func (c *call) containerStart(args []string) error {
	if len(args) != 1 {
		return errors.New("\"docker container start\" requires at least 1 argument.")
	}
	return c.on(func(m *machine) error {
		found := m.Docker.container(args[0])
		if found == nil {
			return fmt.Errorf("Error response from daemon: No such container: %s\nError: failed to start containers: %s", args[0], args[0])
		}
		if found.Status != "running" && found.Status != "restarting" {
			if err := c.w.startContainer(m, found); err != nil {
				return fmt.Errorf("Error response from daemon: %w\nError: failed to start containers: %s", err, args[0])
			}
		}
		c.printf("%s\n", args[0])
		return nil
	})
}

// containerStop ends a container; the next start of the daemon brings back one that always restarts.
func (c *call) containerStop(args []string) error {
	if len(args) != 1 {
		return errors.New("\"docker container stop\" requires at least 1 argument.")
	}
	return c.on(func(m *machine) error {
		found := m.Docker.container(args[0])
		if found == nil {
			return fmt.Errorf("Error response from daemon: No such container: %s", args[0])
		}
		found.stop()
		c.printf("%s\n", args[0])
		return nil
	})
}

// stop ends what runs, as a signal does.
func (k *container) stop() {
	if k.Status == "running" || k.Status == "restarting" {
		k.Status, k.ExitCode = "exited", 2
	}
}

// containerLogs prints the messages of a registry, which writes them to standard error.
func (c *call) containerLogs(args []string) error {
	var tail int
	rest, err := c.flags(args, func(f *pflag.FlagSet) { f.IntVarP(&tail, "tail", "n", -1, "") })
	if err != nil {
		return err
	}
	if len(rest) != 1 {
		return errors.New("\"docker container logs\" requires exactly 1 argument.")
	}
	return c.on(func(m *machine) error {
		found := m.Docker.container(rest[0])
		if found == nil {
			return fmt.Errorf("Error: No such container: %s", rest[0])
		}
		lines := found.Logs
		if tail >= 0 {
			lines = lines[max(0, len(lines)-tail):]
		}
		for _, line := range lines {
			_, _ = fmt.Fprintln(c.process.Stderr, line)
		}
		return nil
	})
}
