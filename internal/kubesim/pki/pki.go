// Package pki signs the certificates of simulated clusters: those of API servers, their clients and etcd's members.
package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"time"
)

// Pair is a certificate and its key, PEM.
type Pair struct {
	Cert string `json:"cert"`
	Key  string `json:"key"`
}

// Issue signs a certificate; by itself without an issuer. The certificate is valid until the template's NotAfter; default ten years.
func Issue(issuer *Pair, template *x509.Certificate, now time.Time) (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, err
	}
	return sign(issuer, template, key, now)
}

// IssueRSA is Issue for a key of kubeadm's default type.
func IssueRSA(issuer *Pair, template *x509.Certificate, now time.Time) (Pair, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return Pair{}, err
	}
	return sign(issuer, template, key, now)
}

func sign(issuer *Pair, template *x509.Certificate, key crypto.Signer, now time.Time) (Pair, error) {
	serial := make([]byte, 8)
	_, _ = rand.Read(serial)
	template.SerialNumber = new(big.Int).SetBytes(serial)
	if template.NotBefore = now.Add(-time.Hour); template.NotAfter.IsZero() {
		template.NotAfter = now.AddDate(10, 0, 0)
	}
	parent, signer := template, any(key)
	if issuer != nil {
		pair, err := tls.X509KeyPair([]byte(issuer.Cert), []byte(issuer.Key))
		if err != nil {
			return Pair{}, err
		}
		if pair.Leaf == nil {
			return Pair{}, errors.New("the CA's certificate cannot be read")
		}
		parent, signer = pair.Leaf, pair.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return Pair{}, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return Pair{}, err
	}
	return Pair{
		Cert: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		Key:  string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})),
	}, nil
}

// NewCA makes a real certificate authority: callers compute the hash of its key, and verify its signatures.
func NewCA(name string, now time.Time) (Pair, error) {
	return Issue(nil, &x509.Certificate{Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}, now)
}

// Parse reads the first certificate of a PEM text.
func Parse(text []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("no PEM certificate")
	}
	return x509.ParseCertificate(block.Bytes)
}

// NewKey makes a key without a certificate: Cert is its public part.
func NewKey() (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, err
	}
	secret, err1 := x509.MarshalPKCS8PrivateKey(key)
	public, err2 := x509.MarshalPKIXPublicKey(key.Public())
	return Pair{
		Cert: string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})),
		Key:  string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})),
	}, errors.Join(err1, err2)
}
