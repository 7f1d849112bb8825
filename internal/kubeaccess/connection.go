package kubeaccess

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/vnfkit/vnfkit/vnflcm/outbound"
)

const userAgent = "vnfkit"

// requestTimeout is how long one answer may take: a webhook alone may take 30 s.
const requestTimeout = 90 * time.Second

// Connection is a connection to a Kubernetes API, which verifies the server and bounds its answers. It is safe for concurrent use.
type Connection struct {
	// Config is for other clients, Helm for one. They share the connections, which Close ends.
	Config *rest.Config
	// Dynamic does not wait by itself when the server says later: see Cluster.Do.
	Dynamic dynamic.Interface

	endpoint string // scheme and host, for errors
	http     *http.Client
	base     *http.Transport // nil if the program has given one
	line     *line
	mu       sync.Mutex
	kinds    map[schema.GroupVersion][]metav1.APIResource
}

// Server is an API server that no vimConnectionInfo describes. Its address is trusted.
type Server struct {
	Endpoint string // https URL
	TLS      *tls.Config
	Dial     dialFunc      // such as through an SSH connection; nil: directly
	Timeout  time.Duration // of one request; default 90 s
}

// Connect returns a connection to an API server. It does not connect before the first request. The caller calls Close.
func Connect(s Server) (*Connection, error) {
	endpoint, err := url.Parse(s.Endpoint)
	if err != nil {
		return nil, err
	}
	l, err := newLine(nil, Options{}, s.Dial, outbound.AllowAny)
	if err != nil {
		return nil, err
	}
	c := newConnection(endpoint, l)
	c.base = newTransport(l, s.TLS)
	return c, c.open(&rest.Config{Host: endpoint.String(), Transport: c.guard(endpoint, c.base), UserAgent: userAgent, Timeout: s.Timeout})
}

// newConnection returns a connection without clients.
func newConnection(endpoint *url.URL, l *line) *Connection {
	return &Connection{endpoint: endpoint.Scheme + "://" + endpoint.Host, line: l, kinds: map[schema.GroupVersion][]metav1.APIResource{}}
}

// open makes the clients. The Transport of config is guarded.
func (c *Connection) open(config *rest.Config) (err error) {
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{}
	// Typed clients prefer protobuf otherwise, which neither the sandbox nor all proxies and aggregated APIs support.
	config.ContentConfig = rest.ContentConfig{ContentType: runtime.ContentTypeJSON}
	c.Config = config
	own := rest.CopyConfig(config)
	own.Transport, own.Timeout = patient{config.Transport, c}, requestTimeout
	if config.Timeout > 0 {
		own.Timeout = min(config.Timeout, requestTimeout)
	}
	if c.http, err = rest.HTTPClientFor(own); err != nil {
		return err
	}
	c.Dynamic, err = dynamic.NewForConfigAndClient(own, c.http)
	return err
}

// Close ends all connections, also those of clients that were made with Config.
func (c *Connection) Close() {
	if c.base != nil {
		c.base.CloseIdleConnections()
	}
	c.line.close()
}

// Get reads a path that is no object. An answer that is no success is an apierrors.StatusError.
func (c *Connection) Get(ctx context.Context, path string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(c.Config.Host, "/")+path, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json, */*")
	answer, err := c.http.Do(request)
	if err != nil {
		return nil, c.broken(err)
	}
	body, err := io.ReadAll(answer.Body)
	switch err = errors.Join(err, answer.Body.Close()); {
	case answer.StatusCode != http.StatusOK:
		return nil, apierrors.NewGenericServerResponse(answer.StatusCode, http.MethodGet, schema.GroupResource{Resource: path}, "", http.StatusText(answer.StatusCode), 0, true)
	case err != nil:
		return nil, c.broken(err)
	}
	return body, nil
}
