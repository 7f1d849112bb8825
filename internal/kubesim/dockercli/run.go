package dockercli

import (
	"fmt"

	"github.com/vnfkit/vnfkit/internal/kubesim/docker"
	"github.com/vnfkit/vnfkit/internal/kubesim/program"
)

// refused is the error of a container that Docker does not run.
func refused(format string, args ...any) error {
	return program.ExitError{Code: 125, Message: "docker: Error response from daemon: " + fmt.Sprintf(format, args...)}
}

// run makes a container and starts it. The code is 125 when Docker itself fails (docker run, "Exit status").
func (c *Client) run(args []string) error {
	k, ref, err := docker.NewContainer(args)
	if err != nil {
		return refused("%v", err)
	}
	for _, v := range k.Volumes { // Docker creates missing directories of volumes
		if err := c.FS.MkdirAll(v.From, 0o755); err != nil {
			return refused("error while creating mount source path '%s': %v", v.From, err)
		}
	}
	return c.On(func(e Engine) error {
		found := e.Image(ref)
		switch other := e.Container(k.Name); {
		case found == nil:
			return refused("No such image: %s; docker run does not pull here", ref)
		case other != nil:
			return refused("Conflict. The container name %q is already in use by container %q", k.Name, other.ID)
		}
		k.Image, k.Registry = found.ID, found.Registry
		e.Containers = append(e.Containers, k)
		c.Printf("%s\n", k.ID) // also of one that does not start
		if err := e.Start(k); err != nil {
			return refused("%v", err)
		}
		return nil
	})
}
