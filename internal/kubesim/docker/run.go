package docker

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// NewID returns a random id of Docker.
func NewID() string {
	id := make([]byte, 32)
	_, _ = rand.Read(id)
	return hex.EncodeToString(id)
}

// names are the names of containers (moby/moby, daemon/names).
var names = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_.-]+$`)

// NewContainer reads the arguments of docker run.
func NewContainer(args []string) (k *Container, image string, err error) {
	k = &Container{ID: NewID(), Status: "created", Labels: map[string]string{}, Env: map[string]string{}, Ports: map[string]string{}}
	var detach bool
	var env, labels, ports, volumes []string
	set := pflag.NewFlagSet("docker run", pflag.ContinueOnError)
	set.SetInterspersed(false)
	set.SetOutput(io.Discard)
	set.BoolVarP(&detach, "detach", "d", false, "")
	set.StringVar(&k.Name, "name", "", "")
	set.StringVar(&k.Restart, "restart", "no", "")
	set.StringArrayVarP(&ports, "publish", "p", nil, "")
	set.StringArrayVarP(&volumes, "volume", "v", nil, "")
	set.StringArrayVarP(&env, "env", "e", nil, "")
	set.StringArrayVarP(&labels, "label", "l", nil, "")
	if err := set.Parse(args); err != nil {
		return nil, "", err
	}
	switch {
	case set.NArg() != 1 || !detach || k.Name == "":
		return nil, "", fmt.Errorf("kubesim: docker run %q is not simulated", args)
	case k.Restart != "no" && k.Restart != "always":
		return nil, "", fmt.Errorf("invalid restart policy %q", k.Restart)
	case !names.MatchString(k.Name):
		return nil, "", fmt.Errorf("invalid container name %q", k.Name)
	}
	for _, pair := range env {
		name, value, _ := strings.Cut(pair, "=")
		k.Env[name] = value
	}
	for _, pair := range labels {
		name, value, _ := strings.Cut(pair, "=")
		k.Labels[name] = value
	}
	return k, set.Arg(0), errors.Join(k.publish(ports), k.bind(volumes))
}

func (k *Container) publish(ports []string) error {
	for _, pair := range ports {
		outside, inside, both := strings.Cut(pair, ":")
		for _, number := range []string{outside, inside} {
			if n, err := strconv.Atoi(number); !both || err != nil || n < 1 || n > 65535 {
				return fmt.Errorf("invalid port: %q", pair)
			}
		}
		k.Ports[outside] = inside
	}
	return nil
}

func (k *Container) bind(volumes []string) error {
	for _, text := range volumes {
		parts := strings.Split(text, ":")
		if len(parts) < 2 || len(parts) > 3 || !path.IsAbs(parts[0]) || !path.IsAbs(parts[1]) || len(parts) == 3 && parts[2] != "ro" {
			return fmt.Errorf("kubesim: docker run --volume %s is not simulated", text)
		}
		k.Volumes = append(k.Volumes, Bind{From: path.Clean(parts[0]), To: path.Clean(parts[1]), ReadOnly: len(parts) == 3})
	}
	return nil
}
