package cms_test

import (
	"bytes"
	"encoding/pem"
	"errors"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/tosca/internal/cms"
)

func TestParseCertificates(t *testing.T) {
	a, b := certify(t, "a", ecdsaKey(), nil), certify(t, "b", ecdsaKey(), nil)
	block := func(label string, h *holder) []byte {
		return pem.EncodeToMemory(&pem.Block{Type: label, Bytes: h.certificate.Raw})
	}
	for name, tt := range map[string]struct {
		data  []byte
		names string
		want  string // text in the error
	}{
		"one PEM":             {block("CERTIFICATE", a), "CN=a", ""},
		"two PEM":             {append(block("CERTIFICATE", a), block("CERTIFICATE", b)...), "CN=a CN=b", ""},
		"among other blocks":  {append(block("PUBLIC KEY", a), block("CERTIFICATE", b)...), "CN=b", ""},
		"DER":                 {a.certificate.Raw, "CN=a", ""},
		"two DER":             {append(bytes.Clone(a.certificate.Raw), b.certificate.Raw...), "CN=a CN=b", ""},
		"none":                {nil, "", "it holds no certificate"},
		"text":                {[]byte("certificate"), "", "certificate: x509"},
		"only other blocks":   {block("PUBLIC KEY", a), "", "certificate: x509"},
		"a broken one":        {append(block("CERTIFICATE", a), "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n"...), "", "certificate: x509"},
		"more than any needs": {bytes.Repeat(block("CERTIFICATE", a), 33), "", "33 certificates"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := cms.ParseCertificates(tt.data)
			if tt.want != "" {
				if !errors.Is(err, cms.ErrMalformed) || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("error %v, want %q in it", err, tt.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, c := range got {
				names = append(names, c.Subject.String())
			}
			if s := strings.Join(names, " "); s != tt.names {
				t.Errorf("certificates of %s, want %s", s, tt.names)
			}
		})
	}
}

// TestUnreadableCertificate checks that an unreadable certificate is a fault only if the signer needs it.
func TestUnreadableCertificate(t *testing.T) {
	vendor := certify(t, "vendor", ecdsaKey(), nil)
	broken := []byte{0x30, 0}
	attributeCertificate := []byte{0xa2, 2, 5, 0}
	f := forgery{by: []*holder{vendor}, content: manifest}
	f.spoil = func(sd *signedData) { sd.Certificates = implicit0(append(broken, attributeCertificate...)) }
	got := verify(t, f.bytes(t), manifest, trusting(vendor))[0]
	wantReason(t, got, cms.ErrNoCertificate)
	if !strings.Contains(got.Reason.Error(), "cannot be read: x509") {
		t.Errorf("reason %v, want the cause why the certificate in the CMS cannot be read", got.Reason)
	}
	f.spoil = func(sd *signedData) {
		sd.Certificates = implicit0(bytes.Join([][]byte{broken, attributeCertificate, vendor.certificate.Raw}, nil))
	}
	wantReason(t, verify(t, f.bytes(t), manifest, trusting(vendor))[0], nil)
}
