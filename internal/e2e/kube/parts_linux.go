package kube

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Parts are what machines are made from. build.sh says what is where.
type Parts struct{ dir string }

// Build makes the parts, or finds those of an earlier run. The first time takes about ten minutes on two cores.
func Build(ctx context.Context) (Parts, error) {
	dir, err := script(ctx, "build.sh")
	return Parts{dir}, err
}

// Helm4 is the directory of the program helm of version 4. The first time it is built, in seconds when the tests are built already.
func Helm4(ctx context.Context) (string, error) { return script(ctx, "helm4.sh") }

// script runs one of the scripts of this directory, and returns what it says.
func script(ctx context.Context, name string) (string, error) {
	source, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", "github.com/vnfkit/vnfkit/internal/e2e/kube").Output()
	if err != nil {
		return "", err
	}
	build := exec.CommandContext(ctx, "bash", filepath.Join(strings.TrimSpace(string(source)), name)) //nolint:gosec // our own scripts
	build.Stderr = os.Stderr
	said, err := build.Output()
	return strings.TrimSpace(string(said)), err
}

// Tree is a Debian without anything of Kubernetes, for vmhost.Spec.
func (p Parts) Tree() string { return filepath.Join(p.dir, "tree") }

// CloudTree is one with cloud-init, as in an image for clouds, for vmhost.Spec.
func (p Parts) CloudTree() string { return filepath.Join(p.dir, "cloud") + ":" + p.Tree() }

// NodeTree is one that is ready for kubeadm, for vmhost.Spec.
func (p Parts) NodeTree() string { return filepath.Join(p.dir, "node") + ":" + p.Tree() }

// Images is what containerd keeps, with all images of a cluster, for vmhost.Spec.Data.
func (p Parts) Images() string { return filepath.Join(p.dir, "containerd") }

// Image is an image in docker-archive form, by the last part of its name.
func (p Parts) Image(name string) string { return filepath.Join(p.dir, "images", name+".tar") }

// Programs is the directory of what was built: kube-apiserver, etcd, helm, kwok and others.
func (p Parts) Programs() string { return filepath.Join(p.dir, "bin") }

// Key is what both repositories are signed with, armoured.
func (p Parts) Key() string { return filepath.Join(p.dir, "key.asc") }

// Repositories are the apt repositories: debian and kubernetes.
func (p Parts) Repositories() fs.FS { return os.DirFS(p.dir) }

// Stages is what the nodes and pods of kwok do.
func (p Parts) Stages() string { return filepath.Join(p.dir, "kwok.yaml") }
