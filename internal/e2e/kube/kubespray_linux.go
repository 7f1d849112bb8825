package kube

import (
	"context"
	"path/filepath"
)

// Kubespray is what kubespray installs. kubespray.sh says what is where.
type Kubespray struct{ dir string }

// BuildKubespray makes it, or finds that of an earlier run.
func BuildKubespray(ctx context.Context) (Kubespray, error) {
	dir, err := script(ctx, "kubespray.sh")
	return Kubespray{dir}, err
}

// Over is a tree of Parts with the Debian packages that kubespray wants, for vmhost.Spec.
func (k Kubespray) Over(tree string) string { return filepath.Join(k.dir, "layer") + ":" + tree }

// Images is what containerd keeps, with the images that kubespray pulls, for vmhost.Spec.Data.
func (k Kubespray) Images() string { return filepath.Join(k.dir, "containerd") }

// Files is where a server of the repositories that has this address serves what kubespray downloads.
func (Kubespray) Files(repositories string) string { return repositories + "/kubespray/files" }
