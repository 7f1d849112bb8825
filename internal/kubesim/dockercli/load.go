package dockercli

import (
	"errors"

	"github.com/spf13/pflag"

	"github.com/vnfkit/vnfkit/internal/kubesim/docker"
	"github.com/vnfkit/vnfkit/internal/kubesim/program"
)

// load reads an archive of "docker save" from standard input, and tells what it has loaded.
func (c *Client) load(args []string) error {
	rest, err := c.Flags(args, func(f *pflag.FlagSet) { f.BoolP("quiet", "q", false, "") })
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return program.Unexpected(rest)
	}
	images, err := docker.Load(c.FS, c.Stdin)
	if err != nil {
		return err
	}
	return c.On(func(e Engine) error {
		if !e.Runs {
			return errors.New("error during connect: EOF")
		}
		for _, i := range images {
			if len(i.Names) == 0 {
				e.Add(i.ID, "", i.Registry)
				c.Printf("Loaded image ID: %s\n", i.ID)
			}
			for _, name := range i.Names {
				e.Add(i.ID, name, i.Registry)
				c.Printf("Loaded image: %s\n", name)
			}
		}
		return nil
	})
}
