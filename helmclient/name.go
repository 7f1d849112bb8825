package helmclient

import (
	"fmt"
	"regexp"
)

// Name identifies a release by namespace and name.
type Name struct {
	Namespace string // default: the namespace of the client, which is "default" unless configured
	Release   string // up to 53 characters, so that names derived from it are not too long for Kubernetes
}

// String is "namespace/release".
func (n Name) String() string {
	if n.Namespace == "" {
		return n.Release
	}
	return n.Namespace + "/" + n.Release
}

// Names that Helm (chartutil.ValidateReleaseName) and Kubernetes (RFC 1123 labels) accept.
var (
	releaseNames   = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	namespaceNames = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
)

const (
	maxRelease   = 53
	maxNamespace = 63
)

// Validate returns an ErrInvalid unless both names are valid on a cluster. Every method that takes a Name calls it.
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
