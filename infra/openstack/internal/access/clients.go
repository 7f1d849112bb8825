package access

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// Errors of this package. They name the endpoint, never credentials.
var (
	// ErrAuth: Keystone refuses the credentials; trying again does not help.
	ErrAuth = errors.New("authentication failed")
	// ErrEndpoint: the catalog lacks the service in that region, at that interface.
	ErrEndpoint = errors.New("no such endpoint in the catalog")
)

// Clients are the services that the driver uses, for one identity.
type Clients struct {
	Heat, Nova, Neutron *gophercloud.ServiceClient
}

// Config of a Cache.
type Config struct {
	// Transport carries the requests in the place of one made from the VIM's TLS attributes.
	Transport http.RoundTripper
}

// Cache keeps clients by identity, so that tokens are asked for once and renewed once. It is safe for
// concurrent use.
type Cache struct {
	config Config

	mu      sync.Mutex
	entries map[[sha256.Size]byte]*entry
}

// entry is an identity that is logged in, or is being so.
type entry struct {
	mu      sync.Mutex // held while logging in
	clients *Clients
	used    time.Time
}

// maxEntries is how many identities are kept; the one that was not used for longest goes first.
const maxEntries = 64

// New returns an empty cache.
func New(config Config) *Cache {
	return &Cache{config: config, entries: map[[sha256.Size]byte]*entry{}}
}

// Clients returns the clients for a VIM, logging in if that has not been done. A failure is not remembered.
func (c *Cache) Clients(ctx context.Context, vim vnflcm.VimConnectionInfo) (*Clients, error) {
	id, err := read(vim)
	if err != nil {
		return nil, err
	}
	e := c.entry(id)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.clients == nil {
		e.clients, err = c.login(ctx, id)
	}
	return e.clients, err
}

func (c *Cache) entry(id *identity) *entry {
	key := id.key()
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[key]
	if e == nil {
		e = &entry{}
		c.entries[key] = e
	}
	e.used = time.Now()
	for len(c.entries) > maxEntries {
		oldest := key
		for k, other := range c.entries {
			if other.used.Before(c.entries[oldest].used) {
				oldest = k
			}
		}
		delete(c.entries, oldest)
	}
	return e
}

// key tells identities apart without holding their secrets.
func (id *identity) key() [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%q", []string{id.authURL, id.region, id.iface, id.username, id.userID, id.userDomain, id.userDomainID,
		id.password.Reveal(), id.token.Reveal(), id.credentialID, id.credentialName, id.credentialSecret.Reveal(),
		id.project, id.projectID, id.projectDomain, id.projectDomainID, id.ca, fmt.Sprint(id.insecure)}))
}

// login authenticates and finds the services.
func (c *Cache) login(ctx context.Context, id *identity) (*Clients, error) {
	provider, err := openstack.NewClient(id.keystone())
	if err != nil {
		return nil, err
	}
	provider.HTTPClient = http.Client{Transport: c.transport(id), CheckRedirect: sameHost}
	provider.UserAgent.Prepend("vnfkit")
	// Overload passes. Where a request may be repeated without harm, so does a connection that was cut; others
	// are for the driver, which looks first whether they took effect.
	provider.MaxBackoffRetries = maxRetries
	provider.RetryBackoffFunc = backOff
	provider.RetryFunc = repeat
	if err := openstack.Authenticate(ctx, provider, id.options()); err != nil {
		return nil, id.explained(err)
	}
	return id.services(provider)
}

// keystone is the URL of version 3 of the identity API, which Tacker's users leave out at times.
func (id *identity) keystone() string {
	base := strings.TrimSuffix(id.authURL, "/")
	if !strings.HasSuffix(base, "/v3") {
		base += "/v3"
	}
	return base + "/"
}

