package kubesim

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/netip"
	"time"
)

// keyPair is a certificate and its key, PEM.
type keyPair struct {
	Cert string `json:"cert"`
	Key  string `json:"key"`
}

// issue signs a certificate; by itself without an issuer.
func issue(issuer *keyPair, template *x509.Certificate, now time.Time) (keyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return keyPair{}, err
	}
	serial := make([]byte, 8)
	_, _ = rand.Read(serial)
	template.SerialNumber = new(big.Int).SetBytes(serial)
	template.NotBefore, template.NotAfter = now.Add(-time.Hour), now.AddDate(10, 0, 0)
	parent, signer := template, any(key)
	if issuer != nil {
		pair, err := tls.X509KeyPair([]byte(issuer.Cert), []byte(issuer.Key))
		if err != nil {
			return keyPair{}, err
		}
		if pair.Leaf == nil {
			return keyPair{}, errors.New("the CA's certificate cannot be read")
		}
		parent, signer = pair.Leaf, pair.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return keyPair{}, err
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return keyPair{}, err
	}
	return keyPair{
		Cert: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		Key:  string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret})),
	}, nil
}

// newCA makes a real certificate authority: callers compute the hash of its key, and verify its signatures.
func newCA(name string, now time.Time) (keyPair, error) {
	return issue(nil, &x509.Certificate{Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}, now)
}

// etcdDir is where kubeadm keeps what etcd's members and their clients are known by.
const etcdDir = "/etc/kubernetes/pki/etcd/"

// etcdFiles makes the files of a control-plane node (kubeadm, phases/certs): the certificate of its member is for
// its own address only.
func etcdFiles(ca keyPair, name string, addr netip.Addr, now time.Time) (map[string]string, error) {
	both := []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	server, err1 := issue(&ca, &x509.Certificate{Subject: pkix.Name{CommonName: name}, ExtKeyUsage: both, KeyUsage: x509.KeyUsageDigitalSignature,
		DNSNames: []string{"localhost", name}, IPAddresses: []net.IP{addr.AsSlice(), net.IPv4(127, 0, 0, 1), net.IPv6loopback}}, now)
	client, err2 := issue(&ca, &x509.Certificate{Subject: pkix.Name{CommonName: "kube-etcd-healthcheck-client"},
		ExtKeyUsage: both[1:], KeyUsage: x509.KeyUsageDigitalSignature}, now)
	return map[string]string{
		etcdDir + "ca.crt": ca.Cert, etcdDir + "ca.key": ca.Key,
		etcdDir + "server.crt": server.Cert, etcdDir + "server.key": server.Key,
		etcdDir + "healthcheck-client.crt": client.Cert, etcdDir + "healthcheck-client.key": client.Key,
	}, errors.Join(err1, err2)
}
