package dockercli

import (
	"fmt"
	"strings"

	"github.com/vnfkit/vnfkit/internal/kubesim/docker"
	"github.com/vnfkit/vnfkit/internal/kubesim/program"
)

// run makes a container and starts it. The code is 125 when Docker itself fails (docker run, "Exit status").
func (c *Client) run(args []string) error {
	k, ref, err := docker.NewContainer(args)
	if err != nil {
		return program.ExitError{Code: 125, Message: err.Error() + "\nSee 'docker run --help'."}
	}
	for _, v := range k.Volumes { // Docker creates missing directories of volumes
		if err := c.FS.MkdirAll(v.From, 0o755); err != nil {
			return program.ExitError{Code: 125, Message: fmt.Sprintf("docker: Error response from daemon: error while creating mount source path '%s': %v.", v.From, err)}
		}
	}
	return c.On(func(e Engine) error {
		found := e.Image(ref)
		switch other := e.Container(k.Name); {
		case found == nil && strings.HasPrefix(ref, "sha256:"):
			return program.ExitError{Code: 125, Message: "docker: Error response from daemon: No such image: " + ref + ".\nSee 'docker run --help'."}
		case found == nil:
			return program.ExitError{Code: 125, Message: fmt.Sprintf("Unable to find image '%s' locally\nkubesim: docker run does not pull", docker.Tagged(ref))}
		case other != nil:
			return program.ExitError{Code: 125, Message: fmt.Sprintf("docker: Error response from daemon: Conflict. The container name \"/%s\" is already in use by container %q. "+
				"You have to remove (or rename) that container to be able to reuse that name.\nSee 'docker run --help'.", k.Name, other.ID)}
		}
		k.Image, k.Registry = found.ID, found.Registry
		e.Containers = append(e.Containers, k)
		c.Printf("%s\n", k.ID) // also of one that does not start
		if err := e.Start(k); err != nil {
			return program.ExitError{Code: 125, Message: fmt.Sprintf("docker: Error response from daemon: %v.", err)}
		}
		return nil
	})
}
