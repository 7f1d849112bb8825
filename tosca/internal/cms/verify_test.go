package cms_test

import (
	"crypto"
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/tosca/internal/cms"
)

// manifest is the signed content.
var manifest = []byte("metadata:\n  vnf_product_name: router\n\nSource: Definitions/vnfd.yaml\nAlgorithm: SHA-256\nHash: 00\n")

func trusting(roots ...*holder) cms.Options {
	return cms.Options{Roots: pool(roots...), Now: now}
}

// verify hashes the content with the algorithms that the signature requests, and verifies the signature.
func verify(t testing.TB, signature, content []byte, o cms.Options) []cms.Signer {
	t.Helper()
	s, err := cms.Parse(signature)
	if err != nil {
		t.Fatal(err)
	}
	return s.Verify(digests(s, content), o)
}

func digests(s *cms.Signed, content []byte) map[crypto.Hash][]byte {
	out := map[crypto.Hash][]byte{}
	for _, h := range s.Digests() {
		out[h] = sum(h, content)
	}
	return out
}

// wantReason checks that the reason of a signer wraps want. If want is nil, the signer must be trusted.
func wantReason(t testing.TB, got cms.Signer, want error) {
	t.Helper()
	if !errors.Is(got.Reason, want) || want == nil && got.Reason != nil {
		t.Errorf("reason %v, want %v", got.Reason, want)
	}
	if got.Trusted != (want == nil) {
		t.Errorf("trusted %v with the reason %v", got.Trusted, got.Reason)
	}
	valid := want == nil || errors.Is(want, cms.ErrUntrusted) || errors.Is(want, cms.ErrExpired)
	if got.Valid != valid {
		t.Errorf("valid %v with the reason %v", got.Valid, got.Reason)
	}
	if want == nil && got.Certificate == nil {
		t.Error("a trusted signer has no certificate")
	}
}

func TestKeys(t *testing.T) {
	for name, tt := range map[string]struct {
		key    crypto.Signer
		direct error // expected reason without signed attributes
	}{
		"RSA":         {rsaKey(), nil},
		"ECDSA P-256": {ecdsaKey(), nil},
		"ECDSA P-384": {ecdsa384(), nil},
		"ECDSA P-521": {ecdsa521(), nil},
		"Ed25519":     {edwardKey(), cms.ErrAlgorithm},
	} {
		t.Run(name, func(t *testing.T) {
			vendor := certify(t, "vendor", tt.key, nil)
			f := forgery{by: []*holder{vendor}, content: manifest, certificates: []*holder{vendor}}
			wantReason(t, verify(t, f.bytes(t), manifest, trusting(vendor))[0], nil)
			f.keyID = true
			wantReason(t, verify(t, f.bytes(t), manifest, trusting(vendor))[0], nil)
			f.direct = true
			wantReason(t, verify(t, f.bytes(t), manifest, trusting(vendor))[0], tt.direct)
			f.carried = true
			wantReason(t, verify(t, f.bytes(t), manifest, trusting(vendor))[0], nil)
		})
	}
}

func TestTampered(t *testing.T) {
	vendor := certify(t, "vendor", ecdsaKey(), nil)
	other := append(slices.Clone(manifest), "Source: backdoor.sh\n"...)
	signer := func(do func(*signerInfo)) func(*signedData) {
		return func(sd *signedData) { do(&sd.Signers[0]) }
	}
	for name, tt := range map[string]struct {
		change  func(*forgery)
		content []byte
		want    error
	}{
		"content":                    {func(*forgery) {}, other, cms.ErrDigest},
		"content without attributes": {func(f *forgery) { f.direct = true }, other, cms.ErrSignature},
		"other content is carried":   {func(f *forgery) { f.carried = true }, other, cms.ErrDigest},
		"signature": {func(f *forgery) {
			f.spoil = signer(func(si *signerInfo) { si.Signature[len(si.Signature)-1] ^= 1 })
		}, manifest, cms.ErrSignature},
		"no signature": {func(f *forgery) {
			f.spoil = signer(func(si *signerInfo) { si.Signature = nil })
		}, manifest, cms.ErrSignature},
		"attribute": {func(f *forgery) {
			f.spoil = signer(func(si *signerInfo) {
				a := must(asn1.Marshal(attribute{oid(1, 2, 3), values(1)}))
				si.Attributes.Bytes = append(slices.Clone(si.Attributes.Bytes), a...)
			})
		}, manifest, cms.ErrSignature},
		"message digest": {func(f *forgery) {
			f.spoil = signer(func(si *signerInfo) {
				a := forgery{content: other, contentType: oidData}.signedAttributes()
				si.Attributes.Bytes = a
			})
		}, other, cms.ErrSignature},
		"attributes taken off": {func(f *forgery) {
			f.spoil = signer(func(si *signerInfo) { si.Attributes = asn1.RawValue{} })
		}, manifest, cms.ErrSignature},
		"key of another kind": {func(f *forgery) {
			f.algorithm.Algorithm = oidEd25519
		}, manifest, cms.ErrSignature},
	} {
		t.Run(name, func(t *testing.T) {
			f := forgery{by: []*holder{vendor}, content: manifest, certificates: []*holder{vendor}}
			tt.change(&f)
			wantReason(t, verify(t, f.bytes(t), tt.content, trusting(vendor))[0], tt.want)
		})
	}
}

