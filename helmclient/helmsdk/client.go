package helmsdk

import (
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/storage/driver"
	"k8s.io/client-go/rest"

	"github.com/vnfkit/vnfkit/helmclient"
)

// Storage is where Helm keeps what it knows of releases.
type Storage string

// Where releases can be kept.
const (
	Secrets    Storage = "secrets"    // one Secret per revision in the namespace of the release; the default
	ConfigMaps Storage = "configmaps" // the same with ConfigMaps
	Memory     Storage = "memory"     // gone with the Client
	SQL        Storage = "sql"        // a PostgreSQL database: see Config.DSN
)

// Config says where the cluster is and where files may be kept.
type Config struct {
	// Cluster is how the API server is reached. Required; it is copied.
	Cluster *rest.Config
	// Dir holds repositories, their indexes, passwords and certificates (mode 0600, in directories of mode 0700). It is
	// made when needed. Several clients, of several processes too, may share it. Required; nothing is written elsewhere.
	Dir string
	// Storage of releases; default Secrets.
	Storage Storage
	// DSN is the connection string of SQL. It is never part of an error.
	DSN string
	// Namespace is for releases that name none; default "default".
	Namespace string
	// Log takes what Helm tells while it works, at level debug; default: nowhere.
	Log *slog.Logger
}

// Client implements helmclient.Client.
type Client struct {
	dir       string
	storage   Storage
	dsn       string
	namespace string
	log       *slog.Logger
	host      string // URL of the API server
	cluster   *rest.Config
	transport http.RoundTripper // with TLS and credentials; its connections are shared by all calls

	mu     sync.Mutex
	busy   map[string]bool          // "namespace/release" that an operation works on
	shared map[string]driver.Driver // of Memory and SQL, by namespace
}

var _ helmclient.Client = (*Client)(nil)

func init() {
	// Helm takes the name of the running program as field manager unless this is set; it is read by all calls, so it is
	// set once. With Helm's own name, releases can be taken over by the helm program, and the other way round.
	kube.ManagedFieldsManager = "helm"
}

// Defaults of requests to the API server, when Cluster sets none. client-go's own are those of a controller, with which
// a chart of a hundred objects takes minutes.
const (
	queriesPerSecond = 50
	queryBurst       = 100
)

// New makes a client. It reaches nothing yet. A fault in cfg is a helmclient.ErrInvalid.
func New(cfg Config) (*Client, error) {
	switch {
	case cfg.Cluster == nil:
		return nil, fmt.Errorf("%w: Config.Cluster: is missing", helmclient.ErrInvalid)
	case cfg.Dir == "":
		return nil, fmt.Errorf("%w: Config.Dir: is missing", helmclient.ErrInvalid)
	case cfg.Storage == SQL && cfg.DSN == "":
		return nil, fmt.Errorf("%w: Config.DSN: is missing, storage is SQL", helmclient.ErrInvalid)
	}
	c := &Client{
		storage: cfg.Storage, dsn: cfg.DSN, namespace: cfg.Namespace, log: cfg.Log,
		busy: map[string]bool{}, shared: map[string]driver.Driver{},
	}
	switch c.storage {
	case "":
		c.storage = Secrets
	case Secrets, ConfigMaps, Memory, SQL:
	default:
		return nil, fmt.Errorf("%w: Config.Storage: %q is not known", helmclient.ErrInvalid, cfg.Storage)
	}
	if c.namespace == "" {
		c.namespace = "default"
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	var err error
	if c.dir, err = filepath.Abs(cfg.Dir); err != nil {
		return nil, fmt.Errorf("%w: Config.Dir: %w", helmclient.ErrInvalid, err)
	}
	return c, c.connect(cfg.Cluster)
}

// connect makes what reaches the API server, once: a transport per call would keep connections of its own.
func (c *Client) connect(cluster *rest.Config) error {
	c.cluster = rest.CopyConfig(cluster)
	if c.cluster.QPS == 0 {
		c.cluster.QPS = queriesPerSecond
	}
	if c.cluster.Burst == 0 {
		c.cluster.Burst = queryBurst
	}
	url, _, err := rest.DefaultServerUrlFor(c.cluster)
	if err != nil {
		return fmt.Errorf("%w: Config.Cluster: %w", helmclient.ErrInvalid, err)
	}
	url.User = nil
	c.host = url.String()
	if c.transport, err = rest.TransportFor(c.cluster); err != nil {
		return fmt.Errorf("%w: Config.Cluster: %w", helmclient.ErrInvalid, err)
	}
	return nil
}

// file is a path below Dir; its directory is made.
func (c *Client) file(elements ...string) (string, error) {
	path := filepath.Join(append([]string{c.dir}, elements...)...)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", fmt.Errorf("helm: directory of repositories: %w", err)
	}
	return path, nil
}

// name checks a name and gives it the namespace of the client when it has none.
func (c *Client) name(n helmclient.Name) (helmclient.Name, error) {
	if err := n.Validate(); err != nil {
		return n, err
	}
	if n.Namespace == "" {
		n.Namespace = c.namespace
	}
	return n, nil
}

// take makes the caller the only one of this client that works on a release.
func (c *Client) take(n helmclient.Name) (release func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy[n.String()] {
		return nil, fmt.Errorf("%w: %s", helmclient.ErrBusy, n)
	}
	c.busy[n.String()] = true
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.busy, n.String())
	}, nil
}

// defaultTimeout is Helm's own.
const defaultTimeout = 5 * time.Minute

func timeout(w helmclient.Wait) time.Duration {
	if w.Timeout > 0 {
		return w.Timeout
	}
	return defaultTimeout
}
