package controlplane

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/sshexec"
)

// File is a file of a control-plane node.
type File struct {
	Path    string // absolute
	Content []byte
}

// Folders whose files a snapshot has. PatchesDirectory may be missing.
const (
	pkiDirectory      = directory + "pki"
	manifestDirectory = directory + "manifests"
	// PatchesDirectory has the patches of kubeadm.
	PatchesDirectory = directory + "patches"
)

// maxFiles bounds the files of a node.
const maxFiles = 900

// Files reads the files by which a control plane is made again, without its data: the PKI with the keys of the service accounts, static
// manifests, patches of kubeadm, and the files that flags of static pods name, such as the configuration of encryption at rest. Each
// has at most 1 MiB.
func Files(ctx context.Context, n mgmt.Node) (files []File, err error) {
	var names []string
	for _, dir := range []string{pkiDirectory, manifestDirectory, PatchesDirectory} {
		list, err := filesIn(ctx, n, dir)
		if err != nil {
			return nil, err
		}
		names = append(names, list...)
	}
	if files, err = readFiles(ctx, n, names); err != nil {
		return nil, err
	}
	for _, name := range missing(named(files), names) {
		isFile, err := n.Root().Succeeds(ctx, "test", "-f", name) // and no folder, such as that of etcd
		if err != nil {
			return nil, err
		}
		if !isFile {
			continue
		}
		further, err := readFiles(ctx, n, []string{name})
		if err != nil {
			return nil, err
		}
		files = append(files, further...)
	}
	return files, nil
}

func readFiles(ctx context.Context, n mgmt.Node, names []string) (files []File, err error) {
	if len(names) > maxFiles {
		return nil, fmt.Errorf("kubeadm: %s has more than %d files for a snapshot", n.Label(), maxFiles)
	}
	for _, name := range names {
		content, exists, err := n.Root().Read(ctx, name)
		if err != nil {
			return nil, err
		}
		if exists {
			files = append(files, File{name, content})
		}
	}
	return files, nil
}

// filesIn returns the names of the files in a folder and the folders in it, none if the folder does not exist.
func filesIn(ctx context.Context, n mgmt.Node, dir string) ([]string, error) {
	if exists, err := n.Root().Succeeds(ctx, "test", "-d", dir); !exists || err != nil {
		return nil, err
	}
	out, err := n.Root().Output(ctx, sshexec.Command{Argv: []string{"find", dir, "-type", "f", "-print0"}})
	if err != nil {
		return nil, err
	}
	names := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	slices.Sort(names)
	return slices.DeleteFunc(names, func(name string) bool { return name == "" }), nil
}

// missing returns the names that are not in known.
func missing(names, known []string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(known, name) })
}

// staticPod is the part of a manifest that names files.
type staticPod struct {
	Spec struct {
		Containers []struct {
			Command, Args []string
			VolumeMounts  []struct {
				Name      string
				MountPath string `yaml:"mountPath"`
			} `yaml:"volumeMounts"`
		}
		Volumes []struct {
			Name     string
			HostPath struct{ Path string } `yaml:"hostPath"`
		}
	}
}

// named returns the files of the machine that flags of static pods name: absolute paths, by the mounts of the container.
func named(files []File) (out []string) {
	for _, f := range files {
		var pod staticPod
		if path.Dir(f.Path) != manifestDirectory || yaml.Unmarshal(f.Content, &pod) != nil {
			continue
		}
		for _, c := range pod.Spec.Containers {
			for _, word := range slices.Concat(c.Command, c.Args) {
				_, value, isFlag := strings.Cut(word, "=")
				if !isFlag || !strings.HasPrefix(word, "--") || !path.IsAbs(value) {
					continue
				}
				for _, m := range c.VolumeMounts {
					for _, v := range pod.Spec.Volumes {
						if below, is := strings.CutPrefix(value, m.MountPath); v.Name == m.Name && v.HostPath.Path != "" && is && (below == "" || below[0] == '/') {
							out = append(out, path.Clean(v.HostPath.Path+below))
						}
					}
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// CheckFiles returns what a control plane could not be made without: certificates with their keys, and manifests. The key of an authority
// may be missing, as with an external one.
func CheckFiles(files []File) error {
	content := map[string][]byte{}
	for _, f := range files {
		content[f.Path] = f.Content
	}
	var faults []error
	for _, name := range []string{"pki/sa.key", "pki/sa.pub", "pki/ca.crt", "manifests/" + StaticAPIServer + ".yaml", "manifests/" + StaticControllerManager + ".yaml",
		"manifests/" + StaticEtcd + ".yaml", "manifests/" + StaticScheduler + ".yaml"} {
		if len(content[directory+name]) == 0 {
			faults = append(faults, fmt.Errorf("kubeadm: the snapshot has no file %s", directory+name))
		}
	}
	for _, name := range []string{"pki/ca", "pki/front-proxy-ca", "pki/etcd/ca"} {
		cert, key := content[directory+name+".crt"], content[directory+name+".key"]
		if _, err := tls.X509KeyPair(cert, key); len(key) > 0 && err != nil {
			faults = append(faults, fmt.Errorf("kubeadm: the snapshot has another key than that of %s: %w", directory+name+".crt", err))
		}
	}
	if block, _ := pem.Decode(content[directory+"pki/sa.key"]); block == nil {
		faults = append(faults, fmt.Errorf("kubeadm: the snapshot has no key in %spki/sa.key", directory))
	}
	return errors.Join(faults...)
}
