package csar_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/tosca/csar"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// TestManifestRules checks manifests against the rules of SOL004 whose violation does not refuse the package.
func TestManifestRules(t *testing.T) {
	const head = "metadata:\n vnf_product_name: p\n vnf_provider_id: a\n vnf_package_version: 1\n"
	const missing = "v.mf: the metadata has no "
	release := func(text string) string { return head + " vnf_release_date_time: " + text + "\n" }
	wrongTime := func(text string) []string {
		return []string{`v.mf:5:1: the release time is "` + text + `"; expected a date with a time as in RFC 3339, 2026-11-30T10:00:00Z [csar.release-time]`}
	}
	good := release("2026-11-30T10:00:00Z")
	digest := digestsOf("v.yaml", "ChangeLog.txt")
	for _, tt := range []struct {
		name, manifest string
		want           []string
	}{
		{"complete", good + " vnfd_id: i\n vnf_software_version: 1\n vnfm_info: x\n compatible_specification_versions: 2.7.1\n" + digest, nil},
		{"offset", release("2017-01-01T10:00:00.5+03:00"), nil},
		{"lower case", release("2017-01-01t10:00:00z"), nil},
		{"word", release("yesterday"), wrongTime("yesterday")},
		{"date", release("2026-11-30"), wrongTime("2026-11-30")},
		{"no seconds", release("2018-05-06T13:00+08:00"), wrongTime("2018-05-06T13:00+08:00")},
		{"no offset", release("2026-11-30T10:00:00"), wrongTime("2026-11-30T10:00:00")},
		{"day that does not exist", release("2026-02-30T10:00:00Z"), wrongTime("2026-02-30T10:00:00Z")},
		{"no metadata", "Source: v.yaml\n", []string{
			missing + "vnf_package_version [csar.manifest-metadata]", missing + "vnf_product_name [csar.manifest-metadata]",
			missing + "vnf_provider_id [csar.manifest-metadata]", missing + "vnf_release_date_time [csar.manifest-metadata]"}},
		{"PNFD", "metadata:\n pnfd_name: p\n pnfd_provider: a\n pnfd_archive_version: 1\n", []string{missing + "pnfd_release_date_time [csar.manifest-metadata]"}},
		{"NSD", "metadata:\n nsd_name: n\n nsd_designer: d\n nsd_release_date_time: 2026-11-30T10:00:00Z\n nsd_invariant_id: i\n",
			[]string{missing + "nsd_file_structure_version [csar.manifest-metadata]"}},
		{"mixed", good + " pnfd_id: i\n", []string{`v.mf:6:1: "pnfd_id" belongs to an archive of a PNFD, and the key in line 2 to a VNF package [csar.mixed-metadata]`}},
		{"misspelt key", good + " vnf_softwareversion: 1\n",
			[]string{`v.mf:6:1: SOL004 does not know the key "vnf_softwareversion"; did you mean "vnf_software_version"? [csar.manifest-metadata]`}},
		{"key of the vendor", good + " colour: red\n", nil},
		{"metadata at the end", "Source: v.yaml\n" + good, []string{"v.mf:2:1: the metadata must be the beginning of the manifest [csar.manifest-metadata]"}},
		{"a source twice", good + "Source: v.yaml\nSource: v.yaml\n", []string{"v.mf:7:1: v.yaml is listed already in line 6 [csar.manifest]"}},
		{"a source also in a set", good + "Source: v.yaml\nnon_mano_artifact_sets:\n  x:\n    Source: v.yaml\n", nil},
		{"an unlisted file", good + digestsOf("v.yaml"), []string{"ChangeLog.txt: the manifest does not list it [csar.not-in-manifest]"}},
		{"a file without digest", good + digestsOf("v.yaml") + "Source: ChangeLog.txt\n",
			[]string{"v.mf:9:1: ChangeLog.txt is listed without a digest, and other files with one [csar.not-in-manifest]"}},
		{"an external file without digest", good + digest + "Source: https://vendor.example/x\n",
			[]string{"v.mf:12:1: the external file https://vendor.example/x is listed without a digest [csar.not-in-manifest]"}},
		{"no digests", good + "Source: v.yaml\n", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, policy := range []csar.Policy{csar.Verify, csar.Off} {
				a, err := csar.OpenFS(t.Context(), fstest.MapFS{"v.yaml": file("x"), "ChangeLog.txt": file("x"), "v.mf": file(tt.manifest)},
					csar.Options{Integrity: csar.Integrity{Policy: policy}})
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.want, texts(a.Warnings())); diff != "" {
					t.Errorf("warnings (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// texts returns the texts of problems, and marks errors.
func texts(list problem.List) (out []string) {
	for _, p := range list {
		text := p.Error()
		if p.Severity != problem.Warning {
			text = "no warning: " + text
		}
		out = append(out, text)
	}
	return out
}

// TestFileNames checks packages whose files have other names than SOL004 prescribes.
func TestFileNames(t *testing.T) {
	const meta = "TOSCA-Meta-File-Version: 1.0\nCSAR-Version: 1.1\nCreated-By: me\nEntry-Definitions: D/v.yaml\nETSI-Entry-Change-Log: ChangeLog.txt\nETSI-Entry-Manifest: "
	for _, tt := range []struct {
		name  string
		files fstest.MapFS
		want  []string
	}{
		{"as SOL004 wants", fstest.MapFS{"TOSCA-Metadata/TOSCA.meta": file(meta + "v.mf\n"), "D/v.yaml": file(""), "v.mf": file(manifestHead)}, nil},
		{"manifest in the folder", fstest.MapFS{"TOSCA-Metadata/TOSCA.meta": file(meta + "D/v.mf\n"), "D/v.yaml": file(""), "D/v.mf": file(manifestHead)}, nil},
		{"other manifest", fstest.MapFS{"TOSCA-Metadata/TOSCA.meta": file(meta + "x.txt\n"), "D/v.yaml": file(""), "x.txt": file(manifestHead)},
			[]string{"x.txt: the manifest must be named as the entry definitions; expected v.mf [csar.misnamed-file]"}},
		{"TOSCA.meta in lower case", fstest.MapFS{"TOSCA-Metadata/tosca.meta": file(meta + "v.mf\n"), "D/v.yaml": file(""), "v.mf": file(manifestHead)},
			[]string{"TOSCA-Metadata/tosca.meta: TOSCA-Metadata/tosca.meta must be named TOSCA-Metadata/TOSCA.meta: capital letters count [csar.misnamed-file]"}},
		{"its folder in lower case", fstest.MapFS{"tosca-metadata/TOSCA.meta": file(meta + "v.mf\n"), "D/v.yaml": file(""), "v.mf": file(manifestHead)},
			[]string{"tosca-metadata/TOSCA.meta: tosca-metadata/TOSCA.meta must be named TOSCA-Metadata/TOSCA.meta: capital letters count [csar.misnamed-file]"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.files["ChangeLog.txt"] = file("x")
			a, err := csar.OpenFS(t.Context(), tt.files, csar.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, texts(a.Warnings())); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			if got := a.Meta().EntryDefinitions; got != "D/v.yaml" || a.Manifest() == nil {
				t.Errorf("entry definitions %q, manifest %v", got, a.Manifest())
			}
		})
	}
}

// TestMisnamedMetaBesideYAML checks that a misnamed TOSCA.meta is not read in a package that has the form of a package without TOSCA.meta,
// because other readers would not read it either.
func TestMisnamedMetaBesideYAML(t *testing.T) {
	a, err := csar.OpenFS(t.Context(), fstest.MapFS{
		"TOSCA-Metadata/tosca.meta": file("Entry-Definitions: D/other.yaml\n"), "D/other.yaml": file(""), "v.yaml": file(""),
	}, csar.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"TOSCA-Metadata/tosca.meta: TOSCA-Metadata/tosca.meta is not read, because it is not named TOSCA-Metadata/TOSCA.meta and v.yaml is in the root [csar.misnamed-file]"}
	if diff := cmp.Diff(want, texts(a.Warnings())); diff != "" || a.Meta().EntryDefinitions != "v.yaml" {
		t.Errorf("entry definitions %q, warnings (-want +got):\n%s", a.Meta().EntryDefinitions, diff)
	}
}

// TestDotNames checks that members whose names begin with "./" are read, and that the package has the digest of the package without these
// names.
func TestDotNames(t *testing.T) {
	for _, isWrapped := range []bool{false, true} {
		digests := map[string]bool{}
		for _, prefix := range []string{"", "./"} {
			all := []member{{name: prefix + "Files/"}, {name: prefix + "v.yaml", content: "x"}, {name: prefix + "Files/image", content: strings.Repeat("i", 1000)}}
			if prefix != "" {
				all = append(all, member{name: prefix})
			}
			data := members(t, all...)
			if isWrapped {
				data = members(t, member{name: prefix + "p.csar", content: string(data)})
			}
			a, err := csar.OpenReader(t.Context(), bytes.NewReader(data), int64(len(data)), csar.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if warned := strings.Contains(fmt.Sprint(texts(a.Warnings())), `the name begins with "./"`); warned != (prefix != "") {
				t.Errorf("%q: warnings %v", prefix, a.Warnings())
			}
			if content, err := a.Document("Files/image"); err != nil || len(content) != 1000 {
				t.Errorf("%q: %d bytes, %v", prefix, len(content), err)
			}
			digest, err := a.Digest(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			digests[digest] = true
		}
		if len(digests) != 1 {
			t.Errorf("digests: %v", digests)
		}
	}
}
