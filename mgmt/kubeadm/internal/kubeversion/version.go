// Package kubeversion parses and compares versions of Kubernetes and of etcd, and lists what versions of Kubernetes have removed.
package kubeversion

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Version is a version of Kubernetes.
type Version struct{ Major, Minor, Patch int }

var form = regexp.MustCompile(`^([0-9]{1,4})\.([0-9]{1,4})\.([0-9]{1,4})$`)

// Parse parses a full version, such as 1.36.3.
func Parse(text string) (v Version, ok bool) {
	match := form.FindStringSubmatch(text)
	if match == nil {
		return Version{}, false
	}
	for i, part := range []*int{&v.Major, &v.Minor, &v.Patch} {
		*part, _ = strconv.Atoi(match[i+1]) // the expression matches digits only
	}
	return v, true
}

// Minor returns the minor version. The text must have been checked before.
func Minor(text string) int {
	v, _ := Parse(text)
	return v.Minor
}

// OfTag returns the version in the tag of an image, "v1.36.3" or "3.6.8-0", or in a version that a kubelet reports.
func OfTag(tag string) (Version, bool) {
	text, _, _ := strings.Cut(strings.TrimPrefix(tag, "v"), "-")
	text, _, _ = strings.Cut(text, "+") // of a build
	return Parse(text)
}

// String returns the version in the form that Parse reads.
func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch) }

// Compare returns a negative number if v is older than other, 0 if both are the same, and a positive number otherwise.
func (v Version) Compare(other Version) int {
	return cmp.Or(v.Major-other.Major, v.Minor-other.Minor, v.Patch-other.Patch)
}

// AtLeast reports whether the tag of an image, or a version, is not older than a version. It is false for other texts.
func AtLeast(tag string, version Version) bool {
	v, ok := OfTag(tag)
	return ok && v.Compare(version) >= 0
}