func (id *identity) options() gophercloud.AuthOptions {
	o := gophercloud.AuthOptions{IdentityEndpoint: id.keystone(), AllowReauth: true}
	scope := &gophercloud.AuthScope{ProjectID: id.projectID}
	if id.projectID == "" {
		scope.ProjectName, scope.DomainID = id.project, id.projectDomainID
		if id.projectDomainID == "" {
			scope.DomainName = cmp.Or(id.projectDomain, id.userDomain, defaultDomain)
		}
	}
	switch {
	case id.credentialID != "":
		o.ApplicationCredentialID, o.ApplicationCredentialSecret = id.credentialID, id.credentialSecret.Reveal()
		return o // it is bound to its project
	case id.credentialName != "":
		o.ApplicationCredentialName, o.ApplicationCredentialSecret = id.credentialName, id.credentialSecret.Reveal()
	case !id.token.IsZero():
		o.TokenID, o.AllowReauth = id.token.Reveal(), false
		if id.project != "" || id.projectID != "" {
			o.Scope = scope
		}
		return o
	default:
		o.Password, o.Scope = id.password.Reveal(), scope
	}
	o.UserID = id.userID
	if id.userID == "" {
		o.Username, o.DomainID = id.username, id.userDomainID
		if id.userDomainID == "" {
			o.DomainName = cmp.Or(id.userDomain, defaultDomain)
		}
	}
	return o
}

func (id *identity) services(provider *gophercloud.ProviderClient) (*Clients, error) {
	at := gophercloud.EndpointOpts{Region: id.region, Availability: gophercloud.Availability(id.iface)}
	var out Clients
	var errs []error
	for _, s := range []struct {
		name string
		make func(*gophercloud.ProviderClient, gophercloud.EndpointOpts) (*gophercloud.ServiceClient, error)
		into **gophercloud.ServiceClient
	}{{"orchestration", openstack.NewOrchestrationV1, &out.Heat}, {"compute", openstack.NewComputeV2, &out.Nova}, {"network", openstack.NewNetworkV2, &out.Neutron}} {
		client, err := s.make(provider, at)
		if err != nil {
			errs = append(errs, fmt.Errorf("%w: %s, region %q, interface %s, at %s", ErrEndpoint, s.name, id.region, id.iface, id.authURL))
			continue
		}
		*s.into = client
	}
	return &out, errors.Join(errs...)
}

// explained keeps what Keystone answered out of the error: it can quote the request.
func (id *identity) explained(err error) error {
	var answer gophercloud.ErrUnexpectedResponseCode
	switch {
	case gophercloud.ResponseCodeIs(err, http.StatusUnauthorized) || gophercloud.ResponseCodeIs(err, http.StatusForbidden):
		return fmt.Errorf("%w at %s: user, password, project or domain is wrong", ErrAuth, id.authURL)
	case errors.As(err, &answer):
		return &statusError{url: id.authURL, code: answer.Actual, err: err}
	}
	var network *url.Error
	if errors.As(err, &network) {
		return fmt.Errorf("log in at %s: %w", id.authURL, network)
	}
	return fmt.Errorf("log in at %s: %w", id.authURL, err)
}

// statusError shows the code of an answer and not its body.
type statusError struct {
	url  string
	code int
	err  error
}

func (e *statusError) Error() string { return fmt.Sprintf("log in at %s: HTTP %d", e.url, e.code) }
func (e *statusError) Unwrap() error { return e.err }

// transport is the caller's, or one that knows the VIM's certificate authority. A server that says nothing
// ends a request.
func (c *Cache) transport(id *identity) http.RoundTripper {
	if c.config.Transport != nil {
		return c.config.Transport
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.ResponseHeaderTimeout = time.Minute
	t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: id.insecure} //nolint:gosec // only when the VIM's entry says so
	if id.ca != "" {
		t.TLSClientConfig.RootCAs = x509.NewCertPool()
		t.TLSClientConfig.RootCAs.AppendCertsFromPEM([]byte(id.ca))
	}
	return t
}

// sameHost keeps tokens from being sent elsewhere: Heat redirects from a stack's name to its id.
func sameHost(req *http.Request, via []*http.Request) error {
	if len(via) > 5 || req.URL.Host != via[0].URL.Host || req.URL.Scheme != via[0].URL.Scheme {
		return fmt.Errorf("refused to follow a redirect to %s", req.URL.Host)
	}
	return nil
}
