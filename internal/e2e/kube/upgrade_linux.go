package kube

import (
	"context"
	"path/filepath"
)

// Upgrades is a directory for machines that are upgraded from one version of Kubernetes to the next. upgrade.sh describes its content.
type Upgrades struct{ dir string }

// BuildUpgrades builds the parts of several versions and the directory, or returns the directory of an earlier run. Each version that is
// not built takes about 15 minutes on two cores.
func BuildUpgrades(ctx context.Context, versions ...string) (Upgrades, error) {
	dir, err := script(ctx, "upgrade.sh", versions...)
	return Upgrades{dir}, err
}

// Parts returns the parts of one of the versions.
func (u Upgrades) Parts(version string) Parts { return Parts{filepath.Join(u.dir, version)} }

// Images returns containerd's data directory with the images of all versions, for vmhost.Spec.Data.
func (u Upgrades) Images() string { return filepath.Join(u.dir, "containerd") }

// Etcd returns the file of the image of etcd that has to come before 3.7, as Parts.Image does.
func (u Upgrades) Etcd() string { return filepath.Join(u.dir, "etcd.tar") }
