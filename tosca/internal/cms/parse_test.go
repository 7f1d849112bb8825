package cms_test

import (
	"bytes"
	"crypto"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/tosca/internal/cms"
)

func TestParseForms(t *testing.T) {
	vendor := certify(t, "vendor", ecdsaKey(), nil)
	der := forgery{by: []*holder{vendor}, content: manifest, certificates: []*holder{vendor}}.bytes(t)
	armor := func(label string) []byte { return pem.EncodeToMemory(&pem.Block{Type: label, Bytes: der}) }
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: vendor.certificate.Raw})
	for name, data := range map[string][]byte{
		"DER":                   der,
		"CMS":                   armor("CMS"),
		"PKCS7":                 armor("PKCS7"),
		"PKCS #7":               armor("PKCS #7 SIGNED DATA"),
		"CRLF":                  bytes.ReplaceAll(armor("CMS"), []byte("\n"), []byte("\r\n")),
		"behind text":           append([]byte("Hash: 00\n\n"), armor("CMS")...),
		"behind a certificate":  append(bytes.Clone(certificate), armor("CMS")...),
		"before another":        append(armor("CMS"), armor("CMS")...),
		"no newline at the end": bytes.TrimSpace(armor("CMS")),
	} {
		t.Run(name, func(t *testing.T) {
			wantReason(t, verify(t, data, manifest, trusting(vendor))[0], nil)
		})
	}
	carried := forgery{by: []*holder{vendor}, content: armor("CMS"), carried: true, certificates: []*holder{vendor}}.bytes(t)
	wantReason(t, verify(t, carried, armor("CMS"), trusting(vendor))[0], nil)
}

func TestParseRefuses(t *testing.T) {
	vendor := certify(t, "vendor", ecdsaKey(), nil)
	good := forgery{by: []*holder{vendor}, content: manifest, certificates: []*holder{vendor}}
	spoiled := func(spoil func(*signedData)) []byte {
		f := good
		f.spoil = spoil
		return f.bytes(t)
	}
	der := good.bytes(t)
	compressed := must(asn1.Marshal(struct{ ID asn1.ObjectIdentifier }{oid(1, 2, 840, 113549, 1, 9, 16, 1, 9)}))
	for name, tt := range map[string]struct {
		data []byte
		want error
		text string
	}{
		"nothing":             {nil, cms.ErrNotCMS, "neither"},
		"text":                {[]byte("test cms \n"), cms.ErrNotCMS, "neither"},
		"a certificate":       {pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: vendor.certificate.Raw}), cms.ErrNotCMS, "neither"},
		"DER of one":          {vendor.certificate.Raw, cms.ErrNotCMS, "content type"},
		"compressed data":     {compressed, cms.ErrNotCMS, "1.2.840.113549.1.9.16.1.9"},
		"half a PEM block":    {[]byte("-----BEGIN CMS-----\nMIIB\n"), cms.ErrMalformed, "no end"},
		"no base64":           {[]byte("-----BEGIN PKCS7-----\n*\n-----END PKCS7-----\n"), cms.ErrMalformed, "base64"},
		"empty PEM block":     {[]byte("-----BEGIN CMS-----\n-----END CMS-----\n"), cms.ErrMalformed, "ends within"},
		"something follows":   {append(bytes.Clone(der), 0), cms.ErrMalformed, "1 bytes follow"},
		"nothing in it":       {must(asn1.Marshal(struct{ ID asn1.ObjectIdentifier }{oidSignedData})), cms.ErrMalformed, "ContentInfo"},
		"no signature":        {forgery{certificates: []*holder{vendor}}.bytes(t), cms.ErrMalformed, "there is no signature"},
		"too many signers":    {spoiled(func(sd *signedData) { sd.Signers = repeat(sd.Signers[0], 5) }), cms.ErrMalformed, "more than 4 signers"},
		"empty attributes":    {spoiled(func(sd *signedData) { sd.Signers[0].Attributes = implicit0([]byte{}) }), cms.ErrMalformed, "signed attributes"},
		"signer without key":  {spoiled(func(sd *signedData) { sd.Signers[0].ID = asn1.RawValue{Class: 2, Tag: 0} }), cms.ErrMalformed, "identifier"},
		"endless key":         {spoiled(func(sd *signedData) { sd.Signers[0].ID = asn1.RawValue{Class: 2, Tag: 0, Bytes: make([]byte, 4096)} }), cms.ErrMalformed, "identifier"},
		"signer by name":      {spoiled(func(sd *signedData) { sd.Signers[0].ID = asn1.RawValue{Tag: asn1.TagUTF8String} }), cms.ErrMalformed, "identifier"},
		"more SignedData":     {spoiled(func(sd *signedData) { sd.More = asn1.NullRawValue }), cms.ErrMalformed, "SignedData"},
		"more SignerInfo":     {spoiled(func(sd *signedData) { sd.Signers[0].More = asn1.NullRawValue }), cms.ErrMalformed, "SignerInfo"},
		"more content info":   {spoiled(func(sd *signedData) { sd.Encapsulated.More = asn1.NullRawValue }), cms.ErrMalformed, "EncapsulatedContentInfo"},
		"more content":        {spoiled(func(sd *signedData) { sd.Encapsulated.More = implicit0([]byte{4, 0, 4, 0}) }), cms.ErrMalformed, "no octet string"},
		"content is a number": {spoiled(func(sd *signedData) { sd.Encapsulated.More = implicit0([]byte{2, 1, 0}) }), cms.ErrMalformed, "no octet string"},
		"more identifier": {spoiled(func(sd *signedData) {
			sd.Signers[0].ID.FullBytes = must(asn1.Marshal(issuerAndSerial{
				asn1.RawValue{FullBytes: vendor.certificate.RawIssuer}, asn1.RawValue{FullBytes: []byte{2, 1, 1}}, asn1.NullRawValue,
			}))
		}), cms.ErrMalformed, "identifier"},
		"more ContentInfo": {extend(t, der, true, false), cms.ErrMalformed, "ContentInfo"},
		"two SignedData":   {extend(t, der, false, true), cms.ErrMalformed, "ContentInfo"},
		"too many certificates": {spoiled(func(sd *signedData) {
			sd.Certificates = implicit0(bytes.Repeat([]byte{0x30, 0}, 33))
		}), cms.ErrMalformed, "more than 32 certificates"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := cms.Parse(tt.data)
			if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("error %v, want %v and %q in it", err, tt.want, tt.text)
			}
		})
	}
}

