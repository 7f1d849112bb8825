package nodeprep

import (
	"bytes"
	"context"
	"fmt"

	"github.com/pelletier/go-toml/v2"

	"github.com/vnfkit/vnfkit/mgmt"
)

const runtimeFile = "/etc/containerd/config.toml"

// SetPause gives containerd the sandbox image of this version of Kubernetes. Other settings of its configuration stay. containerd restarts
// only if the image has changed; containers run on.
func (s Settings) SetPause(ctx context.Context, n mgmt.Node) error {
	images, err := s.images(ctx, n)
	if err != nil {
		return err
	}
	old, err := n.Root().ReadFile(ctx, runtimeFile)
	if err != nil {
		return err
	}
	config, err := WithPause(old, pauseImage(string(images)))
	if err != nil {
		return fmt.Errorf("kubeadm: %s of %s: %w", runtimeFile, n.Label(), err)
	}
	if bytes.Equal(old, config) {
		return nil
	}
	if err := n.Root().Write(ctx, runtimeFile, config, 0o644); err != nil {
		return err
	}
	return n.Root().Unit(ctx, "restart", "containerd")
}

// WithPause returns a configuration of containerd with this sandbox image, byte for byte the same if it has the image already, or names none.
func WithPause(config []byte, image string) ([]byte, error) {
	var root table
	if err := toml.Unmarshal(config, &root); err != nil {
		return nil, err
	}
	plugins, _ := root["plugins"].(table)
	settings, key := plugins["io.containerd.grpc.v1.cri"], "sandbox_image"
	if images, isTwo := plugins["io.containerd.cri.v1.images"].(table); isTwo {
		settings, key = images["pinned_images"], "sandbox"
	}
	of, _ := settings.(table)
	if now, named := of[key]; !named || now == image || image == "" {
		return config, nil
	}
	of[key] = image
	return toml.Marshal(root)
}
