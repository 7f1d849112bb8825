package inprocess

import (
	"io"
	"io/fs"
	"time"

	"github.com/vnfkit/vnfkit/helmclient"
)

// Version is the set of functions of one major version of Helm's Go packages.
type Version struct {
	// Open prepares Helm for one call.
	Open func(k *Call) (Release, error)
	// Template renders a chart without a cluster, for r.KubeVersion, which is given. Hooks come last, as with Helm's own
	// command.
	Template func(k *Call, r helmclient.Install, ch Chart, values map[string]any) (manifest string, err error)

	LoadArchive   func(archive io.Reader) (Chart, error)
	LoadDirectory func(dir string) (Chart, error)
	// ReadIgnored reads which files of a chart directory are no part of the chart.
	ReadIgnored func(dir string) (Ignored, error)

	// LoadIndex reads the index of a repository.
	LoadIndex func(file string) (Index, error)
	// IndexOf is an index of one chart, for the tags of a registry.
	IndexOf func(chart string, versions []string) Index
	// ResolveURL returns the absolute URL for a URL of an index, which may be relative to that of its repository.
	ResolveURL func(repository, reference string) (string, error)

	// Parsers of --set, --set-string and --set-json.
	Set, SetString, SetJSON func(text string, into map[string]any) error

	// Errors of Helm's storage.
	ReleaseNotFound, NoDeployedReleases, ReleaseExists error
	// Namespaces returns the namespaces to read one by one to list all releases. If it is nil, one list contains all
	// releases.
	Namespaces func() []string
}

// Release is what Helm does with the release of a call, and reads of it.
type Release interface {
	// Reachable asks the API server for its version.
	Reachable() error

	// Last is the newest revision, Get any other one, History all that are kept. List is the releases of the namespace.
	Last() (*Record, error)
	Get(revision int) (*Record, error)
	History() ([]*Record, error)
	List() ([]*Record, error)
	// Update stores a revision with another state and description.
	Update(r *Record, state helmclient.State, description string) error
	// SetManifest stores a revision with another manifest.
	SetManifest(r *Record, manifest string) error

	// Install makes a release. With replace it continues the history of one that is not installed any more.
	Install(r helmclient.Install, ch Chart, values map[string]any, replace bool) (*Record, error)
	Upgrade(r helmclient.Upgrade, ch Chart, values map[string]any, last *Record) (*Record, error)
	Rollback(r helmclient.Rollback, to *Record) error
	Uninstall(r helmclient.Uninstall) error
}

// Record is what Helm keeps of a revision.
type Record struct {
	helmclient.Release

	Deleted time.Time // when it was begun to be uninstalled
	Hooks   []helmclient.Hook
	// Values returns the values given by the caller or, if all is set, those merged with the values of the chart.
	Values func(all bool) (map[string]any, error)
	// Helm is the revision as this version of Helm has it.
	Helm any
}

// told converts a record to a helmclient.Release.
func (r *Record) told() *helmclient.Release {
	if r == nil {
		return nil
	}
	out := r.Release
	return &out
}

// begun is when the last operation on the revision began.
func (r *Record) begun() time.Time {
	if r.State == helmclient.Uninstalling && r.Deleted.After(r.Updated) {
		return r.Deleted
	}
	return r.Updated
}

// Ignored reports whether a file or directory, by its path in a chart, is no part of the chart.
type Ignored func(name string, info fs.FileInfo) bool

// Chart is a chart that Helm has loaded.
type Chart interface {
	Info() helmclient.ChartInfo
	// Installable returns why the chart cannot be installed: it is a library, or a chart that it depends on is missing.
	Installable() error
	// Save packs the chart into a directory.
	Save(dir string) (file string, err error)
	// CRDs are the files of the directory crds, of the charts that it depends on too.
	CRDs() []File
}

// File is a file of a chart.
type File struct {
	Name string
	Data []byte
}

// Index says where a repository has its charts.
type Index interface {
	// Find returns the newest version that matches, and where it is.
	Find(chart, version string) (found string, urls []string, err error)
}
