package csar_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/tosca/csar"
)

func TestMetaProblems(t *testing.T) {
	const (
		entry = "TOSCA-Meta-File-Version: 1.0\nCSAR-Version: 1.1\nCreated-By: me\nEntry-Definitions: v.yaml\n"
		where = "TOSCA-Metadata/TOSCA.meta"
	)
	tests := []struct {
		name, meta string
		want       []string
	}{
		{"keys in other letters", strings.ToLower(entry), nil},
		{"a plain TOSCA package", entry, nil},
		{"no versions, no author", "Entry-Definitions: v.yaml\n", []string{
			where + ": there is no CSAR-Version [csar.missing-meta-key]",
			where + ": there is no Created-By [csar.missing-meta-key]",
			where + ": there is no TOSCA-Meta-File-Version [csar.missing-meta-key]",
		}},
		{"other versions", "TOSCA-Meta-File-Version: 2.0\nCSAR-Version: 1.0\nCreated-By: me\nEntry-Definitions: v.yaml\n", []string{
			where + ":1:1: TOSCA-Meta-File-Version is \"2.0\"; expected 1.0 or 1.1 [csar.meta-value]",
			where + ":2:1: CSAR-Version is \"1.0\"; expected 1.1 [csar.meta-value]",
		}},
		{"the newer version", "TOSCA-Meta-File-Version: 1.1\nCSAR-Version: 1.1\nCreated-By: me\nEntry-Definitions: v.yaml\nOther-Definitions: w.yaml\n", nil},
		{"complete", entry + "ETSI-Entry-Manifest: v.mf\nETSI-Entry-Change-Log: ChangeLog.txt\nETSI-Entry-Tests: Tests\nETSI-Entry-Licenses: Licenses/\n", nil},
		{"no change log", entry + "ETSI-Entry-Manifest: v.mf\n", []string{where + ": there is no ETSI-Entry-change-log [csar.missing-meta-key]"}},
		{"no manifest", entry + "Entry-Change-Log: ChangeLog.txt\n", []string{where + ": there is no ETSI-Entry-manifest [csar.missing-meta-key]"}},
		{"files that are not there", entry + "ETSI-Entry-Manifest: v.mf\nETSI-Entry-Change-Log: x/ChangeLog.txt\nEntry-Tests: y\nETSI-Entry-Certificate: ../z.cert\n", []string{
			where + ":6:1: \"x/ChangeLog.txt\" is not in the package [csar.missing-file]",
			where + ":7:1: \"y\" is not in the package [csar.missing-file]",
			where + ":8:1: \"../z.cert\" is not in the package [csar.missing-file]",
		}},
		{"other names", entry + "ETSI-Entry-Manifest: v.mf\nETSI-Entry-Change-Log: Licenses/l\nETSI-Entry-Certificate: Tests/t\nETSI-Entry-Licences: Licenses\nETSI-Entry-Events: Tests\n", []string{
			where + ":6:1: the change log \"Licenses/l\" must be named ChangeLog.txt [csar.misnamed-file]",
			where + ":7:1: the name of the certificate \"Tests/t\" must end with .cert [csar.misnamed-file]",
			where + ":8:1: SOL004 has no key ETSI-Entry-licences; did you mean \"ETSI-Entry-licenses\"? [csar.meta-value]",
			where + ":9:1: SOL004 has no key ETSI-Entry-events [csar.meta-value]",
		}},
		{"blocks", entry + "\nName: Tests/t\nContent-Type: text/plain\n\nName: Tests/t\nContent-Type: text/plain\n\nName: Licenses/l\n\n" +
			"Name: v.yaml\nContent-Type: text/plain\nAlgorithm: SHA-256\n\nName: x\nContent-Type: text/plain\n", []string{
			where + ":9:1: Tests/t stands already in line 6 [csar.meta]",
			where + ":12:1: Licenses/l has no Content-Type [csar.missing-meta-key]",
			where + ":14:1: v.yaml has an Algorithm without a Hash [csar.meta]",
			where + ":18:1: x is not in the package [csar.missing-file]",
		}},
		{"a key twice", entry + "Entry-Definitions: w.yaml\n", []string{where + ":5:1: \"entry-definitions\" stands already in line 4 [csar.meta]"}},
		{"no colon", entry + "hello\n", []string{where + ":5:1: not of the form \"key: value\" [csar.meta]"}},
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
				got = append(got, p.Error())
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