func repeat[T any](v T, n int) []T {
	var out []T
	for range n {
		out = append(out, v)
	}
	return out
}

// extend adds a NULL behind the content of ContentInfo, or at the end of the content.
func extend(t *testing.T, der []byte, behind, into bool) []byte {
	t.Helper()
	var info struct {
		Type    asn1.ObjectIdentifier
		Content asn1.RawValue
		More    asn1.RawValue `asn1:"optional"`
	}
	if _, err := asn1.Unmarshal(der, &info); err != nil {
		t.Fatal(err)
	}
	if behind {
		info.More = asn1.NullRawValue
	}
	if into {
		info.Content = implicit0(append(bytes.Clone(info.Content.Bytes), asn1.NullBytes...))
	}
	return must(asn1.Marshal(info))
}

// TestParsePassesOver checks that Parse skips revocation lists and unsigned attributes (time stamps, countersignatures).
func TestParsePassesOver(t *testing.T) {
	vendor := certify(t, "vendor", ecdsaKey(), nil)
	f := forgery{by: []*holder{vendor}, content: manifest, certificates: []*holder{vendor}, spoil: func(sd *signedData) {
		one := asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 1, IsCompound: true, Bytes: asn1.NullBytes}
		sd.Revocations, sd.Signers[0].Unsigned = one, one
	}}
	wantReason(t, verify(t, f.bytes(t), manifest, trusting(vendor))[0], nil)
}

// TestParseBroken checks that truncated or changed input leads to an error, or to a signer with a reason.
func TestParseBroken(t *testing.T) {
	vendor := certify(t, "vendor", ecdsaKey(), nil)
	der := forgery{by: []*holder{vendor}, content: manifest, certificates: []*holder{vendor}, carried: true}.bytes(t)
	for n := range der {
		if _, err := cms.Parse(der[:n]); err == nil {
			t.Errorf("Parse accepts the first %d of %d bytes", n, len(der))
		}
		bent := bytes.Clone(der)
		bent[n] ^= 0x20
		s, err := cms.Parse(bent)
		if err != nil {
			if !errors.Is(err, cms.ErrMalformed) && !errors.Is(err, cms.ErrNotCMS) {
				t.Errorf("byte %d changed: %v is neither ErrMalformed nor ErrNotCMS", n, err)
			}
			continue
		}
		for _, g := range s.Verify(nil, cms.Options{Now: now}) {
			if g.Trusted || g.Reason == nil {
				t.Errorf("byte %d changed: trusted %v, reason %v", n, g.Trusted, g.Reason)
			}
		}
	}
}

