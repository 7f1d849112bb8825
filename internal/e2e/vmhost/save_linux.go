package vmhost

import (
	"context"
	"os"
	"path/filepath"
)

// images is where containerd keeps its images on a host. A host that was saved has links to them.
const images = "/var/lib/containerd"

// Save ends a host that has a Tree, like a power cut, and moves its files to a directory, which it creates: see Spec.Saved. The
// caller closes the host.
func (h *Host) Save(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := h.SetFrozen(ctx, true); err != nil {
		return err
	}
	// The database of etcd is in memory, which ends with the host.
	if _, err := run(ctx, "cp", "-a", filepath.Join(h.root(), "../etcd"), dir); err != nil {
		return err
	}
	if err := h.Kill(); err != nil {
		return err
	}
	_, err := run(ctx, "mv", filepath.Join(h.dir, "upper"), filepath.Join(h.dir, "data"), dir)
	return err
}
