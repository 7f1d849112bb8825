package csar_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/vnfkit/vnfkit/tosca/csar"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// withManifest opens a package that has only a manifest.
func withManifest(t *testing.T, manifest string) (*csar.Manifest, []string) {
	t.Helper()
	a, err := csar.OpenFS(t.Context(), fstest.MapFS{"v.yaml": file(""), "v.mf": file(manifest)},
		csar.Options{Integrity: csar.Integrity{Policy: csar.Warn}})
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, w := range a.Warnings() {
		if w.Code == problem.Manifest {
			found = append(found, fmt.Sprint(w.Position, " ", w.Message))
		}
	}
	return a.Manifest(), found
}

func TestManifest(t *testing.T) {
	at := func(line int) problem.Position { return problem.Position{File: "v.mf", Line: line, Column: 1} }
	tests := []struct {
		name, text string
		want       csar.Manifest
	}{
		{"as SOL004 shows it", `metadata:
  vnf_product_name: vMRF
  vnf_provider_id: Acme
  vnf_package_version: 1.0
  vnf_release_date_time: 2017-01-01T10:00:00+03:00
  vnfd_id: 2116fd24-83f2-416b-bf3c-ca1964793aca

Source: MRF.yaml
Algorithm: SHA-256
Hash: 09e5

# where the vendor keeps it
Source: https://vendor.example/scale.sh
Algorithm: SHA-512
Hash: 36f9

Source: a.img
Signature: a.cms
Certificate: a.cert

non_mano_artifact_sets:
  onap_ves_events:
    Source: Events/x.yaml
  prv.happy.cool:  # a private one
    Source: a
    Source: b
`, csar.Manifest{
			File: "v.mf",
			Metadata: csar.Metadata{
				ProductName: "vMRF", ProviderID: "Acme", PackageVersion: "1.0",
				ReleaseDateTime: "2017-01-01T10:00:00+03:00", DescriptorID: "2116fd24-83f2-416b-bf3c-ca1964793aca",
			},
			Sources: []csar.Source{
				{Name: "MRF.yaml", Algorithm: "SHA-256", Hash: "09e5", Pos: at(8)},
				{Name: "https://vendor.example/scale.sh", Algorithm: "SHA-512", Hash: "36f9", Pos: at(13)},
				{Name: "a.img", Signature: "a.cms", Certificate: "a.cert", Pos: at(17)},
			},
			NonMANO: []csar.ArtifactSet{
				{Name: "onap_ves_events", Sources: []csar.Source{{Name: "Events/x.yaml", Pos: at(23)}}},
				{Name: "prv.happy.cool", Sources: []csar.Source{{Name: "a", Pos: at(25)}, {Name: "b", Pos: at(26)}}},
			},
		}},
		{"without indentation, lower case, CRLF, a PNFD", strings.ReplaceAll(`metadata:
pnfd_name: r
pnfd_provider: Acme
pnfd_archive_version: 2
pnfd_release_date_time: now
colour: red
source: a
hash: 00
algorithm: sha256
source: b
non_mano_artifact_sets:
x:
source: c
`, "\n", "\r\n"), csar.Manifest{
			File:     "v.mf",
			Metadata: csar.Metadata{ProductName: "r", ProviderID: "Acme", PackageVersion: "2", ReleaseDateTime: "now", Other: map[string]string{"colour": "red"}},
			Sources:  []csar.Source{{Name: "a", Algorithm: "sha256", Hash: "00", Pos: at(7)}, {Name: "b", Pos: at(10)}},
			NonMANO:  []csar.ArtifactSet{{Name: "x", Sources: []csar.Source{{Name: "c", Pos: at(13)}}}},
		}},
		{"sets before sources, Name for Source", `non_mano_artifact_sets:
  x:
    Source: a
Source: b
Name: c
`, csar.Manifest{
			File:    "v.mf",
			Sources: []csar.Source{{Name: "b", Pos: at(4)}, {Name: "c", Pos: at(5)}},
			NonMANO: []csar.ArtifactSet{{Name: "x", Sources: []csar.Source{{Name: "a", Pos: at(3)}}}},
		}},
		{"empty", "", csar.Manifest{File: "v.mf"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, found := withManifest(t, tt.text)
			if diff := cmp.Diff(&tt.want, got, cmpopts.IgnoreUnexported(csar.Manifest{})); diff != "" {
				t.Errorf("manifest (-want +got):\n%s", diff)
			}
			if len(found) > 0 {
				t.Errorf("problems: %q", found)
			}
		})
	}
}

