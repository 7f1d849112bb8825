package vnflcm_test

import (
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
)

// vendor signs packages with a certificate that it issued itself.
type vendor struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newVendor(t *testing.T, until time.Time) *vendor {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "vendor"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: until.Add(-48 * time.Hour), NotAfter: until, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	raw, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	must(t, err)
	c, err = x509.ParseCertificate(raw)
	must(t, err)
	return &vendor{c, key}
}

func (v *vendor) roots() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(v.certificate)
	return pool
}

// sign returns the files with a signed manifest that lists all files (SOL004 5.2).
func (v *vendor) sign(t *testing.T, files fstest.MapFS) fstest.MapFS {
	t.Helper()
	out := maps.Clone(files)
	const meta = "TOSCA-Metadata/TOSCA.meta"
	out[meta] = &fstest.MapFile{Data: []byte(string(files[meta].Data) + "ETSI-Entry-Manifest: toy.mf\n")}
	var text strings.Builder
	text.WriteString("metadata:\n  vnf_product_name: toy\n  vnf_provider_id: toys\n  vnf_package_version: 1.0\n  vnf_release_date_time: 2024-01-01T00:00:00Z\n\n")
	for _, name := range slices.Sorted(maps.Keys(out)) {
		fmt.Fprintf(&text, "Source: %s\nAlgorithm: SHA-256\nHash: %x\n\n", name, sha256.Sum256(out[name].Data))
	}
	text.WriteString(v.cms(t, text.String()))
	out["toy.mf"] = &fstest.MapFile{Data: []byte(text.String())}
	return out
}

// cms returns a detached signature (RFC 5652) in PEM.
func (v *vendor) cms(t *testing.T, content string) string {
	t.Helper()
	sum := sha256.Sum256([]byte(content))
	signature, err := ecdsa.SignASN1(rand.Reader, v.key, sum[:])
	must(t, err)
	type algorithm struct{ ID asn1.ObjectIdentifier }
	type issued struct {
		Issuer asn1.RawValue
		Serial *big.Int
	}
	type signer struct {
		Version   int
		ID        issued
		Digest    algorithm
		Algorithm algorithm
		Signature []byte
	}
	type signedData struct {
		Version      int
		Digests      []algorithm `asn1:"set"`
		Content      algorithm
		Certificates asn1.RawValue
		Signers      []signer `asn1:"set"`
	}
	type contentInfo struct {
		Type    asn1.ObjectIdentifier
		Content signedData `asn1:"explicit,tag:0"`
	}
	sha := algorithm{asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 1}}
	raw, err := asn1.Marshal(contentInfo{asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 2}, signedData{
		Version: 1, Digests: []algorithm{sha}, Content: algorithm{asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 1}},
		Certificates: asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 0, IsCompound: true, Bytes: v.certificate.Raw},
		Signers: []signer{{1, issued{asn1.RawValue{FullBytes: v.certificate.RawIssuer}, v.certificate.SerialNumber}, sha,
			algorithm{asn1.ObjectIdentifier{1, 2, 840, 10045, 4, 3, 2}}, signature}},
	}})
	must(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CMS", Bytes: raw}))
}
