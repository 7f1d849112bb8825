package kube

import (
	"context"
	"path/filepath"
)

// Kubespray is a directory with the programs, packages and images that kubespray installs. kubespray.sh describes its
// content.
type Kubespray struct{ dir string }

// BuildKubespray builds the directory, or returns the directory of an earlier run.
func BuildKubespray(ctx context.Context) (Kubespray, error) {
	dir, err := script(ctx, "kubespray.sh")
	return Kubespray{dir}, err
}

// Over returns a tree of Parts with the Debian packages that kubespray needs, for vmhost.Spec.Tree.
func (k Kubespray) Over(tree string) string { return filepath.Join(k.dir, "layer") + ":" + tree }

// Images returns containerd's data directory with the images that kubespray pulls, for vmhost.Spec.Data.
func (k Kubespray) Images() string { return filepath.Join(k.dir, "containerd") }

// Files returns the URL of the files that kubespray downloads, on the server with the URL repositories.
func (Kubespray) Files(repositories string) string { return repositories + "/kubespray/files" }