func TestManifestProblems(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"no colon", "metadata:\nhello\n", `v.mf:2:1 not of the form "key: value"`},
		{"no key", "metadata:\n  : x\n", `v.mf:2:1 not of the form "key: value"`},
		{"source without path", "Source:\n", "v.mf:1:1 a source without a path"},
		{"hash without value", "Source: a\nAlgorithm: SHA-256\nHash:\n", `v.mf:3:1 "hash" has no value`},
		{"hash without algorithm", "Source: a\nHash: 00\n", "v.mf:1:1 a has a Hash without an Algorithm"},
		{"algorithm without hash", "Source: a\nAlgorithm: SHA-256\n", "v.mf:1:1 a has an Algorithm without a Hash"},
		{"certificate without signature", "Source: a\nCertificate: c\n", "v.mf:1:1 a has a Certificate without a Signature"},
		{"two hashes", "Source: a\nAlgorithm: SHA-256\nHash: 00\nHash: 01\n", `v.mf:4:1 "hash" stands twice for one source`},
		{"hash of nothing", "Hash: 00\n", `v.mf:1:1 "hash" belongs to no Source`},
		{"source in no set", "non_mano_artifact_sets:\n  Source: a\n", "v.mf:2:1 the source belongs to no set of non-MANO artifacts"},
		{"unknown key", "colour: red\n", `v.mf:1:1 the key "colour" is not known here`},
		{"text behind the signature", "-----BEGIN CMS-----\nAAAA\n-----END CMS-----\n\nSource: a\n", "v.mf:4:1 there is text after the signature, which the signature does not cover"},
		{"signature without end", "Source: a\n-----BEGIN CMS-----\nAAAA\n", "v.mf:2:1 the signature has no end"},
		{"two versions", "metadata:\n vnf_package_version: 1\n pnfd_archive_version: 2\n", `v.mf:3:1 "pnfd_archive_version", or what means the same, stands twice`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, found := withManifest(t, tt.text)
			if len(found) == 0 || found[0] != tt.want && found[len(found)-1] != tt.want {
				t.Errorf("problems %q, want %q", found, tt.want)
			}
		})
	}
}

// TestWhichManifest checks that the manifest is the file that TOSCA.meta names or, without such an entry, the file with the name of the
// entry definitions.
func TestWhichManifest(t *testing.T) {
	tests := []struct {
		name, meta string
		files      []string
		want       string
		code       problem.Code
	}{
		{"named", "ETSI-Entry-Manifest: m/x.mf\n", []string{"m/x.mf"}, "m/x.mf", ""},
		{"named as before SOL004 v2.5.1", "entry-manifest: x.mf\n", []string{"x.mf"}, "x.mf", ""},
		{"the newer key counts", "Entry-Manifest: y.mf\nETSI-Entry-Manifest: x.mf\n", []string{"x.mf", "y.mf"}, "x.mf", ""},
		{"same name in the root", "\n", []string{"v.mf", "D/v.mf"}, "v.mf", ""},
		{"same name beside", "\n", []string{"D/v.mf"}, "D/v.mf", ""},
		{"none", "\n", []string{"x.mf"}, "", ""},
		{"not there", "ETSI-Entry-Manifest: x.mf\n", nil, "", problem.MissingFile},
		{"outside", "ETSI-Entry-Manifest: ../x.mf\n", nil, "", problem.OutsidePackage},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fsys := fstest.MapFS{"TOSCA-Metadata/TOSCA.meta": file("Entry-Definitions: D/v.yaml\n" + tt.meta), "D/v.yaml": file("")}
			for _, name := range tt.files {
				fsys[name] = file("")
			}
			a, err := csar.OpenFS(t.Context(), fsys, csar.Options{})
			if tt.code != "" {
				if diff := cmp.Diff(only(tt.code), codes(t, err)); diff != "" {
					t.Errorf("codes (-want +got):\n%s", diff)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if m := a.Manifest(); m != nil {
				got = m.File
			}
			if got != tt.want {
				t.Errorf("manifest %q, want %q", got, tt.want)
			}
		})
	}
}

// TestUnnamedManifests checks that Open warns of manifests that it does not read, and that it examines only a limited number of them.
func TestUnnamedManifests(t *testing.T) {
	files := contents()
	files["vnf.mf"] = manifestOf(files)
	files["Licenses/META-INF/MANIFEST.MF"] = "Manifest-Version: 1.0\n"
	a, err := csar.OpenFS(t.Context(), mapFS(files), csar.Options{})
	if err != nil || errors.Is(a.Warnings(), problem.Problem{Code: problem.UnnamedManifest}) {
		t.Errorf("the manifest itself: %v", err)
	}
	files["old/vnf.MF"] = "metadata:\n"
	if a, err = csar.OpenFS(t.Context(), mapFS(files), csar.Options{}); err != nil || !errors.Is(a.Warnings(), problem.Problem{Code: problem.UnnamedManifest}) {
		t.Errorf("no warning of another one: %v", err)
	}
	for i := range 17 {
		files[strings.Repeat("m", i+1)+".mf"] = "metadata:\n"
	}
	if _, err = csar.OpenFS(t.Context(), mapFS(files), csar.Options{}); !errors.Is(err, problem.Problem{Code: problem.TooLarge}) {
		t.Errorf("18 of them: %v", err)
	}
}
