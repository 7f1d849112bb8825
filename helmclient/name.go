package helmclient

import (
	"fmt"
	"regexp"
)

// Name is a release.
type Name struct {
	Namespace string // default: that of the client, "default" unless said otherwise
	Release   string // up to 53 characters, so that names made of it are not too long for Kubernetes
}

// String is "namespace/release".
func (n Name) String() string {
	if n.Namespace == "" {
		return n.Release
	}
	return n.Namespace + "/" + n.Release
}

// What Helm (chartutil.ValidateReleaseName) and Kubernetes (RFC 1123 labels) take as names.
var (
	releaseNames   = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	namespaceNames = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
)

const (
	maxRelease   = 53
	maxNamespace = 63
)

// Validate returns an ErrInvalid unless both names may exist on a cluster. Every method that takes a Name calls it.
func (n Name) Validate() error {
	if !releaseNames.MatchString(n.Release) || len(n.Release) > maxRelease {
		return fmt.Errorf("%w: release name %q: must be 1 to %d lower case letters, digits, '-' and '.', beginning and ending with a letter or digit",
			ErrInvalid, n.Release, maxRelease)
	}
	if n.Namespace != "" && (!namespaceNames.MatchString(n.Namespace) || len(n.Namespace) > maxNamespace) {
		return fmt.Errorf("%w: namespace %q: must be 1 to %d lower case letters, digits and '-', beginning and ending with a letter or digit",
			ErrInvalid, n.Namespace, maxNamespace)
	}
	return nil
}
