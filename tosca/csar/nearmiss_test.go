package csar_test

import (
	"bytes"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/vnfkit/vnfkit/tosca/csar"
)

// TestNearMisses checks that packages that were packed in a wrong way are refused with one problem that names the remedy.
func TestNearMisses(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files []string
		want  string
	}{
		{"folder", []string{"web/TOSCA-Metadata/TOSCA.meta", "web/Definitions/vnfd.yaml"}, "the package is in the folder web: pack the content"},
		{"folder beside YAML files", []string{"web/TOSCA-Metadata/TOSCA.meta", "notes.yaml", "more.yaml"}, "the package is in the folder web: pack the content"},
		{"folder without TOSCA.meta", []string{"web/vnfd.yaml", "web/Files/image"}, "the package is in the folder web: pack the content"},
		{"two folders", []string{"web/vnfd.yaml", "db/vnfd.yaml"}, "there is neither TOSCA-Metadata/TOSCA.meta nor a YAML file in the root"},
		{"nothing", []string{"a/b"}, "there is neither TOSCA-Metadata/TOSCA.meta nor a YAML file in the root"},
	} {
		files := fstest.MapFS{}
		for _, name := range tt.files {
			files[name] = &fstest.MapFile{Data: []byte("Entry-Definitions: Definitions/vnfd.yaml\n"), Mode: 0o644}
		}
		_, err := csar.OpenFS(t.Context(), files, csar.Options{})
		if err == nil || strings.Count(err.Error(), "\n") > 0 || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want one with %q", tt.name, err, tt.want)
		}
	}
	packed := bytes.NewReader([]byte("\x1f\x8b\x08\x00"))
	if _, err := csar.OpenReader(t.Context(), packed, packed.Size(), csar.Options{}); err == nil || !strings.Contains(err.Error(), "a gzip file, as the packages of OSM are") {
		t.Errorf("gzip: error %v", err)
	}
}
