package inprocess

import (
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/vnfkit/vnfkit/helmclient"
)

// Config are the common settings of the packages that link Helm. Those packages document them.
type Config struct {
	Cluster   *rest.Config
	Dir       string
	Namespace string
	Transport *http.Transport
	Log       *slog.Logger
}

// Client implements helmclient.Client.
type Client struct {
	helm      Version
	dir       string
	namespace string
	log       *slog.Logger
	host      string // URL of the API server
	cluster   *rest.Config
	transport http.RoundTripper // with TLS and credentials; its connections are shared by all calls
	charts    *http.Transport   // is cloned for requests to repositories and registries

	mu   sync.Mutex
	busy map[string]bool // "namespace/release" that an operation works on
}

var _ helmclient.Client = (*Client)(nil)

// FieldManager is the field manager of fields that Helm sets. Because it is Helm's name, the helm program can take over
// releases of this package, and the reverse.
const FieldManager = "helm"

// Defaults of requests to the API server, if Cluster sets none. client-go's defaults are meant for controllers; with
// them a chart of a hundred objects takes minutes.
const (
	queriesPerSecond = 50
	queryBurst       = 100
)

// New makes a client. It does not connect to the cluster. A fault in cfg is a helmclient.ErrInvalid.
func New(cfg Config, helm Version) (*Client, error) {
	switch {
	case cfg.Cluster == nil:
		return nil, fmt.Errorf("%w: Config.Cluster: is missing", helmclient.ErrInvalid)
	case cfg.Dir == "":
		return nil, fmt.Errorf("%w: Config.Dir: is missing", helmclient.ErrInvalid)
	}
	c := &Client{helm: helm, namespace: cfg.Namespace, log: cfg.Log, charts: cfg.Transport, busy: map[string]bool{}}
	if c.charts == nil {
		c.charts = http.DefaultTransport.(*http.Transport) //nolint:forcetypeassert // the type of the variable in net/http
	}
	if c.namespace == "" {
		c.namespace = "default"
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	} else {
		kubernetesLog.Store(c.log)
	}
	var err error
	if c.dir, err = filepath.Abs(cfg.Dir); err != nil {
		return nil, fmt.Errorf("%w: Config.Dir: %w", helmclient.ErrInvalid, err)
	}
	return c, c.connect(cfg.Cluster)
}

// connect creates the transport to the API server, once: separate transports per call would each keep connections.
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

// name checks a name and fills in the namespace of the client if the name has none.
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

// Timeout returns the time limit of a wait, or the default.
func Timeout(w helmclient.Wait) time.Duration {
	if w.Timeout > 0 {
		return w.Timeout
	}
	return defaultTimeout
}
