package dockercli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/vnfkit/vnfkit/internal/kubesim/docker"
	"github.com/vnfkit/vnfkit/internal/kubesim/pull"
)

// pull fetches an image from the registry that its name tells.
func (c *Client) pull(ctx context.Context, file string, args []string) error {
	rest, err := c.Flags(args, func(f *pflag.FlagSet) { f.BoolP("quiet", "q", false, "") })
	if err != nil {
		return err
	}
	name, err := about(rest)
	if err != nil {
		return err
	}
	name = docker.Tagged(name)
	var got docker.Image
	if server, path, private := cutImage(name); private {
		got, err = c.privateImage(ctx, server, path, string(c.config(file)[server].Auth))
	} else {
		got, err = c.publicImage(name)
	}
	if err != nil {
		return fmt.Errorf("Error response from daemon: %w", err)
	}
	return c.On(func(e Engine) error {
		e.Add(got.ID, name, got.Registry)
		c.Printf("%s\n", name)
		return nil
	})
}

// privateImage is an image of a private registry.
func (c *Client) privateImage(ctx context.Context, server, path, creds string) (docker.Image, error) {
	w, err := c.wayTo(server)
	if err != nil {
		return docker.Image{}, err
	}
	base := w.Scheme + "://" + server + "/v2/"
	r, err := c.Network.Contact(ctx, c.Call, server, w)
	if err != nil {
		return docker.Image{}, fmt.Errorf("Get %q: %w", base, err)
	}
	got, err := r.Image(ctx, path, creds)
	switch {
	case errors.Is(err, pull.ErrUnauthorized) && creds == "":
		err = fmt.Errorf("Head %q: no basic auth credentials", base+strings.Replace(path, ":", "/manifests/", 1))
	case errors.Is(err, pull.ErrUnauthorized):
		err = fmt.Errorf("Head %q: unauthorized: authentication required", base+strings.Replace(path, ":", "/manifests/", 1))
	case errors.Is(err, pull.ErrNotFound):
		err = fmt.Errorf("manifest for %s/%s not found: manifest unknown: manifest unknown", server, path)
	}
	return got, err
}

// cutImage parts the name of an image from the server that has it, if it names one (distribution/reference, splitDockerDomain).
func cutImage(image string) (server, name string, private bool) {
	server, name, slash := strings.Cut(image, "/")
	if !slash || !strings.ContainsAny(server, ".:") && server != "localhost" {
		return "", image, false
	}
	return server, name, true
}

// publicImage is an image of the public registry.
func (c *Client) publicImage(name string) (docker.Image, error) {
	if len(c.Public) == 0 {
		return docker.Image{}, errors.New("Get \"https://registry-1.docker.io/v2/\": dial tcp: lookup registry-1.docker.io: no such host")
	}
	if !slices.ContainsFunc(c.Public, func(known string) bool { return docker.Tagged(known) == name }) {
		return docker.Image{}, fmt.Errorf("manifest for %s not found: manifest unknown", name)
	}
	return docker.ImageNamed(name), nil
}
