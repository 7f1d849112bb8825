package kubeadm_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
)

// storageFaults are merge patches of good parameters of a storage server, each with the faults that it causes.
var storageFaults = []struct {
	name, patch string
	want        []string
}{
	{"a node", `{"storage_server":{"ssh_cp_name":"workerNode_CP2","nic_cp_name":null}}`, []string{
		`pv_registration_params[0].nfs_server_cp: "storage_CP": is of VDU storage, but the storage server is of VDU workerNode`,
		`pv_registration_params[1].nfs_server_cp: "storage_CP": is of VDU storage, but the storage server is of VDU workerNode`,
		`storage_server.ssh_cp_name: "workerNode_CP2": is of VDU workerNode, whose machines are nodes of the cluster`}},
	{"NIC of another machine", `{"storage_server":{"nic_cp_name":"masterNode_CP1"}}`, []string{
		`storage_server.nic_cp_name: "masterNode_CP1": is of VDU masterNode, but ssh_cp_name is of VDU storage`}},
	{"volumes", `{"storage_server":{"cinder_volume_setup_params":[{},{"volume_resource_id":"a","mount_to":"/volume-1"},{"volume_resource_id":"a","mount_to":"/volume-1"},
		{"volume_resource_id":"b","mount_to":"/etc"},{"volume_resource_id":"c","mount_to":"/var/lib"},{"volume_resource_id":"d","mount_to":"/a b"},
		{"volume_resource_id":"e","mount_to":"/a/../etc"},{"volume_resource_id":"f","mount_to":"/"},{"volume_resource_id":"g","mount_to":"volume"},
		{"volume_resource_id":"h","mount_to":"/a%n"},{"volume_resource_id":"i","mount_to":"/x\n[Mount]"},{"volume_resource_id":"j","mount_to":"/v/"},
		{"volume_resource_id":"k","mount_to":"/` + strings.Repeat("a-", 60) + `"}]}}`, []string{
		"storage_server.cinder_volume_setup_params[0].mount_to: is required", "storage_server.cinder_volume_setup_params[0].volume_resource_id: is required",
		`storage_server.cinder_volume_setup_params[10].mount_to: "/x\n[Mount]": ` + pathFault, `storage_server.cinder_volume_setup_params[11].mount_to: "/v/": ` + pathFault,
		`storage_server.cinder_volume_setup_params[12].mount_to: "/` + strings.Repeat("a-", 31) + `a…": is too long for the name of a systemd unit, where a - takes four characters`,
		`storage_server.cinder_volume_setup_params[2].mount_to: "/volume-1": is the one of cinder_volume_setup_params[1] too`,
		`storage_server.cinder_volume_setup_params[2].volume_resource_id: "a": is the one of cinder_volume_setup_params[1] too`,
		`storage_server.cinder_volume_setup_params[3].mount_to: "/etc": ` + systemFault, `storage_server.cinder_volume_setup_params[4].mount_to: "/var/lib": ` + systemFault,
		`storage_server.cinder_volume_setup_params[5].mount_to: "/a b": ` + pathFault, `storage_server.cinder_volume_setup_params[6].mount_to: "/a/../etc": ` + pathFault,
		`storage_server.cinder_volume_setup_params[7].mount_to: "/": ` + pathFault, `storage_server.cinder_volume_setup_params[8].mount_to: "volume": ` + pathFault,
		`storage_server.cinder_volume_setup_params[9].mount_to: "/a%n": ` + pathFault}},
	{"exports", `{"storage_server":{"cinder_volume_setup_params":[{"volume_resource_id":"a","mount_to":"/srv/pv2/deeper"}],
		"nfs_server_setup_params":[{"export_dir":"/volume-1/nfs/pv1","export_to":"*"},{"export_dir":"/srv/pv2","export_to":"10.0.0.1/8"},{"export_dir":"/srv/pv2","export_to":"10.0.0.0/8"},
		{"export_dir":"/srv/pv2/x","export_to":"fe80::1%a(rw,no_root_squash)"},{"export_dir":"/usr/share","export_to":"10.0.0.1(rw)"},{"export_dir":"/srv/pv22","export_to":"2001:db8::1"},{}]}}`, []string{
		`storage_server.nfs_server_setup_params[0].export_to: "*": must be a network or an address, such as 10.10.0.0/24`,
		`storage_server.nfs_server_setup_params[1].export_dir: "/srv/pv2": holds /srv/pv2/deeper, where a volume is mounted: its clients could put something else in its place`,
		`storage_server.nfs_server_setup_params[2].export_dir: "/srv/pv2": holds /srv/pv2/deeper, where a volume is mounted: its clients could put something else in its place`,
		`storage_server.nfs_server_setup_params[2]: is the same as nfs_server_setup_params[1]`,
		`storage_server.nfs_server_setup_params[3].export_dir: "/srv/pv2/x": is in /srv/pv2, which is exported too: its clients could put something else in its place`,
		`storage_server.nfs_server_setup_params[3].export_to: "fe80::1%a(rw,no_root_squash)": must be a network or an address, such as 10.10.0.0/24`,
		`storage_server.nfs_server_setup_params[4].export_dir: "/usr/share": ` + systemFault,
		`storage_server.nfs_server_setup_params[4].export_to: "10.0.0.1(rw)": must be a network or an address, such as 10.10.0.0/24`,
		"storage_server.nfs_server_setup_params[6].export_dir: is required", "storage_server.nfs_server_setup_params[6].export_to: is required"}},
	{"manifests", `{"pv_registration_params":[{"pv_manifest_file_path":"Files/none.yaml","nfs_server_cp":"CP9"},{"pv_manifest_file_path":"Files/pv1.yaml","nfs_server_cp":"masterNode_CP1"},
		{"pv_manifest_file_path":"Files/pv1.yaml","nfs_server_cp":"storage_CP"},{"pv_manifest_file_path":"Files/elsewhere.yaml","nfs_server_cp":"storage_CP"},
		{"pv_manifest_file_path":"Files/above.yaml","nfs_server_cp":"storage_CP"},{"pv_manifest_file_path":"Files/host.yaml","nfs_server_cp":"storage_CP"},
		{"pv_manifest_file_path":"Files/two.yaml","nfs_server_cp":"storage_CP"},{"pv_manifest_file_path":"Files/kubernetes/cni.yaml","nfs_server_cp":"storage_CP"},
		{"pv_manifest_file_path":"Files/role.yaml","nfs_server_cp":"storage_CP"},{"pv_manifest_file_path":"Files/name.yaml","nfs_server_cp":"storage_CP"},
		{"pv_manifest_file_path":"Files/large.yaml","nfs_server_cp":"storage_CP"},{"pv_manifest_file_path":"Files/keys.yaml","nfs_server_cp":"storage_CP"}]}`, []string{
		`pv_registration_params[0].nfs_server_cp: "CP9": the flavour has no such connection point; VDUs have storage_CP, masterNode_CP1, workerNode_CP2`,
		`pv_registration_params[0].pv_manifest_file_path: "Files/none.yaml": the package has no such file`,
		`pv_registration_params[10].pv_manifest_file_path: "Files/large.yaml": is larger than 1048576 bytes`,
		`pv_registration_params[11].pv_manifest_file_path: "Files/keys.yaml": has keys or values that JSON does not know`,
		`pv_registration_params[1].nfs_server_cp: "masterNode_CP1": is of VDU masterNode, but the storage server is of VDU storage`,
		`pv_registration_params[2].pv_manifest_file_path: "Files/pv1.yaml": has the name nfs-pv1, as the one of pv_registration_params[1] has`,
		`pv_registration_params[3].pv_manifest_file_path: "Files/elsewhere.yaml": its spec.nfs.path "/elsewhere" is in no export_dir of nfs_server_setup_params`,
		`pv_registration_params[4].pv_manifest_file_path: "Files/above.yaml": its spec.nfs.path "/srv/pv2/../../etc" is in no export_dir of nfs_server_setup_params`,
		`pv_registration_params[5].pv_manifest_file_path: "Files/host.yaml": has no spec.nfs: only volumes on NFS are registered`,
		`pv_registration_params[6].pv_manifest_file_path: "Files/two.yaml": holds more than one document: give each volume a separate file`,
		`pv_registration_params[7].pv_manifest_file_path: "Files/kubernetes/cni.yaml": holds more than one document: give each volume a separate file`,
		`pv_registration_params[8].pv_manifest_file_path: "Files/role.yaml": is no PersistentVolume of v1`,
		`pv_registration_params[9].pv_manifest_file_path: "Files/name.yaml": its metadata.name is no name of a PersistentVolume`}},
	{"no manifest at all", `{"pv_registration_params":[{"pv_manifest_file_path":"Scripts/install_helm.sh","nfs_server_cp":"storage_CP"}]}`, []string{
		`pv_registration_params[0].pv_manifest_file_path: "Scripts/install_helm.sh": is no YAML object`}},
}