func TestAlgorithms(t *testing.T) {
	vendor := certify(t, "vendor", rsaKey(), nil)
	for name, tt := range map[string]struct {
		change func(*forgery)
		want   string
	}{
		"SHA-1":             {func(f *forgery) { f.digest = oidSHA1 }, "the digest is SHA-1"},
		"MD5":               {func(f *forgery) { f.digest = oid(1, 2, 840, 113549, 2, 5) }, "the digest is MD5"},
		"unknown digest":    {func(f *forgery) { f.digest = oid(1, 2, 3) }, "the digest is 1.2.3"},
		"RSA with SHA-1":    {func(f *forgery) { f.algorithm.Algorithm = oid(1, 2, 840, 113549, 1, 1, 5) }, "the signature is RSA with SHA-1"},
		"DSA":               {func(f *forgery) { f.algorithm.Algorithm = oid(2, 16, 840, 1, 101, 3, 4, 3, 2) }, "the signature is DSA"},
		"two hashes":        {func(f *forgery) { f.algorithm.Algorithm = oidECDSAwith256 }, "the signature is over SHA-256"},
		"RSA key too long":  {func(f *forgery) { f.by = []*holder{certify(t, "long", sizedKey{ecdsaKey(), 8193}, vendor)} }, "the RSA key has 8193 bits"},
		"RSA key too short": {func(f *forgery) { f.by = []*holder{certify(t, "short", sizedKey{ecdsaKey(), 1023}, vendor)} }, "the RSA key has 1023 bits"},
	} {
		t.Run(name, func(t *testing.T) {
			f := forgery{by: []*holder{vendor}, content: manifest}
			tt.change(&f)
			o := trusting(vendor)
			o.Certificates = []*x509.Certificate{f.by[0].certificate}
			got := verify(t, f.bytes(t), manifest, o)[0]
			wantReason(t, got, cms.ErrAlgorithm)
			if !strings.Contains(got.Reason.Error(), tt.want) {
				t.Errorf("reason %q, want %q in it", got.Reason, tt.want)
			}
		})
	}
}

// TestAlgorithmConfusion checks that a signature is verified only with the algorithm that it states.
func TestAlgorithmConfusion(t *testing.T) {
	pss, short := pssOf(oidSHA512, 64), pssOf(oidSHA512, 32)
	rsa, edward := certify(t, "rsa", rsaKey(), nil), certify(t, "edward", edwardKey(), nil)
	for name, f := range map[string]forgery{
		"PKCS #1 as PSS":     {by: []*holder{rsa}, algorithm: forgery{parameters: &pss}.algorithmOf(rsaKey())},
		"PSS as PKCS #1":     {by: []*holder{rsa}, algorithm: forgery{}.algorithmOf(rsaKey()), parameters: &pss},
		"PSS of other salt":  {by: []*holder{rsa}, algorithm: forgery{parameters: &short}.algorithmOf(rsaKey()), parameters: &pss},
		"Ed25519 as ECDSA":   {by: []*holder{edward}, algorithm: forgery{}.algorithmOf(ecdsaKey())},
		"PKCS #1 as Ed25519": {by: []*holder{rsa}, algorithm: forgery{}.algorithmOf(edward.key)},
	} {
		t.Run(name, func(t *testing.T) {
			f.content, f.certificates = manifest, f.by
			wantReason(t, verify(t, f.bytes(t), manifest, trusting(f.by...))[0], cms.ErrSignature)
		})
	}
}

func TestCarriedContent(t *testing.T) {
	vendor := certify(t, "vendor", ecdsaKey(), nil)
	f := forgery{by: []*holder{vendor}, content: manifest, carried: true, certificates: []*holder{vendor}}
	s, err := cms.Parse(f.bytes(t))
	if err != nil {
		t.Fatal(err)
	}
	content, ok := s.Content()
	if diff := cmp.Diff(string(manifest), string(content)); !ok || diff != "" {
		t.Errorf("content (-want +got):\n%s", diff)
	}
	wantReason(t, s.Verify(nil, trusting(vendor))[0], nil)
	wantReason(t, s.Verify(map[crypto.Hash][]byte{}, trusting(vendor))[0], cms.ErrDigest)

	f.carried = false
	s, err = cms.Parse(f.bytes(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := s.Content(); ok {
		t.Error("Content returns the content of a detached signature")
	}
	wantReason(t, s.Verify(nil, trusting(vendor))[0], cms.ErrDigest)
}

func TestSigners(t *testing.T) {
	vendor, stranger := certify(t, "vendor", ecdsaKey(), nil), certify(t, "stranger", edwardKey(), nil)
	absent := certify(t, "absent", ecdsaKey(), nil)
	f := forgery{by: []*holder{vendor, stranger, absent}, content: manifest, certificates: []*holder{vendor, stranger}}
	got := verify(t, f.bytes(t), manifest, trusting(vendor))
	if len(got) != 3 {
		t.Fatalf("%d signers, want 3", len(got))
	}
	// encoding/asn1 sorts the set of signers, so the test finds each signer by name.
	for name, want := range map[string]error{"vendor": nil, "stranger": cms.ErrUntrusted, "absent": cms.ErrNoCertificate} {
		i := slices.IndexFunc(got, func(s cms.Signer) bool { return strings.HasPrefix(s.ID, "issuer CN="+name+", serial number 0x") })
		if i < 0 {
			t.Fatalf("no signer %s in %v", name, got)
		}
		wantReason(t, got[i], want)
	}
}
