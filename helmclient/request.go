package helmclient

import (
	"context"
	"io"
	"time"
)

// Chart says where a chart is. One of Ref, Path and Archive is given.
type Chart struct {
	Ref     string                        // "repository/chart", "oci://host/path/chart" or the URL of an archive
	Version string                        // of Ref: "1.2.3", or a range such as "^1.2"; default: the newest that is no preview
	Path    string                        // a directory or archive where the client has its files
	Archive func() (io.ReadCloser, error) // a packaged chart (.tgz), read once per call
	Access  Access                        // of Ref, when it belongs to no repository that is known
}

// Access is how a repository or registry is reached.
type Access struct {
	Username  string
	Password  Password
	CA        []byte // PEM; beside what is trusted already
	PlainHTTP bool   // of "oci://": without TLS
}

// Values are laid over each other in the order of the fields: later ones count.
type Values struct {
	Files     []func() (io.ReadCloser, error) // YAML
	Map       map[string]any
	Set       []string // Helm's own grammar: "a.b=1,c={x,y}"
	SetString []string // the same, but all values are text
	SetJSON   []string // "a.b=[1,2]"
}

// CRDPolicy is what is done with the directory crds of a chart.
type CRDPolicy string

// The policies.
const (
	CRDCreate        CRDPolicy = ""               // those that are not there, as Helm does; the default
	CRDCreateReplace CRDPolicy = "create-replace" // those that are there too, by server-side apply
	CRDSkip          CRDPolicy = "skip"
)

// Wait says what a call waits for.
type Wait struct {
	Ready   bool          // until all objects are ready
	Jobs    bool          // with Ready: until all Jobs are complete
	Timeout time.Duration // of each thing Helm waits for; default 5 min
	// Progress is told of what is not ready yet. It must not block.
	Progress func(Progress)
}

// Progress is how far a wait is.
type Progress struct {
	Ready, Total int
	Waiting      []Object
}

// Install makes a release.
type Install struct {
	Name
	Chart
	Values
	Wait
	CRDs            CRDPolicy
	CreateNamespace bool
	Atomic          bool // what was made is removed again when it fails; waits
	Labels          map[string]string
	Description     string
	DryRun          bool // renders, and asks the API server, and changes nothing
	// PostRender may change the manifest before it is applied.
	PostRender func(ctx context.Context, manifest []byte) ([]byte, error)
	// Stale says how long an unfinished operation of somebody else must be quiet to count as dead: see ErrStale.
	Stale time.Duration // default: never
}

// Reuse is which values of the revision before an upgrade keeps.
type Reuse string

// What an upgrade keeps.
const (
	ReuseNone   Reuse = ""      // Helm's default: if no values are given all, otherwise none
	ReuseValues Reuse = "reuse" // all that were given before, with the new ones laid over them
	ReuseReset  Reuse = "reset" // none
	ReuseThen   Reuse = "then"  // those of the new chart, then those given before, then the new ones
)

// Upgrade makes a new revision.
type Upgrade struct {
	Install
	Reuse         Reuse
	OrInstall     bool // when there is no such release
	MaxHistory    int  // revisions that are kept; 0: all
	CleanupOnFail bool
}

// Rollback goes back to a revision.
type Rollback struct {
	Name
	Wait
	Revision    int // default: the one before
	Description string
	Stale       time.Duration
}

// Uninstall removes a release.
type Uninstall struct {
	Name
	Wait
	KeepHistory bool
	Description string
}

// Filter of a list.
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
