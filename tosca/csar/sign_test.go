package csar_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"golang.org/x/crypto/cryptobyte"
	der "golang.org/x/crypto/cryptobyte/asn1"
)

// holder is a certificate with its key.
type holder struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// certify creates a certificate. Without an issuer it is a root.
func certify(t testing.TB, name string, issuer *holder, until time.Time) *holder {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    until.Add(-48 * time.Hour), NotAfter: until,
		KeyUsage: x509.KeyUsageDigitalSignature,
	}
	h := &holder{key: key}
	parent, signer := c, key
	if issuer == nil {
		c.IsCA, c.BasicConstraintsValid, c.KeyUsage = true, true, x509.KeyUsageCertSign
	} else {
		parent, signer = issuer.certificate, issuer.key
	}
	raw, err := x509.CreateCertificate(rand.Reader, c, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	if h.certificate, err = x509.ParseCertificate(raw); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *holder) pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(h.certificate)
	return p
}

func (h *holder) pem() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.certificate.Raw}))
}

var (
	oidSignedData   = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 2}
	oidData         = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 1}
	oidSHA256       = asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 1}
	oidECDSAWithSHA = asn1.ObjectIdentifier{1, 2, 840, 10045, 4, 3, 2}
)

// sign returns a detached CMS signature in PEM, in the simplest form of RFC 5652.
func (h *holder) sign(t testing.TB, content []byte, withCertificate bool) string {
	t.Helper()
	sum := sha256.Sum256(content)
	signature, err := ecdsa.SignASN1(rand.Reader, h.key, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	type builder = cryptobyte.Builder
	tag0 := der.Tag(0).ContextSpecific().Constructed()
	algorithm := func(b *builder, id asn1.ObjectIdentifier) {
		b.AddASN1(der.SEQUENCE, func(b *builder) { b.AddASN1ObjectIdentifier(id) })
	}
	signer := func(b *builder) {
		b.AddASN1Int64(1)
		b.AddASN1(der.SEQUENCE, func(b *builder) {
			b.AddBytes(h.certificate.RawIssuer)
			b.AddASN1BigInt(h.certificate.SerialNumber)
		})
		algorithm(b, oidSHA256)
		algorithm(b, oidECDSAWithSHA)
		b.AddASN1OctetString(signature)
	}
	signedData := func(b *builder) {
		b.AddASN1Int64(1)
		b.AddASN1(der.SET, func(b *builder) { algorithm(b, oidSHA256) })
		algorithm(b, oidData)
		if withCertificate {
			b.AddASN1(tag0, func(b *builder) { b.AddBytes(h.certificate.Raw) })
		}
		b.AddASN1(der.SET, func(b *builder) { b.AddASN1(der.SEQUENCE, signer) })
	}
	var b builder
	b.AddASN1(der.SEQUENCE, func(b *builder) {
		b.AddASN1ObjectIdentifier(oidSignedData)
		b.AddASN1(tag0, func(b *builder) { b.AddASN1(der.SEQUENCE, signedData) })
	})
	return string(pem.EncodeToMemory(&pem.Block{Type: "CMS", Bytes: b.BytesOrPanic()}))
}

const signedMeta = `TOSCA-Meta-File-Version: 1.0
CSAR-Version: 1.1
Created-By: me
Entry-Definitions: vnfd.yaml
ETSI-Entry-Manifest: vnf.mf
ETSI-Entry-Change-Log: ChangeLog.txt
`

const manifestHead = `metadata:
  vnf_product_name: p
  vnf_provider_id: me
  vnf_package_version: 1.0
  vnf_release_date_time: 2024-01-01T00:00:00Z

`

// contents returns the files of a package whose TOSCA.meta names a manifest.
func contents() map[string]string {
	return map[string]string{
		"TOSCA-Metadata/TOSCA.meta": signedMeta,
		"vnfd.yaml":                 "x",
		"ChangeLog.txt":             "first\nsecond\n",
		"Files/image.img":           strings.Repeat("image", 1000),
	}
}

// manifestOf returns a manifest with the digests of all files.
func manifestOf(files map[string]string) string {
	text := manifestHead
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text += fmt.Sprintf("Source: %s\nAlgorithm: SHA-256\nHash: %x\n\n", name, sha256.Sum256([]byte(files[name])))
	}
	return text
}

func mapFS(files map[string]string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for name, content := range files {
		fsys[name] = file(content)
	}
	return fsys
}

func bytesOf(files map[string]string) map[string][]byte {
	out := map[string][]byte{}
	for name, content := range files {
		out[name] = bytes.Clone([]byte(content))
	}
	return out
}
