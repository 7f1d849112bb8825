package cms_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/tosca/internal/cms"
)

// TestVectors verifies signatures of the manifest that openssl 3.0 made, with the root of their certificates. So the encoding of
// openssl is tested on machines without openssl too. testdata/README.md contains the script that made the files; the private
// keys were not stored.
func TestVectors(t *testing.T) {
	pem, err := os.ReadFile("testdata/root.pem")
	if err != nil {
		t.Fatal(err)
	}
	root, err := cms.ParseCertificates(pem)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("testdata/*.cms")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			signature, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			signed := manifest
			if strings.Contains(name, "text") {
				signed = bytes.ReplaceAll(manifest, []byte("\n"), []byte("\r\n"))
			}
			o := trusting(&holder{certificate: root[0]})
			wantReason(t, verify(t, signature, signed, o)[0], nil)
		})
	}
}
