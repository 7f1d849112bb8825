package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/vnfkit/vnfkit/mgmt/linux"
	"github.com/vnfkit/vnfkit/sshexec"
)

// Runtime is the container runtime of a machine, which pulls images.
type Runtime string

// The runtimes that Connect supports.
const (
	Containerd Runtime = "containerd" // 1.5 and later
	Docker     Runtime = "docker"     // Docker Engine, for Kubernetes with cri-dockerd
)

// ErrNoRuntime means that neither containerd nor Docker runs on the machine. Trying again helps when one is being
// set up.
var ErrNoRuntime = errors.New("neither containerd nor Docker runs")

// Detect finds what pulls the images of Kubernetes on a machine with systemd: Docker where cri-dockerd runs, or
// where containerd does not serve Kubernetes; containerd otherwise. The error wraps ErrNoRuntime when neither
// runs.
func Detect(ctx context.Context, host *sshexec.Host) (Runtime, error) {
	m := machine{linux.AsRoot(host)}
	var runs [3]bool
	for i, unit := range []string{"cri-docker", "docker", "containerd"} {
		var err error
		if runs[i], err = m.Succeeds(ctx, "systemctl", "is-active", "--quiet", unit); err != nil {
			return "", err
		}
	}
	adapter, docker, containerd := runs[0], runs[1], runs[2]
	switch {
	case adapter, docker && !containerd:
		return Docker, nil
	case !containerd:
		return "", fmt.Errorf("registry: %s: %w", host.Name(), ErrNoRuntime)
	case !docker:
		return Containerd, nil
	}
	config, err := m.containerdConfig(ctx)
	if err != nil || config.servesKubernetes() {
		return Containerd, err
	}
	return Docker, nil
}
