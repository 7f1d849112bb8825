package kubesim

import (
	"context"
	"errors"

	"github.com/spf13/pflag"

	"github.com/vnfkit/vnfkit/internal/kubesim/docker"
)

// dockerLoad reads an archive of "docker save" from standard input, and tells what it has loaded.
func (c *call) dockerLoad(ctx context.Context, args []string) error {
	rest, err := c.flags(args, func(f *pflag.FlagSet) { f.BoolP("quiet", "q", false, "") })
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return errors.New("\"docker load\" accepts no arguments.")
	}
	images, err := docker.Load(ctx, c.process.FS, c.process.Stdin)
	if err != nil {
		return err
	}
	return c.on(func(m *machine) error {
		if !m.runs("docker") {
			return errors.New("error during connect: EOF")
		}
		for _, i := range images {
			if len(i.Names) == 0 {
				m.Docker.Add(i.ID, "", i.Registry)
				c.printf("Loaded image ID: %s\n", i.ID)
			}
			for _, name := range i.Names {
				if old := m.Docker.Add(i.ID, name, i.Registry); old != "" {
					c.printf("The image %s already exists, renaming the old one with ID %s to empty string\n", name, old)
				}
				c.printf("Loaded image: %s\n", name)
			}
		}
		return nil
	})
}