func TestIndefiniteLengths(t *testing.T) {
	vendor := certify(t, "vendor", ecdsaKey(), nil)
	der := forgery{by: []*holder{vendor}, content: manifest, carried: true, certificates: []*holder{vendor}}.bytes(t)
	long := bytes.Repeat([]byte{0x30, 0x80}, 40)
	for name, tt := range map[string]struct {
		data []byte
		want string // text in the error; "": no error
	}{
		"in one piece":            {der, ""},
		"everywhere":              {indefinite(t, der, 0x24, 0x80, 0x04, 3, 'm', 'e', 't', 0x24, 0x80, 0x04, 1, 'a', 0, 0), ""},
		"piece of another kind":   {indefinite(t, der, 0x24, 0x80, 0x02, 1, 1, 0, 0), "an octet string has a piece with the tag 0x02"},
		"string never ends":       {[]byte{0x30, 0x80, 0x24, 0x80, 0x04, 1, 'm'}, "no end"},
		"string without length":   {[]byte{0x30, 0x80, 0x04, 0x80, 0, 0}, "not constructed"},
		"nested without an end":   {long, "nested more than 32 deep"},
		"pieces within pieces":    {append([]byte{0x30, 0x80}, bytes.Repeat([]byte{0x24, 0x80}, 40)...), "nested more than 32 deep"},
		"length of 2^63":          {[]byte{0x30, 0x88, 0x80, 0, 0, 0, 0, 0, 0, 0}, "longer than 1 GiB"},
		"length with zeros":       {append(append([]byte{0x30, 0x8a, 0, 0, 0, 0, 0, 0, 0, 0}, byte(len(der)>>8), byte(len(der))), der...), "no content type"},
		"length of 126 octets":    {[]byte{0x30, 0xfe, 1}, "ends within a length"},
		"tag of several octets":   {[]byte{0x30, 3, 0x1f, 0x81, 1}, "tag number"},
		"more promised than here": {[]byte{0x30, 5, 1}, "an element of 5 bytes has 1 left"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := cms.Parse(tt.data)
			if tt.want != "" {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("error %v, want %q in it", err, tt.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			content, _ := s.Content()
			if diff := cmp.Diff(string(manifest), string(content)); diff != "" {
				t.Errorf("content (-want +got):\n%s", diff)
			}
			wantReason(t, s.Verify(nil, trusting(vendor))[0], nil)
		})
	}
}

// indefinite rewrites DER. All constructed elements get indefinite lengths, and octet strings that hold the manifest begin with
// the given piece.
func indefinite(t *testing.T, der []byte, piece ...byte) []byte {
	t.Helper()
	var out []byte
	for rest := der; len(rest) > 0; {
		var v asn1.RawValue
		var err error
		if rest, err = asn1.Unmarshal(rest, &v); err != nil {
			t.Fatal(err)
		}
		switch {
		case bytes.Equal(v.Bytes, manifest):
			out = append(append(out, piece...), 0x04, byte(len(manifest)-4))
			out = append(append(out, manifest[4:]...), 0, 0)
		case v.IsCompound:
			out = append(append(out, v.FullBytes[0], 0x80), indefinite(t, v.Bytes, piece...)...)
			out = append(out, 0, 0)
		default:
			out = append(out, v.FullBytes...)
		}
	}
	return out
}

func TestDigests(t *testing.T) {
	vendor := certify(t, "vendor", ecdsaKey(), nil)
	for name, tt := range map[string]struct {
		digest asn1.ObjectIdentifier
		want   []crypto.Hash
	}{
		"SHA-512": {oidSHA512, []crypto.Hash{crypto.SHA512}},
		"SHA-256": {oidSHA256, []crypto.Hash{crypto.SHA256}},
		"SHA-1":   {oidSHA1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := cms.Parse(forgery{by: []*holder{vendor, vendor}, content: manifest, digest: tt.digest}.bytes(t))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, s.Digests()); diff != "" {
				t.Errorf("digests (-want +got):\n%s", diff)
			}
		})
	}
}
