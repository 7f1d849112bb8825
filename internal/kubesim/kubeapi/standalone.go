package kubeapi

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// Standalone is a cluster whose API server and nodes are on no machines: only its API can be used. Its nodes are
// ready.
type Standalone struct {
	mu sync.Mutex
	c  *Cluster
}

// StandaloneOptions describe one.
type StandaloneOptions struct {
	Nodes []string      // names
	Delay time.Duration // how long pods take to start, to end by themselves and to stop; default no time
}

// NewStandalone makes a cluster without machines.
func NewStandalone(o StandaloneOptions) (*Standalone, error) {
	c, err := New(Options{Endpoint: "127.0.0.1:6443", PodCIDR: "10.244.0.0/16"}, time.Now())
	if err != nil {
		return nil, err
	}
	s := &Standalone{c: c}
	c.delay, c.Host = o.Delay, own{s}
	address := netip.MustParseAddr("192.0.2.10")
	for _, name := range o.Nodes {
		c.Nodes[name] = &Node{Name: name, Address: address}
		address = address.Next()
	}
	return s, nil
}

// CA is the certificate that signs those of the API server, as PEM.
func (s *Standalone) CA() string { return s.c.CA }

// Certificate makes one for an API server at that address.
func (s *Standalone) Certificate(address net.IP) (tls.Certificate, error) {
	cert, key, err := s.c.issue(&x509.Certificate{Subject: pkix.Name{CommonName: "kube-apiserver"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{address}, DNSNames: []string{"localhost", "kubernetes.default.svc"}}, time.Now())
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair([]byte(cert), []byte(key))
}

// ClientCertificate makes one of an administrator, as PEM.
func (s *Standalone) ClientCertificate(name string) (cert, key string, err error) {
	return s.c.issue(&x509.Certificate{Subject: pkix.Name{CommonName: name, Organization: []string{Administrators}}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}, time.Now())
}

// ClientCAs verify the certificates of clients.
func (s *Standalone) ClientCAs() *x509.CertPool { return s.c.ClientCAs() }

// Token makes a bearer token of an administrator: a service account with the cluster role cluster-admin.
func (s *Standalone) Token(account string, expires time.Time) (string, error) {
	token := "issued-" + rand.Text()
	var err error
	s.locked(func() {
		if err = s.c.Store(accountKind, Object{"metadata": Object{"name": account, "namespace": "kube-system"}}); err != nil {
			return
		}
		err = s.c.Store(Kind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRoleBinding"}, Object{"metadata": Object{"name": account},
			"roleRef":  Object{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
			"subjects": []any{Object{"kind": "ServiceAccount", "namespace": "kube-system", "name": account}}})
		s.c.Issued[token] = issued{userOf("kube-system", account), expires}
	})
	return token, err
}

// Expire ends a token before its time.
func (s *Standalone) Expire(token string) {
	s.locked(func() { delete(s.c.Issued, token) })
}

// SetNodeDown makes a node stop answering, or answer again.
func (s *Standalone) SetNodeDown(name string, down bool) {
	s.locked(func() {
		if n := s.c.Nodes[name]; n != nil {
			n.Down = down
		}
	})
}

func (s *Standalone) locked(fn func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fn()
}

// ServeHTTP is the API server.
func (s *Standalone) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	s.c.Serve(rw, r, func() bool { return true })
}

// own is the Host of a Standalone: its etcd and kubelets always run, and pods end with their Pods.
type own struct{ s *Standalone }

func (o own) Locked(fn func()) { o.s.locked(fn) }
func (o own) Changed()         {}
func (o own) Now() time.Time   { return time.Now() }
func (o own) Quorate() bool    { return true }

func (o own) Kubelet(n *Node) (runs, ready bool) { return true, !n.Down }
func (o own) RunPod(*Node, string, string)       {}
func (o own) EndPods(func(string) string)        {}
