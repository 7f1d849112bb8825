package cms_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/vnfkit/vnfkit/tosca/internal/cms"
)

// Hostile input is refused or has no trusted signer: the fuzzer has none of the
// keys. What it reports is consistent, and it never panics.
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
		t.Error("nobody signed and that is no error")
	}
	for _, s := range signers {
		if s.Trusted || s.Reason == nil || s.Valid && s.Certificate == nil || s.ID == "" {
			t.Errorf("signer %+v", s)
		}
		_ = s.Reason.Error()
	}
}
