package etcd

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
)

// The files of kubeadm on each control-plane node, readable for root only: the CA of etcd, and a client certificate with
// all rights (kubeadm, cmd/kubeadm/app/constants).
const (
	CAFile   = "/etc/kubernetes/pki/etcd/ca.crt"
	CertFile = "/etc/kubernetes/pki/etcd/healthcheck-client.crt"
	KeyFile  = "/etc/kubernetes/pki/etcd/healthcheck-client.key"
)

// TLS returns a client configuration from the contents of CAFile, CertFile and KeyFile. Members must have a certificate of
// this CA for the host of their client URL.
func TLS(ca, cert, key []byte) (*tls.Config, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, errors.New("etcd: no certificate of a CA in " + CAFile)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("etcd: client certificate: %w", err)
	}
	return &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}
