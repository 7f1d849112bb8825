// Package storage sets up a machine as an NFS server. It works on given machines and does not depend on operations of a
// cluster.
package storage

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/mgmt"
)

// Server is a machine that exports directories over NFS.
type Server struct {
	Volumes []Volume // a volume comes before volumes that are mounted inside of it
	Exports []Export
}

// Volume is a block device with its mount point.
type Volume struct{ Name, Device, MountTo string }

// Export is a directory with the network or address that may mount it.
type Export struct{ Dir, To string }

const (
	// exportsFile is written by the driver only. exportfs reads it in addition to /etc/exports (exports(5)).
	exportsFile = "/etc/exports.d/vnfkit.exports"
	// exportOptions are Tacker's without "insecure", because kubelets mount from privileged ports. all_squash maps every
	// client to the user nobody, so that no pod is root on the server.
	exportOptions = "rw,sync,no_subtree_check,all_squash"
)

// SetUp mounts the volumes and exports the directories, permanently.
func (s Server) SetUp(ctx context.Context, n mgmt.Node) error {
	for _, v := range s.Volumes {
		if err := n.Root().Mount(ctx, v.Device, v.MountTo); err != nil {
			return fmt.Errorf("kubeadm: volume %s: %w", v.Name, err)
		}
	}
	for _, e := range s.Exports {
		// all_squash maps clients to the user nobody, who must own the directory
		if err := n.Root().Run(ctx, "install", "-d", "-m", "0755", "-o", "nobody", "-g", "nogroup", e.Dir); err != nil {
			return err
		}
	}
	if err := n.Root().Write(ctx, exportsFile, []byte(s.render()), 0o644); err != nil {
		return err
	}
	for _, argv := range [][]string{{"systemctl", "enable", "--now", "nfs-server"}, {"exportfs", "-ra"}} {
		if err := n.Root().Run(ctx, argv...); err != nil {
			return err
		}
	}
	return nil
}

// render returns the exports file. A directory of a volume is exported only while the volume is mounted ("mp"). Otherwise
// pods would write to the machine's own disk if the volume is missing after a reboot.
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

// IsIn reports whether name is dir or a path inside of dir. Both must be clean paths.
func IsIn(name, dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") }
