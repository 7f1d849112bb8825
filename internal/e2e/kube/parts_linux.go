package kube

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Parts is a directory with file systems, programs and images for machines. build.sh describes its content.
type Parts struct{ dir string }

// Build builds the parts, or returns the parts of an earlier run. The environment variable VNFKIT_KUBERNETES_VERSION selects the
// version of Kubernetes; the default is the driver's default. The first run takes about 26 minutes on two cores.
func Build(ctx context.Context) (Parts, error) {
	dir, err := script(ctx, "build.sh")
	return Parts{dir}, err
}

// BuildDebian13 returns parts like Build whose trees and whose repository debian are of Debian 13. There is no NodeTree. The first call
// takes four minutes longer than Build.
func BuildDebian13(ctx context.Context) (Parts, error) {
	dir, err := script(ctx, "debian13.sh")
	return Parts{dir}, err
}

// Helm4 returns the directory of the program helm of version 4. The first call builds the program, in seconds if the tests
// were built before.
func Helm4(ctx context.Context) (string, error) { return script(ctx, "helm4.sh") }

// script runs one of the scripts of this directory with arguments and returns its output.
func script(ctx context.Context, name string, arguments ...string) (string, error) {
	source, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", "github.com/vnfkit/vnfkit/internal/e2e/kube").Output()
	if err != nil {
		return "", err
	}
	words := append([]string{filepath.Join(strings.TrimSpace(string(source)), name)}, arguments...)
	build := exec.CommandContext(ctx, "bash", words...) //nolint:gosec // our own scripts
	build.Stderr = os.Stderr
	said, err := build.Output()
	return strings.TrimSpace(string(said)), err
}

// Version returns the version of Kubernetes, such as 1.36.3.
func (p Parts) Version() string { return filepath.Base(p.dir) }

// Tree returns a Debian file system without Kubernetes, for vmhost.Spec.Tree.
func (p Parts) Tree() string { return filepath.Join(p.dir, "tree") }

// CloudTree returns a Debian file system with cloud-init, as in an image for clouds, for vmhost.Spec.Tree.
func (p Parts) CloudTree() string { return filepath.Join(p.dir, "cloud") + ":" + p.Tree() }

// NodeTree returns a Debian file system with the programs that kubeadm needs, for vmhost.Spec.Tree.
func (p Parts) NodeTree() string { return filepath.Join(p.dir, "node") + ":" + p.Tree() }

// Images returns containerd's data directory with all images of a cluster, for vmhost.Spec.Data.
func (p Parts) Images() string { return filepath.Join(p.dir, "containerd") }

// Image returns the file of an image in the docker-archive format. name is the last part of the image's name.
func (p Parts) Image(name string) string { return filepath.Join(p.dir, "images", name+".tar") }

// Programs returns the directory of the built programs: kube-apiserver, etcd, helm, kwok and others.
func (p Parts) Programs() string { return filepath.Join(p.dir, "bin") }

// Key returns the file with the public key of both repositories, armoured.
func (p Parts) Key() string { return filepath.Join(p.dir, "key.asc") }

// Repositories returns the apt repositories: the folders debian and kubernetes.
func (p Parts) Repositories() fs.FS { return os.DirFS(p.dir) }

// Stages returns the file with the behaviour of kwok's nodes and pods, for controlplane.Config.
func (p Parts) Stages() string { return filepath.Join(p.dir, "kwok.yaml") }
