package helmclient

import "context"

// Client works on the releases of one cluster. It is safe for concurrent use. While an operation works on a release,
// another operation on it is refused with ErrBusy. When ctx ends, a call returns only after Helm has stopped, with an
// error that wraps the cause of ctx. Use Status to find the state of the release then.
type Client interface {
	Releases
	Repositories
	Charts
}

// Releases are charts installed on the cluster.
type Releases interface {
	// Install creates a release. The error is ErrExists if a release of that name exists, ErrBusy while another
	// operation works on it.
	Install(ctx context.Context, r Install) (*Release, error)
	// Upgrade creates a new revision of a release. The error is ErrNotFound if the release does not exist, unless
	// r.OrInstall is set.
	Upgrade(ctx context.Context, r Upgrade) (*Release, error)
	// Rollback creates a new revision with the content of an older one.
	Rollback(ctx context.Context, r Rollback) (*Release, error)
	// Uninstall removes a release. The error is ErrNotFound if the release does not exist.
	Uninstall(ctx context.Context, r Uninstall) error

	// Status returns the newest revision. The error is ErrNotFound if the release does not exist.
	Status(ctx context.Context, n Name) (*Release, error)
	// History returns all stored revisions, the oldest first.
	History(ctx context.Context, n Name) ([]Release, error)
	// Values returns the values of a revision: the values given by the caller or, if all is set, those merged with the
	// values of the chart. Revision 0 is the newest.
	Values(ctx context.Context, n Name, revision int, all bool) (map[string]any, error)
	// Manifest returns the objects that a revision created, as YAML documents. Revision 0 is the newest.
	Manifest(ctx context.Context, n Name, revision int) (string, error)
	// List returns the newest revision of each release.
	List(ctx context.Context, f Filter) ([]Release, error)
	// Template renders a chart for r.KubeVersion, without a change of the cluster. What templates see of the APIs of a cluster
	// are Helm's defaults: Install with DryRun asks the cluster for them.
	Template(ctx context.Context, r Install) (manifest string, err error)
}

// Repositories manages chart repositories. A chart reference such as "stable/web" names one, here "stable".
type Repositories interface {
	// AddRepository adds a repository, or changes the one of that name, and reads its index.
	AddRepository(ctx context.Context, r Repository) error
	// UpdateRepositories reads the indexes of the named repositories again; without names, of all repositories.
	UpdateRepositories(ctx context.Context, names ...string) error
	// RemoveRepository removes a repository. It succeeds if the repository does not exist.
	RemoveRepository(ctx context.Context, name string) error
}

// Charts reads charts without installing them.
type Charts interface {
	// Show returns the metadata of a chart.
	Show(ctx context.Context, c Chart) (*ChartInfo, error)
	// Pull writes the archive of a chart into dir, which the caller owns, and returns its path.
	Pull(ctx context.Context, c Chart, dir string) (path string, err error)
}
