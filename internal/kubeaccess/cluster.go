package kubeaccess

import (
	"cmp"
	"context"
	"log/slog"
	"net/url"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
)

// openPatience is how long Open tries to reach the cluster.
const openPatience = 20 * time.Second

// defaultPatience is the default of Options.Patience.
const defaultPatience = 10 * time.Minute

// Options of Open.
type Options struct {
	SSH      *sshexec.Pool        // required when the VIM has a jump host
	HostKeys sshexec.HostKeyStore // keeps the key of a jump host that has no host_key: hostkeys.Of
	Log      *slog.Logger         // for warnings; nil: none
	// Dial makes the connections of VIMs without a jump host. Nil: directly, or by the proxies of the environment.
	Dial dialFunc
	// Allow judges the addresses of VIMs that are not the operator's (FromOperator). Nil: outbound.RefuseLocal.
	Allow outbound.Policy
	// Cluster is how the program reaches the cluster. Nil, or a nil result: as the VIM says.
	Cluster ClusterFunc
	// Patience is how long a request is repeated whose context has no deadline. Default 10 minutes.
	Patience time.Duration
	// Waiting is called, also concurrently, with each new reason why a request is repeated, or an object is waited for. Nil:
	// not reported.
	Waiting func(ctx context.Context, reason error)
}

// ClusterFunc returns how a program reaches the cluster that a VIM is, nil if as the VIM says.
type ClusterFunc = func(ctx context.Context, vim vnflcm.VimConnectionInfo) (*rest.Config, error)

// Cluster is a Kubernetes cluster that is reached. It is safe for concurrent use.
type Cluster struct {
	*Connection

	// DefaultNamespace is the namespace that the VIM states for objects without one; "default" if it states none.
	DefaultNamespace string

	patience time.Duration
	waiting  func(ctx context.Context, reason error)
}

// Open reaches the cluster and makes sure that it takes the credentials. It fails with the faults of Check, ErrAuth,
// ErrUnreachable (after 20 s, or when ctx ends) or ErrTLS. The caller calls Close.
func Open(ctx context.Context, vim vnflcm.VimConnectionInfo, o Options) (*Cluster, error) {
	c, err := newCluster(ctx, vim, o)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, openPatience, Overdue(openPatience))
	defer cancel()
	// Only who is known may ask for this, unlike /version.
	if err := c.Do(ctx, c.identify); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// identify fails unless a Kubernetes API answers: errors of later requests quote its answers.
func (c *Cluster) identify(ctx context.Context) error {
	var versions metav1.APIVersions
	err := c.decode(ctx, "/api", &versions)
	if err == nil && versions.Kind != "APIVersions" {
		err = &Error{Endpoint: c.endpoint, Message: "/api is not an answer of a Kubernetes API", kind: ErrUnreachable}
	}
	return err
}

// newCluster does not connect.
func newCluster(ctx context.Context, vim vnflcm.VimConnectionInfo, o Options) (*Cluster, error) {
	log := cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	s, err := supplied(ctx, vim, o)
	if err != nil {
		return nil, err
	}
	if s != nil {
		for _, text := range s.warnings() {
			log.WarnContext(ctx, text, "endpoint", s.endpoint.Host)
		}
		return s.cluster(o)
	}
	id, err := read(vim, o.HostKeys)
	if err != nil {
		return nil, err
	}
	for _, name := range id.unknown {
		log.WarnContext(ctx, "unknown attribute has no effect", "attribute", name)
	}
	for _, text := range id.warnings() {
		log.WarnContext(ctx, text, "endpoint", id.Endpoint.Host)
	}
	return id.cluster(o)
}

func (id *identity) cluster(o Options) (*Cluster, error) {
	allow := o.Allow
	if id.FromOperator {
		allow = outbound.AllowAny
	}
	l, err := newLine(id.Via, o, o.Dial, allow)
	if err != nil {
		return nil, err
	}
	c := clusterAt(id.Endpoint, l, o)
	c.DefaultNamespace = cmp.Or(id.Namespace, metav1.NamespaceDefault)
	c.base = newTransport(l, id.tlsConfig())
	return c, c.open(&rest.Config{
		Host: id.Endpoint.String(), BearerToken: id.Token, Username: id.Username, Password: id.Password,
		Transport: c.guard(id.Endpoint, c.base), UserAgent: userAgent,
	})
}

// clusterAt is a cluster that is not connected yet.
func clusterAt(endpoint *url.URL, l *line, o Options) *Cluster {
	return &Cluster{Connection: newConnection(endpoint, l), DefaultNamespace: metav1.NamespaceDefault, patience: cmp.Or(o.Patience, defaultPatience), waiting: o.Waiting}
}