const (
	pathFault   = "must be an absolute path of letters, digits, _, - and ., such as /volume/nfs"
	systemFault = "is a directory of the system, or in one, or holds one: choose another, such as /volume/nfs"
)

func TestStorageFaults(t *testing.T) {
	t.Parallel()
	pkg := packageWithStorage(t, map[string]string{
		"Files/elsewhere.yaml": clustertest.VolumeManifest("a", "/elsewhere"), "Files/above.yaml": clustertest.VolumeManifest("b", "/srv/pv2/../../etc"),
		"Files/host.yaml":  "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: c}\nspec: {hostPath: {path: /}}\n",
		"Files/two.yaml":   clustertest.VolumeManifest("d", "/srv/pv2") + "---\nkind: ClusterRoleBinding\n",
		"Files/role.yaml":  "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: e}\nspec: {nfs: {path: /srv/pv2}}\n",
		"Files/name.yaml":  clustertest.VolumeManifest("../secrets", "/srv/pv2"),
		"Files/large.yaml": clustertest.VolumeManifest("f", "/srv/pv2") + strings.Repeat("#", 1<<20),
		"Files/keys.yaml":  clustertest.VolumeManifest("g", "/srv/pv2") + "status: {1: x}\n",
	})
	for _, c := range storageFaults {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := openLab(t, setup{pkg: pkg})
			_, _, err := l.Begin("instantiate_sandbox.json", with(t, storageParams), with(t, c.patch))
			l.Refused(err)
			if diff := cmp.Diff(clustertest.Under(param, c.want), mgmttest.Faults(err)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestTwoStorageServers: a request with more than one storage server is refused.
func TestTwoStorageServers(t *testing.T) {
	t.Parallel()
	roomForTwo := strings.Replace(clustertest.StorageVDU, "max_number_of_instances: 1", "max_number_of_instances: 2", 1)
	two := strings.Replace(clustertest.StorageFlavour(t, packageDir, "simple"), clustertest.StorageVDU, roomForTwo, 1)
	l := openLab(t, setup{pkg: packageWithStorage(t, map[string]string{"Definitions/k8s_cluster_df_simple.yaml": strings.Replace(two,
		"  policies:\n", "  policies:\n    - storage_initial_delta:\n        type: tosca.policies.nfv.VduInitialDelta\n        properties:\n"+
			"          initial_delta:\n            number_of_instances: 2\n        targets: [ storage ]\n", 1)})})
	_, _, err := l.Begin("instantiate_sandbox.json", with(t, storageParams))
	l.Refused(err)
	want := []string{`storage_server.ssh_cp_name: "storage_CP": is of VDU storage, of which there would be 2 machines: there must be one`}
	if diff := cmp.Diff(clustertest.Under(param, want), mgmttest.Faults(err)); diff != "" {
		t.Error(diff)
	}
}

// FuzzExportTarget: an accepted target is one word without options.
func FuzzExportTarget(f *testing.F) {
	for _, seed := range []string{"10.10.0.0/24", "10.0.0.1", "2001:db8::/64", "fe80::1%eth0", "10.0.0.1(rw)", "*", "::ffff:10.0.0.1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if target, ok := kubeadm.ExportTarget(text); ok && strings.Trim(target, "0123456789abcdef.:/") != "" {
			t.Errorf("%q: %q", text, target)
		}
	})
}

// FuzzVolume: an accepted manifest can be applied, and is a volume on NFS.
func FuzzVolume(f *testing.F) {
	f.Add([]byte(clustertest.VolumeManifest("nfs-pv1", "/volume/nfs/pv1")))
	f.Add([]byte("apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: a}\nspec: {nfs: {path: /a}, x: .nan}\n"))
	f.Add([]byte("a: &a [*a]\n---\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		name, manifest, err := kubeadm.ParseVolume(text)
		if err == nil && (name == "" || !strings.Contains(string(manifest), `"nfs":{`)) {
			t.Errorf("%q: %s", text, manifest)
		}
	})
}
