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
		{"lower case", []string{"TOSCA-Metadata/tosca.meta", "Definitions/vnfd.yaml"}, "TOSCA-Metadata/tosca.meta must be named TOSCA-Metadata/TOSCA.meta"},
		{"folder in lower case", []string{"tosca-metadata/TOSCA.meta"}, "tosca-metadata/TOSCA.meta must be named TOSCA-Metadata/TOSCA.meta"},
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
