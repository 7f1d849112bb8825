// Package kubeversion parses versions of Kubernetes.
package kubeversion

import (
	"regexp"
	"strconv"
)

// Version is a version of Kubernetes.
type Version struct{ Major, Minor, Patch int }

var form = regexp.MustCompile(`^([0-9]{1,4})\.([0-9]{1,4})\.([0-9]{1,4})$`)

// Parse parses a full version, such as 1.35.4.
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
