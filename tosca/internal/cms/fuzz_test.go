package cms_test

import (
	"bytes"
	"encoding/asn1"
	"os"
	"path/filepath"
	"testing"

	"github.com/vnfkit/vnfkit/tosca/internal/cms"
)

// FuzzParse checks that input is refused or has no trusted signer, because the fuzzer has no private key. The result must be
// consistent.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.cms")
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	edward := certify(f, "edward", edwardKey(), nil)
	f.Add(forgery{by: []*holder{edward, edward}, content: manifest, carried: true, direct: true, certificates: []*holder{edward}}.bytes(f))
	foreign := certify(f, "root", ecdsaKey(), nil, authority)
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			t.Skip("callers bound the size")
		}
		s, err := cms.Parse(data)
		if err != nil {
			return
		}
		content, carried := s.Content()
		if carried {
			check(t, s.Verify(nil, trusting(foreign)))
		}
		if len(content) > len(data) {
			t.Errorf("%d bytes of content in %d", len(content), len(data))
		}
		certificates, err := cms.ParseCertificates(data)
		if err == nil && len(certificates) == 0 {
			t.Error("no certificates and no error")
		}
		check(t, s.Verify(digests(s, manifest), cms.Options{Roots: pool(foreign), Certificates: certificates, Now: now}))
	})
}

func check(t *testing.T, signers []cms.Signer) {
	t.Helper()
	if len(signers) == 0 {
		t.Error("Parse accepts a CMS without a signature")
	}
	for _, s := range signers {
		if s.Trusted || s.Reason == nil || s.Valid && s.Certificate == nil || s.ID == "" {
			t.Errorf("signer %+v", s)
		}
		_ = s.Reason.Error()
	}
}

// FuzzSigner puts its input into valid SignedData. The input of FuzzParse rarely passes the checks of lengths.
func FuzzSigner(f *testing.F) {
	vendor := certify(f, "vendor", rsaKey(), nil)
	foreign := certify(f, "root", ecdsaKey(), nil, authority)
	parameters := pssOf(oidSHA512, 64)
	for _, p := range []*pssParameters{nil, &parameters} {
		forgery{by: []*holder{vendor}, content: manifest, parameters: p, spoil: func(sd *signedData) {
			si := sd.Signers[0]
			f.Add(vendor.certificate.Raw, si.ID.FullBytes, must(asn1.Marshal(si.Digest)), si.Attributes.Bytes, must(asn1.Marshal(si.Algorithm)), si.Signature)
		}}.bytes(f)
	}
	f.Fuzz(func(t *testing.T, certificates, id, digest, attributes, algorithm, signature []byte) {
		signer := bytes.Join([][]byte{
			{0x02, 1, 1}, id, digest, must(asn1.Marshal(implicit0(attributes))), algorithm, must(asn1.Marshal(signature)),
		}, nil)
		if s, err := cms.Parse(frame(certificates, signer)); err == nil {
			check(t, s.Verify(digests(s, manifest), trusting(foreign)))
		}
	})
}

// frame returns SignedData with the given encoding of its certificates and of its only signer.
func frame(certificates, signer []byte) []byte {
	compound := func(tag int, body ...[]byte) []byte {
		return must(asn1.Marshal(asn1.RawValue{Tag: tag, IsCompound: true, Bytes: bytes.Join(body, nil)}))
	}
	explicit := func(body []byte) []byte { return must(asn1.Marshal(implicit0(body))) }
	return compound(asn1.TagSequence, must(asn1.Marshal(oidSignedData)), explicit(compound(asn1.TagSequence,
		must(asn1.Marshal(1)), compound(asn1.TagSet), must(asn1.Marshal(encapsulated{Type: oidData})),
		explicit(certificates), compound(asn1.TagSet, compound(asn1.TagSequence, signer)),
	)))
}
