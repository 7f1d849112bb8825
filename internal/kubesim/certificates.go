package kubesim

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"net"
	"net/netip"
	"time"

	"github.com/vnfkit/vnfkit/internal/kubesim/pki"
)

// etcdDir is where kubeadm keeps what etcd's members and their clients are known by.
const etcdDir = "/etc/kubernetes/pki/etcd/"

// etcdFiles makes the files of a control-plane node (kubeadm, phases/certs): the certificate of its member is for
// its own address only.
func etcdFiles(ca pki.Pair, name string, addr netip.Addr, now time.Time) (map[string]string, error) {
	both := []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	server, err1 := pki.Issue(&ca, &x509.Certificate{Subject: pkix.Name{CommonName: name}, ExtKeyUsage: both, KeyUsage: x509.KeyUsageDigitalSignature,
		DNSNames: []string{"localhost", name}, IPAddresses: []net.IP{addr.AsSlice(), net.IPv4(127, 0, 0, 1), net.IPv6loopback}}, now)
	client, err2 := pki.Issue(&ca, &x509.Certificate{Subject: pkix.Name{CommonName: "kube-etcd-healthcheck-client"},
		ExtKeyUsage: both[1:], KeyUsage: x509.KeyUsageDigitalSignature}, now)
	return map[string]string{
		etcdDir + "ca.crt": ca.Cert, etcdDir + "ca.key": ca.Key,
		etcdDir + "server.crt": server.Cert, etcdDir + "server.key": server.Key,
		etcdDir + "healthcheck-client.crt": client.Cert, etcdDir + "healthcheck-client.key": client.Key,
	}, errors.Join(err1, err2)
}
