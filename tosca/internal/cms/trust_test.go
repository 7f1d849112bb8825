package cms_test

import (
	"crypto/x509"
	"path/filepath"
	"strings"
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
	renewedMiddle := certify(t, "middle", ecdsaKey(), root, authority, validFrom(now.Add(-halfYear/2), halfYear))
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
		"authority renewed since":      {certify(t, "vendor", ecdsaKey(), renewedMiddle, validFrom(now.Add(-halfYear), halfYear*3/4)), []*holder{renewedMiddle}, pool(root), now, cms.ErrExpired},
		"intermediate expired":         {certify(t, "vendor", ecdsaKey(), expiredMiddle, validFrom(now.Add(-time.Hour), halfYear)), []*holder{expiredMiddle}, pool(root), later, cms.ErrExpired},
		"intermediate is no authority": {certify(t, "vendor", ecdsaKey(), self), []*holder{self}, pool(root, self), now, cms.ErrUntrusted},
		"key only for certificates":    {certify(t, "vendor", ecdsaKey(), root, authority), nil, pool(root), now, cms.ErrUntrusted},
		"key for commitment": {certify(t, "vendor", ecdsaKey(), root, func(c *x509.Certificate) {
			c.KeyUsage = x509.KeyUsageContentCommitment
		}), nil, pool(root), now, nil},
		"key for anything": {certify(t, "vendor", ecdsaKey(), root, func(c *x509.Certificate) {
			c.KeyUsage = 0
		}), nil, pool(root), now, nil},
		"for mail": {certify(t, "vendor", ecdsaKey(), root, func(c *x509.Certificate) {
			c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageEmailProtection}
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

// TestNoRoots checks that without roots no signer is trusted, not even if the system trusts its root.
func TestNoRoots(t *testing.T) {
	root := certify(t, "root", ecdsaKey(), nil, authority)
	vendor := certify(t, "vendor", ecdsaKey(), root)
	name := filepath.Join(t.TempDir(), "system.pem")
	write(t, name, "CERTIFICATE", root.certificate.Raw)
	t.Setenv("SSL_CERT_FILE", name)
	f := forgery{by: []*holder{vendor}, content: manifest, certificates: []*holder{vendor}}
	got := verify(t, f.bytes(t), manifest, cms.Options{Now: now})[0]
	wantReason(t, got, cms.ErrUntrusted)
	if !strings.Contains(got.Reason.Error(), "no root certificates are given") {
		t.Errorf("reason %v, want an error about missing roots", got.Reason)
	}
}

// TestRenewedCertificate checks two certificates with the same key, and so the same key identifier: the trusted certificate is
// used, wherever it stands in the CMS.
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
			t.Errorf("serial number of the certificate %s, want %s", got.Certificate.SerialNumber, renewed.certificate.SerialNumber)
		}
	}

	f := forgery{by: []*holder{old}, keyID: true, content: manifest, certificates: []*holder{wrong, old, wrong}}
	got := verify(t, f.bytes(t), manifest, cms.Options{Now: now})[0]
	wantReason(t, got, cms.ErrUntrusted)
	if !got.Certificate.Equal(old.certificate) {
		t.Error("the signer has a certificate that does not fit the signature")
	}
}

// TestManyCertificates checks that copies of a certificate count once, and that at most maxCandidates different certificates are
// tried.
func TestManyCertificates(t *testing.T) {
	root, key := certify(t, "root", ecdsaKey(), nil, authority), ecdsaKey()
	vendor := certify(t, "vendor", key, root)
	wrong := func() *holder {
		return certify(t, "vendor", ecdsaKey(), root, func(c *x509.Certificate) { c.SubjectKeyId = keyID(key) })
	}
	f := forgery{by: []*holder{vendor}, keyID: true, content: manifest, certificates: append(repeat(wrong(), 20), vendor)}
	wantReason(t, verify(t, f.bytes(t), manifest, trusting(root))[0], nil)
	f.certificates = []*holder{wrong(), wrong(), wrong(), wrong(), vendor}
	wantReason(t, verify(t, f.bytes(t), manifest, trusting(root))[0], cms.ErrSignature)
}

// TestOtherCertificates checks that neither a certificate of the same issuer, nor a certificate of another issuer with the same
// serial number, is taken for the signer's.
func TestOtherCertificates(t *testing.T) {
	root, other := certify(t, "root", ecdsaKey(), nil, authority), certify(t, "other", ecdsaKey(), nil, authority)
	vendor := certify(t, "vendor", ecdsaKey(), root)
	sibling := certify(t, "sibling", ecdsaKey(), root)
	namesake := certify(t, "vendor", vendor.key, other, func(c *x509.Certificate) { c.SerialNumber = vendor.certificate.SerialNumber })
	for _, keyID := range []bool{false, true} {
		f := forgery{by: []*holder{vendor}, keyID: keyID, content: manifest, certificates: []*holder{root, sibling}}
		wantReason(t, verify(t, f.bytes(t), manifest, trusting(root))[0], cms.ErrNoCertificate)
	}
	f := forgery{by: []*holder{vendor}, content: manifest, certificates: []*holder{namesake}}
	wantReason(t, verify(t, f.bytes(t), manifest, trusting(root, other))[0], cms.ErrNoCertificate)
}
