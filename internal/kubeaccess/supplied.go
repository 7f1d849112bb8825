package kubeaccess

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"

	"github.com/vnfkit/vnfkit/internal/jumphost"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
)

// supply is how the program reaches a cluster.
type supply struct {
	config   *rest.Config
	endpoint *url.URL
	via      *sshexec.Target
}

// supplied asks the program, nil if the cluster is reached as the VIM says. A rest.Config that would give credentials away, or pass
// by the jump host of the VIM, is ErrProgramming.
func supplied(ctx context.Context, vim vnflcm.VimConnectionInfo, o Options) (*supply, error) {
	if o.Cluster == nil {
		return nil, nil
	}
	given, err := o.Cluster(ctx, vim)
	if err != nil {
		return nil, fmt.Errorf("kubernetes: the program's Cluster function failed: %w", err)
	}
	if given == nil {
		return nil, nil
	}
	via, _, err := jumphost.Target(vim, o.HostKeys)
	if err != nil {
		return nil, err
	}
	endpoint, _, err := rest.DefaultServerUrlFor(given)
	switch {
	case err != nil:
	case endpoint.User != nil:
		err = errors.New("its Host holds credentials")
	case endpoint.Scheme == "http" && !loopback(endpoint.Hostname()):
		err = errors.New("its Host would be sent the credentials in the clear: use https (http only to a loopback address)")
	case via != nil && (given.Dial != nil || given.Proxy != nil || given.Transport != nil):
		err = errors.New("it leads another way than the jump host of the VIM: leave out Dial, Proxy and Transport, or the jump host")
	}
	if err != nil {
		return nil, supplyError(err)
	}
	return &supply{config: rest.CopyConfig(given), endpoint: endpoint, via: via}, nil
}

func supplyError(err error) error {
	return fmt.Errorf("%w: the rest.Config of the program: %w", vnflcm.ErrProgramming, err)
}

// warnings are about settings that work and are insecure.
func (s *supply) warnings() (out []string) {
	if s.config.Insecure {
		out = append(out, "the certificate of the cluster is not verified: the rest.Config of the program is Insecure, and any server that answers gets the credentials")
	}
	if s.endpoint.Scheme == "http" {
		out = append(out, notEncrypted)
	}
	return out
}

// cluster puts the guards below the transport that adds the credentials: the guards see the destination of each
// request.
func (s *supply) cluster(o Options) (*Cluster, error) {
	dial := s.config.Dial
	if dial == nil {
		dial = o.Dial
	}
	l, err := newLine(s.via, o, dial, outbound.AllowAny) // the address is the program's
	if err != nil {
		return nil, err
	}
	s.config.Dial = l.dial
	s.config.UserAgent = cmp.Or(s.config.UserAgent, userAgent)
	how, err := s.config.TransportConfig()
	if err != nil {
		return nil, supplyError(err)
	}
	c := clusterAt(s.endpoint, l, o)
	base, err := s.base(c, how)
	if err != nil {
		return nil, supplyError(err)
	}
	withCredentials, err := transport.HTTPWrappersForConfig(how, c.guard(s.endpoint, base))
	if err != nil {
		return nil, supplyError(err)
	}
	return c, c.open(&rest.Config{Host: s.endpoint.String(), Transport: sorted{withCredentials, c.Connection}, UserAgent: s.config.UserAgent, Timeout: s.config.Timeout})
}

// base makes the connections: the Transport of the program, or one of our own.
func (s *supply) base(c *Cluster, how *transport.Config) (http.RoundTripper, error) {
	if how.Transport != nil {
		if how.HasCA() || how.HasCertAuth() || how.HasCertCallback() || how.TLS.Insecure { // as client-go does
			return nil, errors.New("TLS and exec belong into its Transport, as it has one")
		}
		return how.Transport, nil
	}
	config, err := transport.TLSConfigFor(how)
	if err != nil {
		return nil, err
	}
	if config == nil {
		config = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	c.base = newTransport(c.line, config)
	c.base.DialContext = how.DialHolder.Dial // that of the line, which a plugin may have wrapped
	c.base.DisableCompression = how.DisableCompression
	if how.Proxy != nil {
		c.base.Proxy = how.Proxy
	}
	return c.base, nil
}

// sorted sorts what fails above the guards, such as a plugin that gives no credentials.
type sorted struct {
	http.RoundTripper
	connection *Connection
}

// RoundTrip implements http.RoundTripper.
func (s sorted) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := s.RoundTripper.RoundTrip(request)
	if err != nil {
		return nil, s.connection.broken(err)
	}
	return answer, nil
}
