package csar_test

import (
	"fmt"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/tosca/csar"
)

func TestMetaProblems(t *testing.T) {
	const entry = "Entry-Definitions: v.yaml\n"
	tests := []struct {
		name, meta string
		want       []string
	}{
		{"as little as can be", "entry-definitions: v.yaml", nil},
		{"a plain TOSCA package", entry + "Created-by: me\n", nil},
		{"complete", entry + "ETSI-Entry-Manifest: v.mf\nETSI-Entry-Change-Log: ChangeLog.txt\nETSI-Entry-Tests: Tests\nETSI-Entry-Licenses: Licenses/\n", nil},
		{"no change log", entry + "ETSI-Entry-Manifest: v.mf\n",
			[]string{"TOSCA-Metadata/TOSCA.meta csar.missing-meta-key"}},
		{"no manifest", entry + "Entry-Change-Log: ChangeLog.txt\n",
			[]string{"TOSCA-Metadata/TOSCA.meta csar.missing-meta-key"}},
		{"files that are not there", entry + "ETSI-Entry-Manifest: v.mf\nETSI-Entry-Change-Log: x\nEntry-Tests: y\nETSI-Entry-Certificate: ../z\n", []string{
			"TOSCA-Metadata/TOSCA.meta:3:1 csar.missing-file",
			"TOSCA-Metadata/TOSCA.meta:4:1 csar.missing-file",
			"TOSCA-Metadata/TOSCA.meta:5:1 csar.missing-file",
		}},
		{"a key twice", entry + "Entry-Definitions: w.yaml\n", []string{"TOSCA-Metadata/TOSCA.meta:2:1 csar.meta"}},
		{"no colon", entry + "hello\n", []string{"TOSCA-Metadata/TOSCA.meta:2:1 csar.meta"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, err := csar.OpenFS(t.Context(), fstest.MapFS{
				"TOSCA-Metadata/TOSCA.meta": file(tt.meta), "v.yaml": file(""),
				"v.mf": file(manifestHead), "ChangeLog.txt": file(""), "Tests/t": file(""), "Licenses/l": file(""),
			}, csar.Options{})
			found := problems(t, err)
			if err == nil {
				found = a.Warnings()
			}
			var got []string
			for _, p := range found {
				got = append(got, fmt.Sprint(p.Position, " ", p.Code))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// TestMetadataInYAML checks that, without TOSCA.meta, the metadata come from the only YAML file.
func TestMetadataInYAML(t *testing.T) {
	const text = "tosca_definitions_version: tosca_simple_yaml_1_3\n%s\nimports: [ ]\nx: [\n"
	want := csar.Meta{EntryDefinitions: "v.yaml", CreatedBy: "Acme", TemplateName: "vnf", TemplateVersion: "1.0"}
	for name, metadata := range map[string]string{
		"block":   "metadata:\n  template_name: 'vnf'\n# of whom\n  template_author: Acme\n\n  template_version: 1.0\n",
		"flow":    "metadata: {template_name: vnf, template_author: Acme,\n  template_version: '1.0'}\n",
		"windows": "metadata:\r\n  template_name: vnf\r\n  template_author: Acme\r\n\r\n  template_version: 1.0\r\n",
	} {
		a, err := csar.OpenFS(t.Context(), fstest.MapFS{"v.yaml": file(fmt.Sprintf(text, metadata))}, csar.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, a.Meta()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for name, metadata := range map[string]string{"none": "", "no mapping": "metadata: 1", "no YAML": "metadata: {"} {
		a, err := csar.OpenFS(t.Context(), fstest.MapFS{"v.yaml": file(fmt.Sprintf(text, metadata))}, csar.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(csar.Meta{EntryDefinitions: "v.yaml"}, a.Meta()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
