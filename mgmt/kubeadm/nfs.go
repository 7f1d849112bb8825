package kubeadm

import (
	"cmp"
	"context"
	"slices"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/nodeprep"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/storage"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// runExportVolumes makes the storage server mount its volumes and export directories.
func runExportVolumes(ctx context.Context, e *environment, n mgmt.Node) error {
	if err := e.preparation().Need(ctx, n, nodeprep.Program{Package: "nfs-kernel-server", Shows: []string{"exportfs"}}); err != nil {
		return err
	}
	server := storage.Server{Exports: e.p.Storage.exports()}
	for _, v := range e.p.Storage.sorted() {
		device, err := mgmt.VolumeDevice(e.op, n.VNFC, v.ResourceID)
		if err != nil {
			return &vnflcm.ParamError{Path: clusterPath + ".storage_server.cinder_volume_setup_params.volume_resource_id", Value: v.ResourceID, Reason: err.Error()}
		}
		server.Volumes = append(server.Volumes, storage.Volume{Name: v.ResourceID, Device: device, MountTo: v.MountTo})
	}
	return server.SetUp(ctx, n)
}

// runInstallNFSClient installs the programs with which a kubelet mounts NFS.
func runInstallNFSClient(ctx context.Context, e *environment, n mgmt.Node) error {
	return e.preparation().Need(ctx, n, nodeprep.Program{Package: "nfs-common", Shows: []string{"mount.nfs", "-V"}})
}

// sorted returns the volumes in an order in which a volume comes before volumes that are mounted inside of it.
func (s *storageParam) sorted() []cinderVolumeParam {
	return slices.SortedFunc(slices.Values(s.Volumes), func(a, b cinderVolumeParam) int { return cmp.Compare(a.MountTo, b.MountTo) })
}

func (s *storageParam) exports() (out []storage.Export) {
	for _, e := range s.Exports {
		to, _ := exportTarget(e.To) // checked
		out = append(out, storage.Export{Dir: e.Dir, To: to})
	}
	return out
}
