package cms_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"sync"
	"testing"
	"time"
)

// now is the time at which the tests verify signatures. Certificates are valid half a year before and after it.
var now = time.Date(2027, 6, 1, 0, 0, 0, 0, time.UTC)

const halfYear = 182 * 24 * time.Hour

// holder is a certificate with its key.
type holder struct {
	certificate *x509.Certificate
	key         crypto.Signer
}

// change modifies the template of a certificate.
type change func(*x509.Certificate)

func authority(c *x509.Certificate) {
	c.IsCA, c.BasicConstraintsValid = true, true
	c.KeyUsage = x509.KeyUsageCertSign
}

func validFrom(from time.Time, d time.Duration) change {
	return func(c *x509.Certificate) { c.NotBefore, c.NotAfter = from, from.Add(d) }
}

// Generating an RSA key is slow, so all tests share one.
var (
	rsaKey    = sync.OnceValue(func() crypto.Signer { return must(rsa.GenerateKey(rand.Reader, 2048)) })
	ecdsaKey  = func() crypto.Signer { return must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)) }
	ecdsa384  = func() crypto.Signer { return must(ecdsa.GenerateKey(elliptic.P384(), rand.Reader)) }
	ecdsa521  = func() crypto.Signer { return must(ecdsa.GenerateKey(elliptic.P521(), rand.Reader)) }
	edwardKey = func() crypto.Signer {
		_, key, err := ed25519.GenerateKey(rand.Reader)
		return must(crypto.Signer(key), err)
	}
)

// sizedKey pretends to be an RSA key of a given size, so that no test has to generate a large key.
type sizedKey struct {
	crypto.Signer
	bits uint
}

func (k sizedKey) Public() crypto.PublicKey {
	n := new(big.Int).Lsh(big.NewInt(1), k.bits-1)
	return &rsa.PublicKey{N: n.SetBit(n, 0, 1), E: 65537}
}

// must panics on an error that no test expects.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

var lastSerial int64 = 4096

// certify creates a certificate for a key. If issuer is nil, the certificate is self-signed.
func certify(t testing.TB, name string, key crypto.Signer, issuer *holder, changes ...change) *holder {
	t.Helper()
	lastSerial++
	c := &x509.Certificate{
		SerialNumber: big.NewInt(lastSerial),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    now.Add(-halfYear),
		NotAfter:     now.Add(halfYear),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		SubjectKeyId: keyID(key),
	}
	for _, change := range changes {
		change(c)
	}
	h := &holder{c, key}
	if issuer == nil {
		issuer = h
	}
	der, err := x509.CreateCertificate(rand.Reader, c, issuer.certificate, key.Public(), issuer.key)
	if err != nil {
		t.Fatal(err)
	}
	h.certificate = must(x509.ParseCertificate(der))
	return h
}

func keyID(key crypto.Signer) []byte {
	h := crypto.SHA256.New()
	h.Write(must(x509.MarshalPKIXPublicKey(key.Public())))
	return h.Sum(nil)[:20]
}

func pool(holders ...*holder) *x509.CertPool {
	p := x509.NewCertPool()
	for _, h := range holders {
		p.AddCert(h.certificate)
	}
	return p
}
