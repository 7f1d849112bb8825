package cms_test

import (
	"crypto/x509"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/tosca/internal/cms"
)

func TestTrust(t *testing.T) {
	root := certify(t, "root", ecdsaKey(), nil, authority)
	foreign := certify(t, "root", ecdsaKey(), nil, authority)
	middle := certify(t, "middle", rsaKey(), root, authority)
	vendor := certify(t, "vendor", ecdsaKey(), middle)
	self := certify(t, "self", ecdsaKey(), nil)
	short := validFrom(now.Add(-time.Hour), 2*time.Hour)
	expiredMiddle := certify(t, "short", ecdsaKey(), root, authority, short)
	later := now.Add(30 * 24 * time.Hour)

	for name, tt := range map[string]struct {
		by    *holder
		given []*holder
		roots *x509.CertPool
		now   time.Time
		want  error
	}{
		"by an intermediate":           {vendor, []*holder{middle}, pool(root), now, nil},
		"the intermediate is root":     {vendor, nil, pool(middle), now, nil},
		"the vendor is root":           {self, nil, pool(self), now, nil},
		"no roots":                     {vendor, []*holder{middle}, nil, now, cms.ErrUntrusted},
		"no root in the pool":          {vendor, []*holder{middle}, pool(), now, cms.ErrUntrusted},
		"foreign root of that name":    {vendor, []*holder{middle}, pool(foreign), now, cms.ErrUntrusted},
		"intermediate missing":         {vendor, nil, pool(root), now, cms.ErrUntrusted},
		"self-signed":                  {self, nil, pool(root), now, cms.ErrUntrusted},
		"given is not trusted":         {self, []*holder{self}, pool(root), now, cms.ErrUntrusted},
		"expired":                      {vendor, []*holder{middle}, pool(root), now.Add(2 * halfYear), cms.ErrExpired},
		"not yet valid":                {vendor, []*holder{middle}, pool(root), now.Add(-2 * halfYear), cms.ErrExpired},
		"expired and foreign":          {vendor, []*holder{middle}, pool(foreign), now.Add(2 * halfYear), cms.ErrUntrusted},
		"expired and missing":          {vendor, nil, pool(root), now.Add(2 * halfYear), cms.ErrUntrusted},
		"intermediate expired":         {certify(t, "vendor", ecdsaKey(), expiredMiddle, short), []*holder{expiredMiddle}, pool(root), later, cms.ErrExpired},
		"intermediate is no authority": {certify(t, "vendor", ecdsaKey(), self), []*holder{self}, pool(root, self), now, cms.ErrUntrusted},
		"key only for certificates":    {certify(t, "vendor", ecdsaKey(), root, authority), nil, pool(root), now, cms.ErrUntrusted},
		"key for commitment": {certify(t, "vendor", ecdsaKey(), root, func(c *x509.Certificate) {
			c.KeyUsage = x509.KeyUsageContentCommitment
		}), nil, pool(root), now, nil},
		"key for anything": {certify(t, "vendor", ecdsaKey(), root, func(c *x509.Certificate) {
			c.KeyUsage = 0
		}), nil, pool(root), now, nil},
		"for web servers": {certify(t, "vendor", ecdsaKey(), root, func(c *x509.Certificate) {
			c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		}), nil, pool(root), now, nil},
	} {
		t.Run(name, func(t *testing.T) {
			o := cms.Options{Roots: tt.roots, Now: tt.now}
			f := forgery{by: []*holder{tt.by}, content: manifest, certificates: append([]*holder{tt.by}, tt.given...)}
			wantReason(t, verify(t, f.bytes(t), manifest, o)[0], tt.want)

			f.certificates = nil
			wantReason(t, verify(t, f.bytes(t), manifest, o)[0], cms.ErrNoCertificate)
			for _, h := range append(tt.given, tt.by) {
				o.Certificates = append(o.Certificates, h.certificate)
			}
			wantReason(t, verify(t, f.bytes(t), manifest, o)[0], tt.want)
		})
	}
}

// A renewed certificate has the key, and so the key identifier, of the old one:
// the one that can be trusted counts, wherever it stands.
func TestRenewedCertificate(t *testing.T) {
	root, key := certify(t, "root", ecdsaKey(), nil, authority), ecdsaKey()
	old := certify(t, "vendor", key, root, validFrom(now.Add(-halfYear), halfYear/2))
	renewed := certify(t, "vendor", key, root)
	wrong := certify(t, "vendor", ecdsaKey(), root, func(c *x509.Certificate) { c.SubjectKeyId = keyID(key) })
	for _, order := range [][]*holder{{old, wrong, renewed}, {renewed, old, wrong}, {wrong, renewed, old}} {
		f := forgery{by: []*holder{old}, keyID: true, content: manifest, certificates: order}
		got := verify(t, f.bytes(t), manifest, trusting(root))[0]
		wantReason(t, got, nil)
		if !got.Certificate.Equal(renewed.certificate) {
			t.Errorf("the certificate is number %s, want %s", got.Certificate.SerialNumber, renewed.certificate.SerialNumber)
		}
	}
}
