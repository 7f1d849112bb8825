package kubeaccess

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

const userAgent = "vnfkit"

// requestTimeout is how long one answer may take: a webhook alone may take 30 s.
const requestTimeout = 90 * time.Second

// openPatience is how long Open tries to reach the cluster.
const openPatience = 20 * time.Second

var errPatience = fmt.Errorf("no success within %v", openPatience)

// Options of Open.
type Options struct {
	SSH      *sshexec.Pool        // required when the VIM has a jump host
	HostKeys sshexec.HostKeyStore // keeps the key of a jump host that has no host_key: hostkeys.Of
	Log      *slog.Logger         // for warnings; nil: none
	// Dial makes the connections of VIMs without a jump host. Nil: directly.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Cluster is a Kubernetes cluster that is reached. It is safe for concurrent use.
type Cluster struct {
	// Config is for other clients, Helm for one. They share the connections, which Close ends.
	Config *rest.Config
	// Dynamic does not wait by itself when the server says later: see Do.
	Dynamic dynamic.Interface
	// DefaultNamespace is what the VIM says for objects without one; "default" when it says nothing.
	DefaultNamespace string

	endpoint string // scheme and host, for errors
	http     *http.Client
	base     *http.Transport
	line     *line
	mu       sync.Mutex
	kinds    map[schema.GroupVersion][]metav1.APIResource
}

// Open reaches the cluster and makes sure that it takes the credentials. It fails with the faults of Check, ErrAuth,
// ErrUnreachable (after 20 s, or when ctx ends) or ErrTLS. The caller calls Close.
func Open(ctx context.Context, vim vnflcm.VimConnectionInfo, o Options) (*Cluster, error) {
	id, err := read(vim, o.HostKeys)
	if err != nil {
		return nil, err
	}
	log := cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	for _, name := range id.unknown {
		log.WarnContext(ctx, "attribute is not known and has no effect", "attribute", name)
	}
	for _, text := range id.warnings() {
		log.WarnContext(ctx, text, "endpoint", id.Endpoint.Host)
	}
	c, err := id.cluster(o)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, openPatience, errPatience)
	defer cancel()
	// Only who is known may ask for this, unlike /version.
	if err := c.Do(ctx, func(ctx context.Context) error { return c.get(ctx, "/api", &metav1.APIVersions{}) }); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (id *identity) cluster(o Options) (*Cluster, error) {
	l := &line{through: o.Dial, conns: map[*keptConn]bool{}}
	if id.Via != nil {
		if o.SSH == nil {
			return nil, errors.New("kubernetes: the VIM has a jump host, and the driver no SSH")
		}
		l.through = o.SSH.Host(*id.Via).DialContext
	}
	c := &Cluster{
		DefaultNamespace: cmp.Or(id.Namespace, metav1.NamespaceDefault), endpoint: id.Endpoint.Scheme + "://" + id.Endpoint.Host,
		base: id.transport(l), line: l, kinds: map[schema.GroupVersion][]metav1.APIResource{},
	}
	guard := guarded{c.base, c, id.Endpoint.Scheme, id.Endpoint.Host}
	c.Config = &rest.Config{
		Host: id.Endpoint.String(), BearerToken: id.Token, Username: id.Username, Password: id.Password,
		Transport: guard, QPS: -1, UserAgent: userAgent, WarningHandler: rest.NoWarnings{},
		// Typed clients prefer protobuf otherwise, which neither the sandbox nor all proxies and aggregated APIs know.
		ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeJSON},
	}
	own := rest.CopyConfig(c.Config)
	own.Transport, own.Timeout = patient{guard}, requestTimeout
	var err error
	if c.http, err = rest.HTTPClientFor(own); err != nil {
		return nil, err
	}
	c.Dynamic, err = dynamic.NewForConfigAndClient(own, c.http)
	return c, err
}

// Close ends all connections, also those of clients that were made of Config.
func (c *Cluster) Close() {
	c.base.CloseIdleConnections()
	c.line.close()
}
