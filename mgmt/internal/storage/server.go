// Package storage makes a machine an NFS server. It knows of machines only, not of operations on a cluster.
package storage

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/linux"
)

// Server is a machine that exports directories over NFS.
type Server struct {
	Volumes []Volume // each before those that are mounted in it
	Exports []Export
}

// Volume is a block device, and where it is mounted.
type Volume struct{ Name, Device, MountTo string }

// Export is a directory, and the network or address that may mount it.
type Export struct{ Dir, To string }

const (
	// exportsFile is ours whole; exportfs reads it beside /etc/exports (exports(5)).
	exportsFile = "/etc/exports.d/vnfkit.exports"
	// exportOptions are Tacker's but for "insecure": kubelets mount from ports that only root has. All clients are
	// nobody, so that no pod is root there.
	exportOptions = "rw,sync,no_subtree_check,all_squash"
)

// SetUp mounts the volumes and exports the directories, now and after a reboot.
func (s Server) SetUp(ctx context.Context, n mgmt.Node) error {
	for _, v := range s.Volumes {
		if err := linux.On(n.SSH).Mount(ctx, v.Device, v.MountTo); err != nil {
			return fmt.Errorf("kubeadm: volume %s: %w", v.Name, err)
		}
	}
	for _, e := range s.Exports {
		// Clients are nobody: the directory is theirs.
		if err := n.RunRoot(ctx, []string{"install", "-d", "-m", "0755", "-o", "nobody", "-g", "nogroup", e.Dir}, nil, nil, nil); err != nil {
			return err
		}
	}
	if err := linux.On(n.SSH).Write(ctx, exportsFile, []byte(s.render()), 0o644); err != nil {
		return err
	}
	for _, argv := range [][]string{{"systemctl", "enable", "--now", "nfs-server"}, {"exportfs", "-ra"}} {
		if err := n.RunRoot(ctx, argv, nil, nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// render renders what is exported. A directory of a volume is exported only while that is mounted ("mp"):
// otherwise, when the volume is missing after a reboot, pods would write to the disk of the machine.
func (s Server) render() string {
	out := "# Written by vnfkit: changes are lost.\n"
	for _, e := range s.Exports {
		options := exportOptions
		for _, v := range slices.Backward(s.Volumes) {
			if IsIn(e.Dir, v.MountTo) {
				options += ",mp=" + v.MountTo
				break
			}
		}
		out += fmt.Sprintf("%s %s(%s)\n", e.Dir, e.To, options)
	}
	return out
}

// IsIn reports whether a path is that of dir or of something in it. Both are clean.
func IsIn(name, dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") }
