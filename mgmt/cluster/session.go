package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"time"

	"github.com/vnfkit/vnfkit/internal/kubeaccess"
)

const (
	// adminConfig is the credentials that kubeadm leaves on control-plane nodes, for root.
	adminConfig = "/etc/kubernetes/admin.conf"
	// apiServer is where the API server of a control-plane node is, seen from there: it listens at all addresses.
	apiServer = "127.0.0.1:6443"
	// serverName is in the certificate of every API server that kubeadm has made.
	serverName = "kubernetes"

	requestTimeout = 30 * time.Second
)

// session is a connection to the API server on one control-plane node.
type session struct {
	*kubeaccess.Connection

	controlPlaneNode int    // which of the cluster's
	ca               []byte // PEM
	tls              *tls.Config
	dial             func(ctx context.Context, network, addr string) (net.Conn, error)
}

// connect reads the credentials on the node, and asks its API server whether it is ready.
func connect(ctx context.Context, n ControlPlaneNode) (*session, error) {
	ctx, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	admin, err := n.ReadRoot(ctx, adminConfig)
	if err != nil {
		return nil, err
	}
	s := &session{dial: n.DialContext}
	if s.tls, s.ca, err = credentials(admin); err != nil {
		return nil, err
	}
	s.Connection, err = kubeaccess.Connect(kubeaccess.Server{Endpoint: "https://" + apiServer, TLS: s.tls, Dial: s.dial, Timeout: requestTimeout})
	if err != nil {
		return nil, err
	}
	if err := s.ready(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// ready returns an error unless the API server is ready.
func (s *session) ready(ctx context.Context) error {
	_, err := s.Get(ctx, "/readyz")
	return err
}

// credentials reads certificates from a kubeconfig. No error quotes the file, because the file has a key.
func credentials(admin []byte) (config *tls.Config, ca []byte, err error) {
	k, ok := kubeaccess.ReadNodeConfig(admin)
	if !ok {
		return nil, nil, errors.New("cluster: " + adminConfig + " is no kubeconfig with one cluster and one user")
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(k.CA) {
		return nil, nil, errors.New("cluster: " + adminConfig + " has no CA certificate")
	}
	pair, err := tls.X509KeyPair(k.Certificate, k.Key)
	if err != nil {
		return nil, nil, errors.New("cluster: " + adminConfig + " has no client certificate with its key")
	}
	return &tls.Config{RootCAs: roots, ServerName: serverName, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, k.CA, nil
}

// CheckName reports whether a client that connects to the cluster by that host name or address can verify who
// answers: the certificate of the API server must name it (x509.HostnameError otherwise).
func (c *Cluster[R]) CheckName(ctx context.Context, host string) error {
	return c.on(ctx, func(ctx context.Context, s *session) error {
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		conn, err := s.dial(ctx, "tcp", apiServer) // a new connection: the API server reads a renewed certificate while it runs
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }()
		secure := tls.Client(conn, s.tls)
		if err := secure.HandshakeContext(ctx); err != nil {
			return err
		}
		return secure.ConnectionState().PeerCertificates[0].VerifyHostname(host)
	})
}
