package kubeversion

import (
	"maps"
	"slices"
	"strings"
)

// Tags are the tags of the images that are not named after the version of Kubernetes.
type Tags struct{ Etcd, CoreDNS, Pause string }

// tags are those of kubeadm (app/constants), by version. Patch releases of a minor version may differ.
var tags = map[string]Tags{
	"1.35.4": {Etcd: "3.6.6-0", CoreDNS: "v1.13.1", Pause: "3.10.1"},
	"1.36.3": {Etcd: "3.6.8-0", CoreDNS: "v1.14.2", Pause: "3.10.2"},
	"1.37.2": {Etcd: "3.7.0-0", CoreDNS: "v1.14.6", Pause: "3.10.2"},
}

// TagsOf returns the tags of a version, and whether they are known.
func TagsOf(version string) (Tags, bool) {
	t, ok := tags[version]
	return t, ok
}

// Known returns the versions whose tags are known, for messages.
func Known() string { return strings.Join(slices.Sorted(maps.Keys(tags)), ", ") }
