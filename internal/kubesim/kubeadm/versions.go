package kubeadm

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/vnfkit/vnfkit/internal/kubesim/kubeapi"
)

// Versions are the versions of Kubernetes that package sources offer. The first one is installed unless another one is asked for.
var Versions = []string{kubeapi.Version, "1.35.6", "1.36.3", "1.37.2"}

// images are the tags of etcd and pause that kubeadm of a minor version deploys.
var images = map[int]struct{ etcd, pause string }{35: {"3.6.6-0", "3.10.1"}, 36: {"3.6.8-0", "3.10.2"}, 37: {"3.7.0-0", "3.10.2"}}

// Minor returns the minor version of a version such as 1.35.4 or v1.35.4, 0 for another text.
func Minor(version string) int { return number(version, 1) }

func patch(version string) int { return number(version, 2) }

func number(version string, i int) int {
	parts := strings.Split(version, ".")
	if i >= len(parts) {
		return 0
	}
	n, _ := strconv.Atoi(parts[i])
	return n
}

// older reports whether the version a is older than b, of the same major version.
func older(a, b string) bool {
	return Minor(a) < Minor(b) || Minor(a) == Minor(b) && patch(a) < patch(b)
}

const registry = "registry.k8s.io/"

// image returns the image of a component in a cluster with this version.
func image(component, version string) string {
	if component == "etcd" {
		return registry + "etcd:" + images[Minor(version)].etcd
	}
	return registry + component + ":v" + version
}

// tagOf returns the tag of the image in the manifest of a static pod, "" if it has none.
func tagOf(manifest string) string {
	_, after, _ := strings.Cut(manifest, "- image: ")
	name, _, _ := strings.Cut(after, "\n")
	_, tag, _ := strings.Cut(name, ":")
	return tag
}

// VersionOf returns the version of Kubernetes, or of etcd, whose static pod a manifest describes.
func VersionOf(manifest string) string {
	version, _, _ := strings.Cut(strings.TrimPrefix(tagOf(manifest), "v"), "-")
	return version
}

// listImages prints what "kubeadm config images list" does, as far as drivers read it.
func (c *call) listImages(version string) {
	c.Printf("%skube-apiserver:%s\n%spause:%s\n%setcd:%s\n", registry, version, registry, images[Minor(version)].pause, registry, images[Minor(version)].etcd)
}

// checkVersion fails unless this kubeadm works with a version of the control plane.
func checkVersion(kubeadm, version string) error {
	if kubeadm != strings.TrimPrefix(version, "v") {
		return fmt.Errorf("kubesim: kubeadm %s is not the one of Kubernetes %s", kubeadm, version)
	}
	return nil
}
