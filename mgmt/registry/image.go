package registry

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/sshexec"
)

// fetchImage puts the image on the machine, and returns its id.
func (s *site) fetchImage(ctx context.Context) (id string, err error) {
	image := s.p.Image
	if s.p.ImagePath != "" {
		image, err = s.loadImage(ctx)
	} else {
		_, err = s.docker(ctx, "pull", "--quiet", image)
	}
	if err != nil {
		return "", err
	}
	return s.docker(ctx, "image", "inspect", "--format", "{{.Id}}", image)
}

// loadImage streams the archive from the package to Docker, without a copy on the disk of this program or of the
// machine. It returns the name of the image in the archive.
func (s *site) loadImage(ctx context.Context) (string, error) {
	archive, err := mgmt.Artifacts(s.op)(s.p.ImagePath)
	if err != nil {
		return "", err
	}
	defer archive.Close()
	said, err := s.dockerWith(ctx, sshexec.Command{Argv: []string{"docker", "load", "--quiet"}, Stdin: archive})
	if err != nil {
		return "", fmt.Errorf("registry: image_path %s: %w", s.p.ImagePath, err)
	}
	name, err := chooseImage(said)
	if err != nil {
		return "", fmt.Errorf("registry: image_path %s: %w", s.p.ImagePath, err)
	}
	return name, nil
}

// imageForm excludes texts that a program would read as an option. The name comes from Docker on a machine that an
// attacker may control.
var imageForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@-]*$`)

// chooseImage finds the registry in what "docker load" says it has loaded: the only image or, in an archive of
// several, the one that is called registry.
func chooseImage(said string) (string, error) {
	var all, registries []string
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(line)
		image, found := strings.CutPrefix(line, "Loaded image: ")
		if !found {
			if image, found = strings.CutPrefix(line, "Loaded image ID: "); !found {
				continue
			}
		}
		if !imageForm.MatchString(image) {
			return "", fmt.Errorf("has in it %.200q, which is no name of an image", image)
		}
		all = append(all, image)
		if base, _, _ := strings.Cut(path.Base(image), ":"); base == "registry" {
			registries = append(registries, image)
		}
	}
	switch {
	case len(all) == 1:
		return all[0], nil
	case len(registries) > 0: // of several names of one image, or versions, the first
		return registries[0], nil
	case len(all) == 0:
		return "", fmt.Errorf("has no image in it that Docker could load, which says %.200q", said)
	}
	return "", fmt.Errorf("contains several images, and none of them is named registry: %s", strings.Join(all, ", "))
}
