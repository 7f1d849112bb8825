package kubesim

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"net/http"
	"net/netip"
	"time"
)

// Standalone is a cluster whose API server and nodes are on no machines: only its API can be used. Its nodes are
// ready.
type Standalone struct {
	w *World
	c *cluster
}

// StandaloneOptions describe one.
type StandaloneOptions struct {
	Nodes []string      // names
	Delay time.Duration // how long pods take to start, to end by themselves and to stop; default no time
}

// Standalone makes a cluster without machines.
func (w *World) Standalone(o StandaloneOptions) (*Standalone, error) {
	c, err := newCluster(&initOptions{token: newToken(), ttl: time.Hour, endpoint: "127.0.0.1:6443", podCIDR: "10.244.0.0/16"}, w.nowFunc())
	if err != nil {
		return nil, err
	}
	c.Standalone, c.delay = true, o.Delay
	address := netip.MustParseAddr("192.0.2.10")
	for _, name := range o.Nodes {
		c.Nodes[name] = &node{Name: name, Address: address}
		address = address.Next()
	}
	w.change(func() { w.state.Clusters[c.ID] = c })
	return &Standalone{w, c}, nil
}

// CA is the certificate that signs those of the API server, as PEM.
func (s *Standalone) CA() string { return s.c.CA }

// Certificate makes one for an API server at that address.
func (s *Standalone) Certificate(address net.IP) (tls.Certificate, error) {
	cert, key, err := s.c.issue(&x509.Certificate{Subject: pkix.Name{CommonName: "kube-apiserver"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{address}, DNSNames: []string{"localhost", "kubernetes.default.svc"}}, s.w.nowFunc())
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair([]byte(cert), []byte(key))
}

// ClientCertificate makes one of an administrator, as PEM.
func (s *Standalone) ClientCertificate(name string) (cert, key string, err error) {
	return s.c.issue(&x509.Certificate{Subject: pkix.Name{CommonName: name, Organization: []string{administrators}}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}, s.w.nowFunc())
}

// ClientCAs verify the certificates of clients.
func (s *Standalone) ClientCAs() *x509.CertPool { return s.c.pool() }

// Token makes a bearer token of an administrator: a service account with the cluster role cluster-admin.
func (s *Standalone) Token(account string, expires time.Time) (string, error) {
	token := "issued-" + randomHex(16)
	var err error
	s.w.change(func() {
		if err = s.c.store(accountKind, object{"metadata": object{"name": account, "namespace": "kube-system"}}); err != nil {
			return
		}
		err = s.c.store(apiKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRoleBinding"}, object{"metadata": object{"name": account},
			"roleRef":  object{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
			"subjects": []any{object{"kind": "ServiceAccount", "namespace": "kube-system", "name": account}}})
		s.c.Issued[token] = issued{userOf("kube-system", account), expires}
	})
	return token, err
}

// Expire ends a token before its time.
func (s *Standalone) Expire(token string) {
	s.w.change(func() { delete(s.c.Issued, token) })
}

// SetNodeDown makes a node stop answering, or answer again.
func (s *Standalone) SetNodeDown(name string, down bool) {
	s.w.change(func() {
		if n := s.c.Nodes[name]; n != nil {
			n.Down = down
		}
	})
}

// ServeHTTP is the API server.
func (s *Standalone) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	s.w.answer("", s.c.ID, rw, r)
}
