package main

import (
	"fmt"
	"io"

	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// writeNeeds writes the images and packages that a cluster needs: a version and perhaps the file with further parameters of the cluster. Each line has
// the kind, the name and, of an image in another repository, the name there. "upgrade-image" is an image that only an upgrade to the version needs.
func writeNeeds(to io.Writer, args []string, repository string) error {
	params := map[string]any{}
	for _, name := range args[1:] {
		if err := decodeFile(name, &params); err != nil {
			return err
		}
	}
	if repository != "" {
		params["image_repository"] = repository
	}
	additional, err := vnflcm.NewParams(map[string]any{"k8s_cluster_installation_param": params})
	if err != nil {
		return err
	}
	needs, err := kubeadm.NeedsOf(args[0], additional)
	if err != nil {
		return err
	}
	for _, image := range needs.Images {
		kind, name := "image", image.Public
		if image.ForUpgrade {
			kind = "upgrade-image"
		}
		if image.Name != image.Public {
			name += " " + image.Name
		}
		if _, err := fmt.Fprintln(to, kind, name); err != nil {
			return err
		}
	}
	for _, name := range needs.Packages {
		if _, err := fmt.Fprintln(to, "package", name); err != nil {
			return err
		}
	}
	return nil
}
