package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/vnfkit/vnfkit/internal/answerlimit"
)

const (
	// adminConfig is the credentials that kubeadm leaves on control-plane nodes, for root.
	adminConfig = "/etc/kubernetes/admin.conf"
	// apiServer is where the API server of a control-plane node is, seen from there: it listens at all addresses.
	apiServer = "127.0.0.1:6443"
	// serverName is in the certificate of every API server that kubeadm has made.
	serverName = "kubernetes"

	requestTimeout = 30 * time.Second
	parallel       = 8 // connections through one node
)

// session is a connection to the API server on one control-plane node.
type session struct {
	controlPlaneNode int    // which of the cluster's
	ca               []byte // PEM
	tls              *tls.Config
	dial             func(ctx context.Context) (net.Conn, error)
	http             *http.Client
	objects          dynamic.Interface

	mu    sync.Mutex
	conns []net.Conn
	ended bool
}

// kubeconfig has the supported fields of a kubeconfig (k8s.io/client-go/tools/clientcmd/api/v1). Other fields would
// make this process read files or run programs, which the author of the file must not be able to do.
type kubeconfig struct {
	Clusters []struct {
		Cluster struct {
			CA []byte `json:"certificate-authority-data"`
		} `json:"cluster"`
	} `json:"clusters"`
	Users []struct {
		User struct {
			Certificate []byte `json:"client-certificate-data"`
			Key         []byte `json:"client-key-data"`
		} `json:"user"`
	} `json:"users"`
}

// connect reads the credentials on the node, and asks its API server whether it is ready.
func connect(ctx context.Context, m Master) (*session, error) {
	ctx, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	data, err := m.ReadRoot(ctx, adminConfig)
	if err != nil {
		return nil, err
	}
	s, err := newSession(data, m.DialContext)
	if err != nil {
		return nil, err
	}
	if _, err := s.get(ctx, "/readyz"); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func newSession(admin []byte, dial func(ctx context.Context, network, addr string) (net.Conn, error)) (*session, error) {
	config, ca, err := credentials(admin)
	if err != nil {
		return nil, err
	}
	s := &session{ca: ca, tls: config}
	s.dial = func(ctx context.Context) (net.Conn, error) {
		conn, err := dial(ctx, "tcp", apiServer)
		return s.keep(conn, err)
	}
	s.http = &http.Client{
		Timeout: requestTimeout,
		Transport: guarded{&http.Transport{
			TLSClientConfig: config,
			MaxConnsPerHost: parallel, MaxIdleConnsPerHost: parallel,
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return s.dial(ctx) },
		}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	s.objects, err = dynamic.NewForConfigAndClient(&rest.Config{
		Host: "https://" + serverName, QPS: -1, UserAgent: "vnfkit", WarningHandler: rest.NoWarnings{},
	}, s.http)
	return s, err
}

// credentials never fails with an error that quotes the file: a key is in it.
func credentials(admin []byte) (config *tls.Config, ca []byte, err error) {
	var k kubeconfig
	if yaml.Unmarshal(admin, &k) != nil || len(k.Clusters) != 1 || len(k.Users) != 1 {
		return nil, nil, errors.New("cluster: " + adminConfig + " is no kubeconfig with one cluster and one user")
	}
	ca = k.Clusters[0].Cluster.CA
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, nil, errors.New("cluster: " + adminConfig + " has no CA certificate")
	}
	pair, err := tls.X509KeyPair(k.Users[0].User.Certificate, k.Users[0].User.Key)
	if err != nil {
		return nil, nil, errors.New("cluster: " + adminConfig + " has no client certificate with its key")
	}
	return &tls.Config{RootCAs: roots, ServerName: serverName, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, ca, nil
}

// keep notes a connection, to be closed at the end.
func (s *session) keep(conn net.Conn, err error) (net.Conn, error) {
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil, errors.Join(net.ErrClosed, conn.Close())
	}
	s.conns = append(s.conns, conn)
	return conn, nil
}

// close closes every connection, also those of cancelled requests. s may be nil.
func (s *session) close() {
	if s == nil {
		return
	}
	s.http.CloseIdleConnections()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for _, conn := range s.conns {
		_ = conn.Close() // all data has been sent
	}
}

// get reads a path that is no object.
func (s *session) get(ctx context.Context, path string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+serverName+path, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json, */*")
	answer, err := s.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = &answerError{path, answer.StatusCode}
	}
	return body, err
}

// CheckName reports whether a client that connects to the cluster by that host name or address can verify who
// answers: the certificate of the API server must name it (x509.HostnameError otherwise).
func (c *Cluster[R]) CheckName(ctx context.Context, host string) error {
	return c.on(ctx, func(ctx context.Context, s *session) error {
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		conn, err := s.dial(ctx)
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

// answerError is an answer that is no success.
type answerError struct {
	path string
	code int
}

func (e *answerError) Error() string {
	return fmt.Sprintf("cluster: the API server answers %s with %d %s", e.path, e.code, http.StatusText(e.code))
}

// guarded bounds answers, and has no client repeat a request in its own time (Retry-After): callers do.
type guarded struct{ *http.Transport }

func (g guarded) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := g.Transport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	answer.Header.Del("Retry-After")
	answerlimit.ApplyKubernetes(answer)
	return answer, nil
}
