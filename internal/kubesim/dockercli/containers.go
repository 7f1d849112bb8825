package dockercli

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"github.com/vnfkit/vnfkit/internal/kubesim/docker"
)

// about returns the only argument of a command.
func about(args []string) (string, error) {
	if len(args) != 1 {
		return "", fmt.Errorf("docker: exactly 1 argument is required: %q", args)
	}
	return args[0], nil
}

// formatted returns the argument of a command with the only format that is simulated.
func formatted(args []string, format string) (string, error) {
	if len(args) != 3 || args[0] != "--format" || args[1] != format {
		return "", fmt.Errorf("kubesim: docker inspect %q is not simulated", args)
	}
	return args[2], nil
}

func (c *Client) imageInspect(args []string) error {
	name, err := formatted(args, "{{.Id}}")
	if err != nil {
		return err
	}
	return c.On(func(e Engine) error {
		found := e.Image(name)
		if found == nil {
			return fmt.Errorf("Error: No such image: %s", name)
		}
		c.Printf("%s\n", found.ID)
		return nil
	})
}

// container runs fn with a container.
func (c *Client) container(name string, fn func(Engine, *docker.Container) error) error {
	return c.On(func(e Engine) error {
		found := e.Container(name)
		if found == nil {
			return fmt.Errorf("Error: No such container: %s", name)
		}
		return fn(e, found)
	})
}

// containerInspect prints the fields that a driver reads (Docker Engine API, ContainerInspect).
func (c *Client) containerInspect(args []string) error {
	name, err := formatted(args, "{{json .}}")
	if err != nil {
		return err
	}
	return c.container(name, func(e Engine, found *docker.Container) error {
		if found.Status == "restarting" { // as time passes, but the same in each run
			found.Restarts++
			e.Launch(found)
		}
		text, err := json.Marshal(found.Inspected())
		c.Printf("%s\n", text)
		return err
	})
}

// containerRemove removes a container. With --force a container that does not exist is not a fault.
func (c *Client) containerRemove(args []string) error {
	var force bool
	rest, err := c.Flags(args, func(f *pflag.FlagSet) { f.BoolVarP(&force, "force", "f", false, "") })
	if err != nil {
		return err
	}
	name, err := about(rest)
	if err != nil {
		return err
	}
	return c.On(func(e Engine) error {
		found := e.Container(name)
		switch {
		case found == nil && !force:
			return fmt.Errorf("Error: No such container: %s", name)
		case found != nil && !force && found.Status != "created" && found.Status != "exited":
			return fmt.Errorf("Error response from daemon: You cannot remove a %s container %s", found.Status, found.ID)
		}
		e.Containers = slices.DeleteFunc(e.Containers, func(k *docker.Container) bool { return k == found })
		return nil
	})
}

func (c *Client) containerStart(args []string) error {
	name, err := about(args)
	if err != nil {
		return err
	}
	return c.container(name, func(e Engine, found *docker.Container) error {
		if found.Status == "running" || found.Status == "restarting" {
			return nil
		}
		return e.Start(found)
	})
}

// containerStop ends a container; the next start of the daemon brings back one that always restarts.
func (c *Client) containerStop(args []string) error {
	name, err := about(args)
	if err != nil {
		return err
	}
	return c.container(name, func(_ Engine, found *docker.Container) error { found.Stop(); return nil })
}

// containerLogs prints the messages of a registry, which writes them to standard error.
func (c *Client) containerLogs(args []string) error {
	var tail int
	rest, err := c.Flags(args, func(f *pflag.FlagSet) { f.IntVar(&tail, "tail", 0, "") })
	if err != nil {
		return err
	}
	name, err := about(rest)
	if err != nil {
		return err
	}
	return c.container(name, func(_ Engine, found *docker.Container) error {
		for _, line := range found.Logs[max(0, len(found.Logs)-tail):] {
			_, _ = fmt.Fprintln(c.Stderr, line)
		}
		return nil
	})
}
