package e2e_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/internal/e2e/kube"
	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/internal/e2e/vminfra"
	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

const (
	storageVDU = "storage"
	// storageVolume is the id that the VIM gives the volume. Its first 20 characters are the serial number of the disk.
	storageVolume = "0d9f7c5e-8d0b-4c5e-9a51-6f1f0a6b2c3d"
	// exported is what all machines may mount, and elsewhere what no machine may.
	exported, elsewhere = "/volume/nfs/pv1", "/volume/nfs/pv2"
)

// newStorageYard makes machines as newBareYard does, with what NFS takes. The kernel has neither a server nor a client of NFS:
// the unit nfs-server of the storage server runs one that needs nothing of the kernel, and exports what exportfs reads.
func newStorageYard(t *testing.T) (y *yard, repositories string) {
	t.Helper()
	needKubeadm(t)
	nfs, err := kube.BuildNFS(t.Context())
	must(t, err)
	disk, err := site.network.Disk(t.Context(), 64<<20)
	must(t, err)
	y, repositories = newBareYard(t, func(y *yard, spec *vmhost.Spec, repositories string) {
		spec.Tree = nfs.Over(spec.Tree)
		spec.Files["/etc/apt/sources.list.d/nfs.list"] = nfs.Source(repositories, sourcesKey)
		y.infra.Volumes = []vnflcm.Storage{{ID: "volume", Descriptor: "storage_volume", ResourceID: storageVolume}}
		y.packages = mgmttest.Package(t, y.packages, map[string]string{
			"Definitions/k8s_cluster_df_simple.yaml": clustertest.StorageFlavour(t, packageDir, "simple"),
			"Files/pv1.yaml":                         clustertest.VolumeManifest("nfs-pv1", exported),
		})
	})
	y.machines.Change = func(m vminfra.Machine, spec *vmhost.Spec) {
		if m.VDU != storageVDU {
			return
		}
		spec.Devices = map[string]string{"/dev/vdb": disk}
		spec.Files = maps.Clone(spec.Files)
		maps.Copy(spec.Files, nfs.ServerFiles())
		spec.Files["/etc/tmpfiles.d/disks.conf"] = "L /dev/disk/by-id/virtio-" + storageVolume[:20] + " - - - - /dev/vdb\n" // as udev does
	}
	return y, repositories
}

// storageParameters ask for the storage server.
func storageParameters(t *testing.T) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{"k8s_cluster_installation_param": map[string]any{
		"storage_server": map[string]any{"ssh_cp_name": "storage_CP", "username": user, "password": password,
			"cinder_volume_setup_params": []any{map[string]string{"volume_resource_id": "storage_volume", "mount_to": "/volume"}},
			"nfs_server_setup_params": []any{map[string]string{"export_dir": exported, "export_to": site.network.Prefix().String()},
				map[string]string{"export_dir": elsewhere, "export_to": "192.0.2.0/24"}}},
		"pv_registration_params": []any{map[string]string{"pv_manifest_file_path": "Files/pv1.yaml", "nfs_server_cp": "storage_CP"}},
	}})
	must(t, err)
	return string(text)
}

// stores checks that nodes write to the storage server and read from it, also after it was rebooted and healed, and that the
// cluster has the persistent volume.
func (y *yard) stores(id string) {
	y.t.Helper()
	worker := y.vnfcs(id, workerVDU)[0]
	y.wantVolume(id, "Available")
	for _, v := range append(y.vnfcs(id, masterVDU), worker) {
		if said, err := y.on(v, "mount.nfs", "-V"); err != nil || !strings.Contains(said, "nfs-utils") {
			y.t.Errorf("%s cannot mount NFS: %q, %v", v.ID, said, err)
		}
	}
	const content = "kept on the volume\n"
	must(y.t, y.host(worker).Upload(y.t.Context(), strings.NewReader(content), sshexec.File{Path: "/root/data", Mode: 0o600, Root: true}))
	_, err := y.on(worker, "nfs-cp", "/root/data", y.url(id, exported+"/data"))
	must(y.t, err)
	owner, err := y.on(y.storage(id), "stat", "-c", "%U %G", exported+"/data")
	if diff := cmp.Diff("nobody nogroup\n", owner); diff != "" || err != nil {
		y.t.Errorf("owner of what root has written: %v\n%s", err, diff)
	}
	y.strangersCannotMount(id, worker)

	y.rebooted(y.storage(id))
	y.reads(id, worker, content)

	y.apply(id, "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n")
	y.kubectl(id, "wait", "--for=jsonpath={.status.phase}=Bound", "pvc/data", "--timeout=30s")
	heal := vnflcm.HealVnfRequest{VnfcInstanceID: []string{y.storage(id).ID}}
	op, err := y.Heal(y.t.Context(), id, heal)
	if err := y.failure(op, err); !strings.Contains(err.Error(), "nfs-pv1 to default/data") {
		y.t.Errorf("a heal while the volume is bound: %v", err)
	}
	must(y.t, y.Fail(y.t.Context(), op))
	y.kubectl(id, "delete", "pvc/data")
	y.kill(y.storage(id))
	y.must(y.Heal(y.t.Context(), id, heal))
	y.wantVolume(id, "Available")
	y.reads(id, worker, content)
}

// storage is the storage server.
func (y *yard) storage(id string) vnflcm.VnfcResourceInfo {
	y.t.Helper()
	return y.vnfcs(id, storageVDU)[0]
}

// url is a file or directory of the storage server as libnfs names it, over NFS 4.
func (y *yard) url(id, name string) string {
	y.t.Helper()
	return "nfs://" + y.machines.Host(y.storage(id).ComputeResource.ResourceID).Address.String() + name + "?version=4"
}

// reads waits until a machine reads from the storage server what was written there.
func (y *yard) reads(id string, from vnflcm.VnfcResourceInfo, want string) {
	y.t.Helper()
	var got string
	var err error
	awaitFor(y.t, 2*time.Minute, "the storage server", func() bool {
		got, err = y.on(from, "nfs-cat", y.url(id, exported+"/data"))
		return err == nil
	})
	if diff := cmp.Diff(want, got); diff != "" {
		y.t.Errorf("%v\n%s", err, diff)
	}
}

// strangersCannotMount checks that a port that needs no root is refused, and a machine that is not in export_to.
func (y *yard) strangersCannotMount(id string, from vnflcm.VnfcResourceInfo) {
	y.t.Helper()
	if err := y.host(from).Run(y.t.Context(), []string{"nfs-ls", y.url(id, exported)}, nil, nil, nil); err == nil {
		y.t.Error("a user other than root can mount")
	}
	if _, err := y.on(from, "nfs-ls", y.url(id, elsewhere)); err == nil {
		y.t.Error("a machine outside of export_to can mount")
	}
}

// wantVolume checks the persistent volume of the cluster.
func (y *yard) wantVolume(id, phase string) {
	y.t.Helper()
	address := y.machines.Host(y.storage(id).ComputeResource.ResourceID).Address.String()
	got := y.kubectl(id, "get", "pv", "-o", "jsonpath={range .items[*]}{.metadata.name} {.spec.nfs.server} {.spec.nfs.path} {.status.phase}{end}")
	if diff := cmp.Diff("nfs-pv1 "+address+" "+exported+" "+phase, got); diff != "" {
		y.t.Errorf("persistent volumes:\n%s", diff)
	}
}
