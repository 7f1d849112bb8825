package cms_test

import (
	"crypto"
	"testing"

	"github.com/vnfkit/vnfkit/tosca/internal/cms"
)

func TestSignedAttributes(t *testing.T) {
	vendor := certify(t, "vendor", ecdsaKey(), nil)
	digest := sum(crypto.SHA512, manifest)
	kind := attribute{oidContentType, values(oidData)}
	right := attribute{oidMessageDigest, values(digest)}
	wrong := attribute{oidMessageDigest, values(sum(crypto.SHA512, []byte("other")))}
	foreign := attribute{oid(1, 3, 6, 1, 4, 1, 99999), values("x", 1)}

	for name, tt := range map[string]struct {
		list []attribute
		want error
	}{
		"as it should be":            {[]attribute{kind, right}, nil},
		"with unknown ones":          {[]attribute{foreign, kind, right, foreign}, nil},
		"no message digest":          {[]attribute{kind, foreign}, cms.ErrMalformed},
		"no content type":            {[]attribute{right}, cms.ErrMalformed},
		"two digests, right first":   {[]attribute{kind, right, wrong}, cms.ErrMalformed},
		"two digests, wrong first":   {[]attribute{kind, wrong, right}, cms.ErrMalformed},
		"same digest twice":          {[]attribute{kind, right, right}, cms.ErrMalformed},
		"digest of two values":       {[]attribute{kind, {oidMessageDigest, values(digest, digest)}}, cms.ErrMalformed},
		"digest without value":       {[]attribute{kind, {oidMessageDigest, nil}}, cms.ErrMalformed},
		"digest is no octets":        {[]attribute{kind, {oidMessageDigest, values(7)}}, cms.ErrMalformed},
		"wrong digest":               {[]attribute{kind, wrong}, cms.ErrDigest},
		"empty digest":               {[]attribute{kind, {oidMessageDigest, values([]byte{})}}, cms.ErrDigest},
		"digest cut short":           {[]attribute{kind, {oidMessageDigest, values(digest[:32])}}, cms.ErrDigest},
		"other content type":         {[]attribute{{oidContentType, values(oidSignedData)}, right}, cms.ErrMalformed},
		"content type of two values": {[]attribute{{oidContentType, values(oidData, oidData)}, right}, cms.ErrMalformed},
		"two content types":          {[]attribute{kind, kind, right}, cms.ErrMalformed},
	} {
		for _, unsorted := range []bool{false, true} {
			f := forgery{by: []*holder{vendor}, content: manifest, attributes: tt.list, unsorted: unsorted, certificates: []*holder{vendor}}
			t.Run(name, func(t *testing.T) {
				wantReason(t, verify(t, f.bytes(t), manifest, trusting(vendor))[0], tt.want)
			})
		}
	}
}

// TestAttributesSignedSorted checks attributes that are sent unsorted, which BER allows, and signed in their sorted encoding
// (RFC 5652 5.4).
func TestAttributesSignedSorted(t *testing.T) {
	vendor := certify(t, "vendor", ecdsaKey(), nil)
	f := forgery{by: []*holder{vendor}, content: manifest, contentType: oidData, certificates: []*holder{vendor}}
	unsorted := f
	unsorted.unsorted = true
	unsorted.attributes = []attribute{
		{oidMessageDigest, values(sum(crypto.SHA512, manifest))}, {oidContentType, values(oidData)},
	}
	f.spoil = func(sd *signedData) { sd.Signers[0].Attributes = implicit0(unsorted.signedAttributes()) }
	wantReason(t, verify(t, f.bytes(t), manifest, trusting(vendor))[0], nil)
}

// TestContentTypes checks that only plain data is accepted without signed attributes (RFC 5652 5.3).
func TestContentTypes(t *testing.T) {
	vendor := certify(t, "vendor", ecdsaKey(), nil)
	f := forgery{by: []*holder{vendor}, content: manifest, contentType: oid(1, 2, 840, 113549, 1, 9, 16, 1, 4), certificates: []*holder{vendor}}
	wantReason(t, verify(t, f.bytes(t), manifest, trusting(vendor))[0], nil)
	f.direct = true
	wantReason(t, verify(t, f.bytes(t), manifest, trusting(vendor))[0], cms.ErrMalformed)
}
