package kubeadm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/vnfkit/vnfkit/internal/bounded"
	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/storage"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// volumesParam is the name of the list of persistent volumes.
const volumesParam = "pv_registration_params"

// nfsVolumeParam is a persistent volume to create in the cluster.
type nfsVolumeParam struct {
	ManifestPath string `json:"pv_manifest_file_path"`
	ServerCP     string `json:"nfs_server_cp"` // connection point whose address replaces the server in the manifest
}

// maxManifest bounds the manifest of one persistent volume.
const maxManifest = 1 << 20

// persistentVolume is the manifest of a persistent volume on NFS.
type persistentVolume struct {
	object map[string]any
	nfs    map[string]any // object's spec.nfs
	name   string
}

// manifests checks the persistent volumes against the storage server and the package.
func (c *checker) manifests(p *clusterParam) {
	vdu := c.Op.VDUOf(p.Storage.SSHCPName)
	names := map[string]int{}
	for i, v := range p.Volumes {
		at := fmt.Sprintf("%s[%d]", volumesParam, i)
		c.CP(at+".nfs_server_cp", v.ServerCP)
		switch of := c.Op.VDUOf(v.ServerCP); {
		case v.ServerCP == "":
			c.Fault(at+".nfs_server_cp", "", "is required")
		case of != "" && vdu != "" && of != vdu:
			c.Fault(at+".nfs_server_cp", v.ServerCP, fmt.Sprintf("is of VDU %s, but the storage server is of VDU %s", of, vdu))
		}
		at += ".pv_manifest_file_path"
		if v.ManifestPath == "" {
			c.Fault(at, "", "is required")
			continue
		}
		volume, err := c.readVolume(v.ManifestPath)
		if err != nil {
			c.Fault(at, v.ManifestPath, err.Error())
			continue
		}
		if first, twice := names[volume.name]; twice {
			c.Fault(at, v.ManifestPath, fmt.Sprintf("has the name %s, as the one of %s[%d] has", volume.name, volumesParam, first))
		}
		names[volume.name] = i
		dir, _ := volume.nfs["path"].(string)
		exported := slices.ContainsFunc(p.Storage.Exports, func(e nfsExportParam) bool { return storage.IsIn(dir, e.Dir) })
		if !exported || path.Clean(dir) != dir {
			c.Fault(at, v.ManifestPath, fmt.Sprintf("its spec.nfs.path %q is in no export_dir of nfs_server_setup_params", dir))
		}
	}
}

// readVolume reads a manifest of the package. The error is the reason of a fault.
func (c *checker) readVolume(name string) (v persistentVolume, err error) {
	file, err := mgmt.Artifacts(c.Op)(name)
	if errors.Is(err, fs.ErrNotExist) {
		return v, errors.New("the package has no such file")
	}
	if err != nil {
		return v, err
	}
	defer file.Close()
	text, err := bounded.Read(file, maxManifest)
	if err != nil {
		return v, err
	}
	return parseVolume(text)
}

// parseVolume accepts exactly one PersistentVolume on NFS.
func parseVolume(text []byte) (v persistentVolume, err error) {
	documents := yaml.NewDecoder(bytes.NewReader(text))
	if err := documents.Decode(&v.object); err != nil {
		return v, errors.New("is no YAML object")
	}
	if err := documents.Decode(new(any)); !errors.Is(err, io.EOF) {
		return v, errors.New("holds more than one document: give each volume a separate file")
	}
	if v.object["apiVersion"] != "v1" || v.object["kind"] != "PersistentVolume" {
		return v, errors.New("is no PersistentVolume of v1")
	}
	metadata, _ := v.object["metadata"].(map[string]any)
	v.name, _ = metadata["name"].(string)
	if len(v.name) > 253 || !prefixForm.MatchString(v.name) {
		return v, errors.New("its metadata.name is no name of a PersistentVolume")
	}
	spec, _ := v.object["spec"].(map[string]any)
	var onNFS bool
	if v.nfs, onNFS = spec["nfs"].(map[string]any); !onNFS {
		return v, errors.New("has no spec.nfs: only volumes on NFS are registered")
	}
	if _, err := json.Marshal(v.object); err != nil {
		return v, errors.New("has keys or values that JSON does not know")
	}
	return v, nil
}

// readVolumes reads the manifests of the persistent volumes from the package.
func readVolumes(e *environment) (volumes []persistentVolume, names []string, err error) {
	for _, p := range e.p.Volumes {
		v, err := (newChecker(e.op)).readVolume(p.ManifestPath)
		if err != nil {
			return nil, nil, fmt.Errorf("kubeadm: %s %w", p.ManifestPath, err)
		}
		volumes, names = append(volumes, v), append(names, v.name)
	}
	return volumes, names, nil
}

// applyVolume creates or updates a persistent volume with the address of the storage server.
func applyVolume(ctx context.Context, e *environment, v persistentVolume, serverCP string) error {
	cp, _ := e.storage[0].CP(serverCP)
	if len(cp.Fixed) == 0 {
		return &vnflcm.ParamError{Path: clusterPath + "." + volumesParam + ".nfs_server_cp", Value: serverCP,
			Reason: "the storage server has no address at this connection point"}
	}
	v.nfs["server"] = cp.Fixed[0].String()
	manifest, err := json.Marshal(v.object)
	if err != nil {
		return err
	}
	return e.kube.Apply(ctx, manifest)
}

// runRegisterVolumes creates the persistent volumes of the storage server, and waits until pods can claim them.
func runRegisterVolumes(ctx context.Context, e *environment, _ mgmt.Node) error {
	volumes, names, err := readVolumes(e)
	if err != nil {
		return err
	}
	for i, v := range volumes {
		if err := applyVolume(ctx, e, v, e.p.Volumes[i].ServerCP); err != nil {
			return err
		}
	}
	return e.kube.WaitVolumes(ctx, names, func(message string) { e.op.Report(ctx, message) })
}

// runReleaseVolumes deletes the persistent volumes before their storage server is replaced, because their address cannot be
// changed. If one is bound to a claim, runReleaseVolumes deletes none and fails.
func runReleaseVolumes(ctx context.Context, e *environment, _ mgmt.Node) error {
	_, names, err := readVolumes(e)
	if err != nil {
		return err
	}
	return e.kube.RemoveVolumes(ctx, names...)
}
