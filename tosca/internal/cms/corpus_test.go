package cms_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/vnfkit/vnfkit/tosca/internal/cms"
)

// TestCorpusManifest verifies the signed manifests of vendors, which openssl verifies too. The signed text ends before the block
// of the signature.
func TestCorpusManifest(t *testing.T) {
	corpus := os.Getenv("VNFKIT_CORPUS")
	if corpus == "" {
		t.Skip("VNFKIT_CORPUS is not set: no signed manifests to read")
	}
	names, err := filepath.Glob(filepath.Join(corpus, "tosca/manifests/signed/*/*.mf"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no manifests: %v", err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			file, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			text, _, found := bytes.Cut(file, []byte("-----BEGIN CMS-----"))
			if !found {
				t.Fatal("the manifest is not signed")
			}
			wantReason(t, verify(t, file, text, cms.Options{Now: now})[0], cms.ErrUntrusted)
		})
	}
}
