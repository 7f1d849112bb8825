package kube

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"
)

// Directory names the variable that says where Parts are built and kept. Default: a directory of the user's cache,
// named by what the parts are built from.
const Directory = "VNFKIT_KUBE_DIR"

// Parts are what machines are made from. build.sh says what is where.
type Parts struct{ dir string }

// Build makes the parts, or finds those of an earlier run. The first time takes about ten minutes on two cores.
func Build(ctx context.Context) (Parts, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", "github.com/vnfkit/vnfkit/internal/e2e/kube").Output()
	if err != nil {
		return Parts{}, err
	}
	source := strings.TrimSpace(string(out))
	dir, err := directory(source)
	if err != nil {
		return Parts{}, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // users of machines look into it
		return Parts{}, err
	}
	lock := flock.New(dir + ".lock")
	if err := lock.Lock(); err != nil {
		return Parts{}, err
	}
	build := exec.CommandContext(ctx, "bash", filepath.Join(source, "build.sh"), dir) //nolint:gosec // our own script
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	return Parts{dir}, errors.Join(build.Run(), lock.Unlock())
}

// directory is where the parts are that are built from these sources.
func directory(source string) (string, error) {
	if dir := os.Getenv(Directory); dir != "" {
		return dir, nil
	}
	digest := sha256.New()
	for _, name := range []string{"build.sh", "pause/main.go", "flannelcni/main.go"} {
		text, err := os.ReadFile(filepath.Join(source, name)) //nolint:gosec // our own files
		if err != nil {
			return "", err
		}
		_, _ = fmt.Fprintln(digest, name, len(text))
		_, _ = digest.Write(text)
	}
	cache, err := os.UserCacheDir()
	return filepath.Join(cache, "vnfkit-e2e", "kube-"+hex.EncodeToString(digest.Sum(nil))[:12]), err
}

// Tree is a Debian without anything of Kubernetes, for vmhost.Spec.
func (p Parts) Tree() string { return filepath.Join(p.dir, "tree") }

// NodeTree is one that is ready for kubeadm, for vmhost.Spec.
func (p Parts) NodeTree() string { return filepath.Join(p.dir, "node") + ":" + p.Tree() }

// Images is what containerd keeps, with all images of a cluster, for vmhost.Spec.Data.
func (p Parts) Images() string { return filepath.Join(p.dir, "containerd") }

// Image is an image in docker-archive form, by the last part of its name.
func (p Parts) Image(name string) string { return filepath.Join(p.dir, "images", name+".tar") }

// Program is one that was built.
func (p Parts) Program(name string) string { return filepath.Join(p.dir, "bin", name) }

// Key is what both repositories are signed with, armoured.
func (p Parts) Key() string { return filepath.Join(p.dir, "key.asc") }

// Repositories are the apt repositories: debian and kubernetes.
func (p Parts) Repositories() fs.FS { return os.DirFS(p.dir) }
