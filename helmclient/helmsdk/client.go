package helmsdk

import (
	"fmt"
	"log/slog"
	"net/http"

	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/repo"
	"helm.sh/helm/v3/pkg/storage/driver"
	"helm.sh/helm/v3/pkg/strvals"
	"k8s.io/client-go/rest"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/helmclient/internal/inprocess"
)

// Storage is the kind of object in which Helm stores releases.
type Storage string

// Where releases can be kept.
const (
	Secrets    Storage = "secrets"    // one Secret per revision in the namespace of the release; the default
	ConfigMaps Storage = "configmaps" // the same with ConfigMaps
	Memory     Storage = "memory"     // lost with the Client
	SQL        Storage = "sql"        // a PostgreSQL database: see Config.DSN
)

// Config says where the cluster is and where files may be kept.
type Config struct {
	// Cluster is how the API server is reached. Required; it is copied.
	Cluster *rest.Config
	// Dir holds repositories, their indexes, passwords and certificates (mode 0600, in directories of mode 0700). It is
	// created when needed. Several clients may share it, also in other processes. Required; nothing is written
	// elsewhere.
	Dir string
	// Storage of releases; default Secrets.
	Storage Storage
	// DSN is the connection string of SQL. It is never part of an error.
	DSN string
	// Namespace is the namespace of releases that name none; default "default".
	Namespace string
	// Transport is cloned for the connections to chart repositories and registries, so that the program can say which
	// addresses they may have. Default: http.DefaultTransport.
	Transport *http.Transport
	// Log receives Helm's log messages, at level debug; default: none.
	Log *slog.Logger
}

// Client implements helmclient.Client.
type Client struct{ *client }

type client = inprocess.Client

var _ helmclient.Client = (*Client)(nil)

func init() {
	// Helm takes the name of the running program as field manager unless this is set; it is read by all calls, so it is
	// set once.
	kube.ManagedFieldsManager = inprocess.FieldManager
}

// New makes a client. It does not connect to the cluster. A fault in cfg is a helmclient.ErrInvalid.
func New(cfg Config) (*Client, error) {
	s, err := newStorage(cfg)
	if err != nil {
		return nil, err
	}
	c, err := inprocess.New(inprocess.Config{Cluster: cfg.Cluster, Dir: cfg.Dir, Namespace: cfg.Namespace, Transport: cfg.Transport, Log: cfg.Log}, version(s))
	if err != nil {
		return nil, err
	}
	return &Client{c}, nil
}

// version is Helm 3.
func version(s *storages) inprocess.Version {
	v := inprocess.Version{
		Open: s.open, Template: template,
		LoadArchive: loadArchive, LoadDirectory: loadDirectory, ReadIgnored: readIgnored,
		LoadIndex: loadIndex, IndexOf: indexOf, ResolveURL: repo.ResolveReferenceURL,
		Set: strvals.ParseInto, SetString: strvals.ParseIntoString, SetJSON: strvals.ParseJSON,
		ReleaseNotFound: driver.ErrReleaseNotFound, NoDeployedReleases: driver.ErrNoDeployedReleases, ReleaseExists: driver.ErrReleaseExists,
	}
	if s.kind == Memory {
		v.Namespaces = s.shared.Namespaces
	}
	return v
}

// newStorage checks the storage settings.
func newStorage(cfg Config) (*storages, error) {
	s := &storages{kind: cfg.Storage, dsn: cfg.DSN}
	switch s.kind {
	case "":
		s.kind = Secrets
	case Secrets, ConfigMaps, Memory:
	case SQL:
		if cfg.DSN == "" {
			return nil, fmt.Errorf("%w: Config.DSN: is missing, storage is SQL", helmclient.ErrInvalid)
		}
	default:
		return nil, fmt.Errorf("%w: Config.Storage: %q is not known", helmclient.ErrInvalid, cfg.Storage)
	}
	return s, nil
}
