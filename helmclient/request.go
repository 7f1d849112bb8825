package helmclient

import (
	"context"
	"io"
	"time"
)

// Chart says where a chart is. Exactly one of Ref, Path and Archive is set.
type Chart struct {
	Ref     string                        // "repository/chart", "oci://host/path/chart" or the URL of an archive
	Version string                        // of Ref: "1.2.3", or a range such as "^1.2"; default: the newest that is not a pre-release
	Path    string                        // a directory or archive on the machine of the client
	Archive func() (io.ReadCloser, error) // a packaged chart (.tgz), read once per call
	Access  Access                        // of Ref, if it belongs to no known repository
}

// Access says how to reach a repository or registry.
type Access struct {
	Username  string
	Password  Password
	CA        []byte // PEM; trusted in addition to the system's
	PlainHTTP bool   // of "oci://": without TLS
}

// Values are merged in the order of the fields: later fields override earlier ones.
type Values struct {
	Files     []func() (io.ReadCloser, error) // YAML
	Map       map[string]any
	Set       []string // Helm's own grammar: "a.b=1,c={x,y}"
	SetString []string // as Set, but all values are text
	SetJSON   []string // "a.b=[1,2]"
}

// CRDPolicy says what Install and Upgrade do with the directory crds of a chart.
type CRDPolicy string

// The CRD policies.
const (
	CRDCreate        CRDPolicy = ""               // create missing CRDs, as Helm does; the default
	CRDCreateReplace CRDPolicy = "create-replace" // create missing CRDs and replace existing ones, by server-side apply
	CRDSkip          CRDPolicy = "skip"
)

// Wait says what a call waits for.
type Wait struct {
	Ready   bool          // until all objects are ready
	Jobs    bool          // with Ready: until all Jobs are complete
	Timeout time.Duration // for each thing that Helm waits for; default 5 min
	// Progress is called with the objects that are not ready yet. It must not block.
	Progress func(Progress)
}

// Progress reports the state of a wait.
type Progress struct {
	Ready, Total int
	Waiting      []Object
}

// Install is a request to create a release.
type Install struct {
	Name
	Chart
	Values
	Wait
	CRDs            CRDPolicy
	CreateNamespace bool
	Atomic          bool // remove the created objects if the installation fails; waits
	Labels          map[string]string
	Description     string
	DryRun          bool // render and validate against the API server, without a change
	// KubeVersion is the version of Kubernetes for which Template renders, such as "1.34.2"; other methods take the
	// cluster's. Default: the cluster's, or the newest that Helm knows if the cluster does not answer.
	KubeVersion string
	// PostRender may change the manifest before it is applied.
	PostRender func(ctx context.Context, manifest []byte) ([]byte, error)
	// Stale is the age at which an unfinished operation of another client counts as dead: see ErrStale.
	Stale time.Duration // default: never
}

// Reuse says which values of the previous revision an upgrade keeps.
type Reuse string

// Values that an upgrade keeps.
const (
	ReuseNone   Reuse = ""      // Helm's default: all if the upgrade gives no values, otherwise none
	ReuseValues Reuse = "reuse" // all values given before, merged with the new ones
	ReuseReset  Reuse = "reset" // none
	ReuseThen   Reuse = "then"  // the values of the new chart, then the values given before, then the new ones
)

// Upgrade is a request to create a new revision of a release.
type Upgrade struct {
	Install
	Reuse         Reuse
	OrInstall     bool // install the release if it does not exist
	MaxHistory    int  // number of revisions to keep; 0: all
	CleanupOnFail bool
}

// Rollback is a request to roll back to a revision.
type Rollback struct {
	Name
	Wait
	Revision    int // default: the previous revision
	Description string
	Stale       time.Duration
	// PostRender may change the manifest of Revision, also in Helm's record, before it is applied. Hooks stay.
	PostRender func(ctx context.Context, manifest []byte) ([]byte, error)
}

// Uninstall is a request to remove a release.
type Uninstall struct {
	Name
	Wait
	KeepHistory bool
	// KeepClaims leaves the PersistentVolumeClaims of the release on the cluster, as if they had the annotation
	// helm.sh/resource-policy: keep, and namespaces of the release that contain them.
	KeepClaims bool
	// KeepVolumes leaves the PersistentVolumes of the release on the cluster in the same way. Kubernetes deletes a volume only after
	// the claim that it is bound to: waiting for the deletion fails if that claim stays.
	KeepVolumes bool
	// Keep names more objects of the release that stay on the cluster. An object of a namespace is named with that namespace.
	Keep        []Object
	Description string
}

// Filter selects releases.
type Filter struct {
	Namespace string            // default: all
	Labels    map[string]string // of releases
	States    []State           // default: all
}

// Repository holds charts, found by their names in its index.
type Repository struct {
	Name string
	URL  string
	Access
}
