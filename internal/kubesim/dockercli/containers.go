package dockercli

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"github.com/vnfkit/vnfkit/internal/kubesim/docker"
)

func (c *Client) imageInspect(args []string) error {
	if len(args) == 0 {
		return errors.New("\"docker image inspect\" requires at least 1 argument.")
	}
	if len(args) != 3 || args[0] != "--format" || args[1] != "{{.Id}}" {
		return fmt.Errorf("kubesim: docker image inspect %q is not simulated", args)
	}
	return c.On(func(e Engine) error {
		found := e.Image(args[2])
		if found == nil {
			c.Printf("\n")
			return fmt.Errorf("Error: No such image: %s", args[2])
		}
		c.Printf("%s\n", found.ID)
		return nil
	})
}

// containerInspect prints the fields that a driver reads (Docker Engine API, ContainerInspect).
func (c *Client) containerInspect(args []string) error {
	if len(args) != 3 || args[0] != "--format" || args[1] != "{{json .}}" {
		return fmt.Errorf("kubesim: docker container inspect %q is not simulated", args)
	}
	return c.On(func(e Engine) error {
		found := e.Container(args[2])
		if found == nil {
			c.Printf("\n")
			return fmt.Errorf("Error: No such container: %s", args[2])
		}
		if found.Status == "restarting" { // as time passes, but the same in each run
			found.Restarts++
			e.Launch(found)
		}
		text, err := json.Marshal(found.Inspected())
		c.Printf("%s\n", text)
		return err
	})
}

// containerRemove removes containers. With --force one that is not there is no fault.
func (c *Client) containerRemove(args []string) error {
	var force bool
	rest, err := c.Flags(args, func(f *pflag.FlagSet) { f.BoolVarP(&force, "force", "f", false, "") })
	if err != nil {
		return err
	}
	if len(rest) != 1 {
		return errors.New("\"docker container rm\" requires at least 1 argument.")
	}
	return c.On(func(e Engine) error {
		found := e.Container(rest[0])
		switch {
		case found == nil && force:
			_, _ = fmt.Fprintf(c.Stderr, "Error: No such container: %s\n", rest[0])
			return nil
		case found == nil:
			return fmt.Errorf("Error: No such container: %s", rest[0])
		case !force && found.Status != "created" && found.Status != "exited":
			return fmt.Errorf("Error response from daemon: You cannot remove a %s container %s. Stop the container before attempting removal or force remove", found.Status, found.ID)
		}
		e.Containers = slices.DeleteFunc(e.Containers, func(k *docker.Container) bool { return k == found })
		c.Printf("%s\n", rest[0])
		return nil
	})
}

func (c *Client) containerStart(args []string) error {
	if len(args) != 1 {
		return errors.New("\"docker container start\" requires at least 1 argument.")
	}
	return c.On(func(e Engine) error {
		found := e.Container(args[0])
		if found == nil {
			return fmt.Errorf("Error response from daemon: No such container: %s\nError: failed to start containers: %s", args[0], args[0])
		}
		if found.Status != "running" && found.Status != "restarting" {
			if err := e.Start(found); err != nil {
				return fmt.Errorf("Error response from daemon: %w\nError: failed to start containers: %s", err, args[0])
			}
		}
		c.Printf("%s\n", args[0])
		return nil
	})
}

// containerStop ends a container; the next start of the daemon brings back one that always restarts.
func (c *Client) containerStop(args []string) error {
	if len(args) != 1 {
		return errors.New("\"docker container stop\" requires at least 1 argument.")
	}
	return c.On(func(e Engine) error {
		found := e.Container(args[0])
		if found == nil {
			return fmt.Errorf("Error response from daemon: No such container: %s", args[0])
		}
		found.Stop()
		c.Printf("%s\n", args[0])
		return nil
	})
}

// containerLogs prints the messages of a registry, which writes them to standard error.
func (c *Client) containerLogs(args []string) error {
	var tail int
	rest, err := c.Flags(args, func(f *pflag.FlagSet) { f.IntVarP(&tail, "tail", "n", -1, "") })
	if err != nil {
		return err
	}
	if len(rest) != 1 {
		return errors.New("\"docker container logs\" requires exactly 1 argument.")
	}
	return c.On(func(e Engine) error {
		found := e.Container(rest[0])
		if found == nil {
			return fmt.Errorf("Error: No such container: %s", rest[0])
		}
		lines := found.Logs
		if tail >= 0 {
			lines = lines[max(0, len(lines)-tail):]
		}
		for _, line := range lines {
			_, _ = fmt.Fprintln(c.Stderr, line)
		}
		return nil
	})
}
