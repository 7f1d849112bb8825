package registry

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// authority is the CA of an instance, which signs the certificates of its machines. It stays the same when they are
// healed, so that clients need not change their trust.
type authority struct {
	Certificate string        `json:"certificate"` // PEM
	Key         vnflcm.Secret `json:"key"`         // PEM, PKCS #8
}

const (
	authorityState = "registry/authority"
	// authorityLife is the validity of the CA and of the certificates: only a heal renews them.
	authorityLife = 10 * 365 * 24 * time.Hour
	// renewal is how long before its end a certificate is renewed.
	renewal = 90 * 24 * time.Hour
)

// authority returns the CA of the instance, and makes it when there is none. It is nil when no certificate is ours to
// make.
func (p *installParam) authority(ctx context.Context, op *vnflcm.Operation) (*authority, error) {
	if p.TLS == nil || p.TLS.CertificatePath != "" {
		return nil, nil
	}
	a := &authority{}
	err := op.State().Get(ctx, authorityState, a)
	if err == nil && a.usable() {
		return a, nil
	}
	if err != nil && !errors.Is(err, vnflcm.ErrNotFound) {
		return nil, err
	}
	if a, err = newAuthority("vnfkit registry " + op.InstanceID); err != nil {
		return nil, err
	}
	return a, op.State().Put(ctx, authorityState, a)
}

// usable reports whether the CA is good for more than the time of renewal.
func (a *authority) usable() bool {
	pair, err := tls.X509KeyPair([]byte(a.Certificate), []byte(a.Key.Reveal()))
	return err == nil && time.Until(pair.Leaf.NotAfter) > renewal
}

func newAuthority(name string) (*authority, error) {
	now := time.Now()
	template := &x509.Certificate{Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(authorityLife),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	certificate, err := sign(template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	keyPEM, err := marshalKey(key)
	return &authority{Certificate: string(certificate), Key: vnflcm.NewSecret(string(keyPEM))}, err
}

// issue makes a key, and a certificate for a server that is reached by these names and addresses.
func (a *authority) issue(names []string, addresses []netip.Addr) (certificate, key []byte, err error) {
	ca, err := tls.X509KeyPair([]byte(a.Certificate), []byte(a.Key.Reveal()))
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{Subject: pkix.Name{CommonName: "private registry"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: ca.Leaf.NotAfter,
		DNSNames: names, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	for _, address := range addresses {
		template.IPAddresses = append(template.IPAddresses, net.IP(address.AsSlice()))
	}
	leafKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	if certificate, err = sign(template, ca.Leaf, leafKey.Public(), ca.PrivateKey); err != nil {
		return nil, nil, err
	}
	key, err = marshalKey(leafKey)
	return certificate, key, err
}

func sign(template, parent *x509.Certificate, key, signer any) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)) // RFC 5280 4.1.2.2: positive, 20 bytes at most
	if err != nil {
		return nil, err
	}
	template.SerialNumber = serial
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key, signer)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), err
}

func marshalKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), err
}

// serves reports whether a certificate and its key are of this CA, for all these names and addresses, and stay good
// for some time.
func (a *authority) serves(certificate, key []byte, names []string, addresses []netip.Addr) bool {
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return false
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(a.Certificate))
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: time.Now().Add(renewal)}); err != nil {
		return false
	}
	for _, address := range addresses {
		names = append(slices.Clip(names), address.String())
	}
	for _, name := range names {
		if pair.Leaf.VerifyHostname(name) != nil {
			return false
		}
	}
	return true
}

// writeCertificate puts the certificate of the package, or one of ours, on the machine. One of ours that still serves
// stays.
func (s *site) writeCertificate(ctx context.Context) error {
	if s.ca == nil {
		pair, err := s.p.TLS.read(mgmt.Artifacts(s.op))
		if err != nil {
			return err
		}
		return errors.Join(s.replace(ctx, certificateFile, pair.certificate), s.replace(ctx, keyFile, pair.key))
	}
	names, addresses := s.identities()
	certificate, _, err1 := s.machine.Read(ctx, certificateFile)
	key, _, err2 := s.machine.Read(ctx, keyFile)
	if err := errors.Join(err1, err2); err != nil || s.ca.serves(certificate, key, names, addresses) {
		return err
	}
	certificate, key, err := s.ca.issue(names, addresses)
	if err != nil {
		return fmt.Errorf("registry: certificate of %s: %w", s.node.Label(), err)
	}
	return errors.Join(s.replace(ctx, keyFile, key), s.replace(ctx, certificateFile, certificate))
}

// identities returns all names and addresses by which clients may reach the machine.
func (s *site) identities() (names []string, addresses []netip.Addr) {
	if s.p.ServerName != "" {
		names = []string{s.p.ServerName}
	}
	for _, cp := range s.node.CPs {
		addresses = append(addresses, cp.Fixed...)
		if cp.Floating.IsValid() {
			addresses = append(addresses, cp.Floating)
		}
	}
	return names, addresses
}

// caCertificate returns the certificate that clients of the registry have to trust, in PEM form: nil if they trust it
// already.
func (s *site) caCertificate() ([]byte, error) {
	switch {
	case s.p.TLS == nil:
		return nil, nil
	case s.ca != nil:
		return []byte(s.ca.Certificate), nil
	}
	pair, err := s.p.TLS.read(mgmt.Artifacts(s.op))
	return bytes.TrimSpace(pair.ca), err
}
