package kubeadm

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/controlplane"
)

// snapshotArchive reads the archive of a snapshot: begin, then files, then the data of etcd by Read.
type snapshotArchive struct{ *tar.Reader }

// Bounds of what is held in memory.
const (
	maxSnapshotFile  = 1 << 20 // of one file, as of linux.Machine.ReadFile
	maxSnapshotFiles = 1000
)

// begin reads snapshotAbout.
func (a snapshotArchive) begin() (c snapshotContent, err error) {
	text, err := a.file(snapshotAbout)
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil {
		return c, fmt.Errorf("kubeadm: the snapshot is not of a cluster of kubeadm: %w", err)
	}
	if c.Format != snapshotFormat {
		return c, fmt.Errorf("kubeadm: the snapshot has the format %d, and this version reads %d", c.Format, snapshotFormat)
	}
	return c, nil
}

// file reads the next file, which must have this name.
func (a snapshotArchive) file(name string) ([]byte, error) {
	head, err := a.Next()
	if err != nil {
		return nil, err
	}
	if head.Name != name {
		return nil, fmt.Errorf("the archive has %q, not %q", head.Name, name)
	}
	return a.content(head)
}

func (a snapshotArchive) content(head *tar.Header) ([]byte, error) {
	if head.Size > maxSnapshotFile {
		return nil, fmt.Errorf("%s of the archive has %d bytes", head.Name, head.Size)
	}
	return io.ReadAll(a)
}

// files reads the files of the control-plane node, up to the data of etcd, which are read by Read next.
func (a snapshotArchive) files() (out []controlplane.File, err error) {
	for len(out) <= maxSnapshotFiles {
		head, err := a.Next()
		if err != nil {
			return nil, fmt.Errorf("kubeadm: the snapshot has no data of etcd: %w", err)
		}
		if head.Name == snapshotEtcd {
			return out, nil
		}
		path, found := strings.CutPrefix(head.Name, snapshotFiles)
		if !found || !strings.HasPrefix(path, "/") {
			return nil, fmt.Errorf("kubeadm: the snapshot has an unknown file %q", head.Name)
		}
		content, err := a.content(head)
		if err != nil {
			return nil, fmt.Errorf("kubeadm: the snapshot: %w", err)
		}
		out = append(out, controlplane.File{Path: path, Content: content})
	}
	return nil, errors.New("kubeadm: the snapshot has too many files")
}
