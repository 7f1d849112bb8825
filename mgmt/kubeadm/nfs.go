package kubeadm

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/linux"
	"github.com/vnfkit/vnfkit/vnflcm"
)

const (
	// exportsFile is ours whole; exportfs reads it beside /etc/exports (exports(5)).
	exportsFile = "/etc/exports.d/vnfkit.exports"
	// exportOptions are Tacker's but for "insecure": kubelets mount from ports that only root has. All clients are
	// nobody, so that no pod is root there.
	exportOptions = "rw,sync,no_subtree_check,all_squash"
)

// setUpStorage makes the storage server export what it shall, if the VNF has one.
func (d *deployment) setUpStorage(ctx context.Context, n mgmt.Node) error {
	if err := n.Reach(ctx, d.op, d.config.Timeouts.Boot); err != nil {
		return err
	}
	for _, s := range []struct {
		name string
		do   func(context.Context, mgmt.Node) error
	}{{"platform", d.checkPlatform}, {"hosts", d.writeHosts}, {"nfs-server", d.setUpServer}} {
		err := d.do(ctx, s.name, n, d.config.Timeouts.Install, func(ctx context.Context) error { return s.do(ctx, n) })
		if err != nil {
			return err
		}
	}
	return nil
}

// setUpServer mounts the volumes and exports directories of them.
func (d *deployment) setUpServer(ctx context.Context, n mgmt.Node) error {
	if err := d.needs(ctx, n, "nfs-kernel-server", "exportfs"); err != nil {
		return err
	}
	for _, v := range d.p.Storage.sorted() {
		if err := d.mountVolume(ctx, n, v); err != nil {
			return err
		}
	}
	for _, e := range d.p.Storage.Exports {
		// Clients are nobody: the directory is theirs.
		if err := n.RunRoot(ctx, []string{"install", "-d", "-m", "0755", "-o", "nobody", "-g", "nogroup", e.Dir}, nil, nil, nil); err != nil {
			return err
		}
	}
	if err := put(ctx, n, exportsFile, d.p.Storage.renderExports(), 0o644); err != nil {
		return err
	}
	for _, argv := range [][]string{{"systemctl", "enable", "--now", "nfs-server"}, {"exportfs", "-ra"}} {
		if err := n.RunRoot(ctx, argv, nil, nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// setUpClient gives a node what its kubelet mounts NFS with.
func (d *deployment) setUpClient(ctx context.Context, n mgmt.Node) error {
	return d.needs(ctx, n, "nfs-common", "mount.nfs", "-V")
}

// needs installs a package or, where the image has everything, makes sure that its program is there.
func (d *deployment) needs(ctx context.Context, n mgmt.Node, name string, argv ...string) error {
	if d.p.Packages.source() == fromNowhere {
		return d.expect(ctx, n, []program{{argv: argv}})
	}
	return d.install(ctx, n, name)
}

// sorted has volumes before those that are mounted in them.
func (s *storageParam) sorted() []cinderVolumeParam {
	return slices.SortedFunc(slices.Values(s.Volumes), func(a, b cinderVolumeParam) int { return cmp.Compare(a.MountTo, b.MountTo) })
}

// renderExports renders what is exported. A directory of a volume is exported only while that is mounted ("mp"):
// otherwise, when the volume is missing after a reboot, pods would write to the disk of the machine.
func (s *storageParam) renderExports() string {
	out := "# Written by vnfkit: changes are lost.\n"
	for _, e := range s.Exports {
		to, _ := exportTarget(e.To) // checked
		options := exportOptions
		for _, v := range slices.Backward(s.sorted()) {
			if isIn(e.Dir, v.MountTo) {
				options += ",mp=" + v.MountTo
				break
			}
		}
		out += fmt.Sprintf("%s %s(%s)\n", e.Dir, to, options)
	}
	return out
}

// mountVolume mounts a volume, now and after a reboot.
func (d *deployment) mountVolume(ctx context.Context, n mgmt.Node, v cinderVolumeParam) error {
	device, err := mgmt.VolumeDevice(d.op, n.VNFC, v.ResourceID)
	if err != nil {
		return &vnflcm.ParamError{Path: clusterPath + ".storage_server.cinder_volume_setup_params.volume_resource_id", Value: v.ResourceID, Reason: err.Error()}
	}
	if err := linux.On(n.SSH).Mount(ctx, device, v.MountTo); err != nil {
		return fmt.Errorf("kubeadm: volume %s: %w", v.ResourceID, err)
	}
	return nil
}
