package helmclient

import "context"

// Client works on the releases of one cluster. It is safe for concurrent use; two operations on one release at once
// are refused (ErrBusy). When ctx ends, a call returns only when Helm has stopped, and its error wraps the cause of ctx;
// Status tells what has become of the release then.
type Client interface {
	Releases
	Repositories
	Charts
}

// Releases are charts installed on the cluster.
type Releases interface {
	// Install makes a release. ErrExists when there is one by that name; ErrBusy while another operation works on it.
	Install(ctx context.Context, r Install) (*Release, error)
	// Upgrade makes a new revision of a release. ErrNotFound when there is none, unless Install of it is asked for.
	Upgrade(ctx context.Context, r Upgrade) (*Release, error)
	// Rollback makes a new revision that is what an older one was.
	Rollback(ctx context.Context, r Rollback) (*Release, error)
	// Uninstall removes a release. ErrNotFound when there is none.
	Uninstall(ctx context.Context, r Uninstall) error

	// Status returns the newest revision, ErrNotFound when there is none.
	Status(ctx context.Context, n Name) (*Release, error)
	// History returns all revisions that are kept, the oldest first.
	History(ctx context.Context, n Name) ([]Release, error)
	// Values returns the values of a revision: those given or, with all, those of the chart too. 0 is the newest.
	Values(ctx context.Context, n Name, revision int, all bool) (map[string]any, error)
	// Manifest returns what a revision has made, as YAML documents. 0 is the newest.
	Manifest(ctx context.Context, n Name, revision int) (string, error)
	// List returns the newest revision of each release.
	List(ctx context.Context, f Filter) ([]Release, error)
	// Template renders a chart without a cluster being changed.
	Template(ctx context.Context, r Install) (manifest string, err error)
}

// Repositories are where charts come from by a name, such as "stable" in "stable/web".
type Repositories interface {
	// AddRepository adds a repository, or changes the one of that name, and reads its index.
	AddRepository(ctx context.Context, r Repository) error
	// UpdateRepositories reads the indexes anew: of those named or, without names, of all.
	UpdateRepositories(ctx context.Context, names ...string) error
	// RemoveRepository forgets a repository. One that is not known is forgotten already.
	RemoveRepository(ctx context.Context, name string) error
}

// Charts are looked at without being installed.
type Charts interface {
	// Show tells what a chart says of itself.
	Show(ctx context.Context, c Chart) (*ChartInfo, error)
	// Pull writes the archive of a chart into a directory, which is the caller's, and returns its path.
	Pull(ctx context.Context, c Chart, dir string) (path string, err error)
}
