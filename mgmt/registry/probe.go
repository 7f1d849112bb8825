package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// probeRepository is where the image of the probe is for a moment.
const probeRepository = "vnfkit/probe"

// pushAndPull pushes a small image, pulls it and removes it: this proves that the volume can be written and read.
func (s *site) pushAndPull(ctx context.Context) error {
	if err := s.exchange(ctx); err != nil {
		return fmt.Errorf("registry: %s: probe: %w", s.server(), err)
	}
	return nil
}

func (s *site) exchange(ctx context.Context) (err error) {
	var options []name.Option
	if s.p.TLS == nil {
		options = append(options, name.Insecure)
	}
	repository, err := name.NewRepository(s.server()+"/"+probeRepository, options...)
	if err != nil {
		return err
	}
	image, err := random.Image(1<<10, 1)
	if err != nil {
		return err
	}
	digest, err := image.Digest()
	if err != nil {
		return err
	}
	at := repository.Digest(digest.String())
	access, err := s.access()
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		defer cancel()
		if removed := remote.Delete(at, append(access, remote.WithContext(ctx))...); err == nil {
			err = removed
		}
	}()
	access = append(access, remote.WithContext(ctx))
	if err := remote.Write(at, image, access...); err != nil {
		return fmt.Errorf("push: %w", err)
	}
	pulled, err := remote.Image(at, access...)
	if err != nil {
		return fmt.Errorf("pull: %w", err)
	}
	layers, err := pulled.Layers()
	if err != nil {
		return fmt.Errorf("pull: %w", err)
	}
	for _, layer := range layers {
		if err := readLayer(layer); err != nil {
			return fmt.Errorf("pull: %w", err)
		}
	}
	return nil
}

// readLayer reads a layer to its end: what does not have its digest is an error there.
func readLayer(layer v1.Layer) error {
	content, err := layer.Compressed()
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, content)
	return errors.Join(err, content.Close())
}

// access is how this program reaches the registry.
func (s *site) access() ([]remote.Option, error) {
	transport, err := s.transport()
	if err != nil {
		return nil, err
	}
	options := []remote.Option{remote.WithTransport(transport)}
	if len(s.p.Users) > 0 {
		user := s.p.Users[0]
		options = append(options, remote.WithAuth(&authn.Basic{Username: user.Username, Password: user.Password.Reveal()}))
	}
	return options, nil
}
