package controlplane

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// lifetime is the lifetime of certificates, longer than any test.
const lifetime = 24 * time.Hour

// certify writes a certification authority (ca.crt, ca.key), a certificate of the API server (server.crt, server.key)
// and the keys of service-account tokens (sa.pub, sa.key) into a directory.
func certify(dir string, addresses ...net.IP) (ca []byte, tokens *rsa.PrivateKey, err error) {
	now := time.Now()
	root := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "kubernetes-ca"}, NotBefore: now.Add(-time.Hour),
		NotAfter: now.Add(lifetime), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}
	server := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "kube-apiserver"}, NotBefore: root.NotBefore,
		NotAfter: root.NotAfter, IPAddresses: addresses, DNSNames: []string{"localhost", "kubernetes.default.svc"},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	rootKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serverKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	if tokens, err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
		return nil, nil, err
	}
	if ca, err = sign(dir, "ca", root, root, rootKey, rootKey); err != nil {
		return nil, nil, err
	}
	_, err = sign(dir, "server", server, root, serverKey, rootKey)
	public, errPublic := x509.MarshalPKIXPublicKey(tokens.Public())
	return ca, tokens, errors.Join(err, errPublic, write(dir, "sa.pub", "PUBLIC KEY", public),
		write(dir, "sa.key", "RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(tokens)))
}

// sign writes a certificate and its key, and returns the certificate.
func sign(dir, name string, template, parent *x509.Certificate, key, by *ecdsa.PrivateKey) ([]byte, error) {
	certificate, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), by)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}),
		errors.Join(write(dir, name+".crt", "CERTIFICATE", certificate), write(dir, name+".key", "EC PRIVATE KEY", private))
}

func write(dir, name, kind string, der []byte) error {
	return os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}

// jwt signs claims as the API server signs the tokens of service accounts (RFC 7515, RS256).
func jwt(key *rsa.PrivateKey, claims map[string]any) (string, error) {
	body, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	encode := base64.RawURLEncoding.EncodeToString
	text := encode([]byte(`{"alg":"RS256","typ":"JWT"}`)) + "." + encode(body)
	digest := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, digest[:])
	return text + "." + encode(signature), err
}
