package etcd

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"net"
	"net/netip"
	"time"

	"github.com/vnfkit/vnfkit/internal/kubesim/pki"
)

// Dir is where kubeadm keeps what etcd's members and their clients are known by.
const Dir = "/etc/kubernetes/pki/etcd/"

// Files makes the files of a control-plane node (kubeadm, phases/certs): the certificate of its member is for
// its own address only.
func Files(ca pki.Pair, name string, addr netip.Addr, now, until time.Time) (map[string]string, error) {
	both := []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	server, err1 := pki.Issue(&ca, &x509.Certificate{Subject: pkix.Name{CommonName: name}, ExtKeyUsage: both, KeyUsage: x509.KeyUsageDigitalSignature,
		DNSNames: []string{"localhost", name}, IPAddresses: []net.IP{addr.AsSlice(), net.IPv4(127, 0, 0, 1), net.IPv6loopback}, NotAfter: until}, now)
	peer, err3 := pki.Issue(&ca, &x509.Certificate{Subject: pkix.Name{CommonName: name}, ExtKeyUsage: both, KeyUsage: x509.KeyUsageDigitalSignature,
		DNSNames: []string{"localhost", name}, IPAddresses: []net.IP{addr.AsSlice()}, NotAfter: until}, now)
	client, err2 := pki.Issue(&ca, &x509.Certificate{Subject: pkix.Name{CommonName: "kube-etcd-healthcheck-client"},
		ExtKeyUsage: both[1:], KeyUsage: x509.KeyUsageDigitalSignature, NotAfter: until}, now)
	api, err4 := pki.Issue(&ca, &x509.Certificate{Subject: pkix.Name{CommonName: "kube-apiserver-etcd-client"},
		ExtKeyUsage: both[1:], KeyUsage: x509.KeyUsageDigitalSignature, NotAfter: until}, now)
	return map[string]string{
		Dir + "ca.crt": ca.Cert, Dir + "ca.key": ca.Key,
		Dir + "server.crt": server.Cert, Dir + "server.key": server.Key,
		Dir + "healthcheck-client.crt": client.Cert, Dir + "healthcheck-client.key": client.Key,
		"/etc/kubernetes/pki/apiserver-etcd-client.crt": api.Cert, "/etc/kubernetes/pki/apiserver-etcd-client.key": api.Key,
		Dir + "peer.crt": peer.Cert, Dir + "peer.key": peer.Key,
	}, errors.Join(err1, err2, err3, err4)
}
