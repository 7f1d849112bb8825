package csar_test

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/tosca/csar"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// facts are the data of the corpus' index about a manifest, which come from other programs than this package.
type facts struct {
	sources, ok, bad, noFile, none, absent int
	cms                                    string // "", "verifies" or "does NOT verify"
}

// differs explains the packages for which this package and the index differ.
var differs = map[string]string{
	"tacker-ut-svp_csar_in_meta_and_manifest_false":      "TOSCA.meta names manifest.mf1, which is not there: a fault of its own",
	"tacker-ut-svp_csar_in_meta_and_manifest_false_hash": "TOSCA.meta does not name the manifest, and it has not the name of the entry definitions",
	"vnfsdk-val-r10087-invalidManifestFile":              "TOSCA.meta names a manifest that is not there: a fault of its own",
	"vnfsdk-val-resources-sample2":                       "TOSCA.meta does not name the manifest, and it has not the name of the entry definitions",
	"vnfsdk-val-vnf-noDirectoryEntry":                    "the signature verifies with the certificate of Entry-Certificate, which the index did not use",
}

// refused are the packages that no policy opens.
var refused = map[string]problem.Code{
	"sdc-NEW_NC_with_manifest":             problem.MissingEntry, // two YAML files in the root
	"sdc-csar-and-cms-in-root":             problem.NotPackage,   // the CSAR in it has 0 bytes
	"sdc-missingMainServiceTemplate":       problem.MissingEntry,
	"sdc-successfulUpload":                 problem.MissingEntry, // its entry definitions are not in it
	"sdc-vCSCF":                            problem.MissingEntry, // the same
	"sdc-valid":                            problem.MissingEntry, // two YAML files in the root
	"so-nfvo-invalid_ns":                   problem.MissingEntry,
	"tacker-unit-sol_refactored-s-sample2": problem.MissingEntry, // a stub without its entry file
	"tacker-ut-test_csar_utils_data-test_csar_utils_common": problem.MissingEntry, // the same
	"tp-csar-csar_metadata_not_yaml":                        problem.Meta,
	"tp-csar-csar_not_zip":                                  problem.NotPackage,
	"tp-csar-csar_two_root_level_yaml":                      problem.MissingEntry,
	"vnfsdk-val-pnf-noToscaMetaFile":                        problem.MissingEntry,
	"vnfsdk-val-r10087-invalidEntryDefinitionsInToscaMeta":  problem.MissingEntry,
	"vnfsdk-val-r293901-noTOSCAMetaInTOSCADirectory":        problem.MissingEntry,
}

// signedAsWhole maps the packages of option 2 to whether the signature over the CSAR is valid, according to openssl or because it is not
// a CMS.
var signedAsWhole = map[string]bool{
	"sdc-2-file-signed-package":                         true,
	"sdc-3-file-signed-package":                         true,
	"sdc-signed-package":                                true,
	"vnfsdk-val-pnf-signed-package-invalid-signature":   false,
	"vnfsdk-val-r01123-csar-option2-invalid-with-cms":   false,
	"vnfsdk-val-r01123-csar-option2-valid-with-cms":     false,
	"vnfsdk-val-r787965-broken":                         false,
	"vnfsdk-val-r816745-zip-with-invalid-pm-dictionary": false,
	"vnfsdk-val-r816745-zip-with-valid-pm-dictionary":   false,
}

// TestCorpus compares the digests and signatures of real packages with the index of the corpus. Set VNFKIT_CORPUS to
// the folder that holds tosca/INDEX.md and tosca/pkg.
func TestCorpus(t *testing.T) {
	corpus := os.Getenv("VNFKIT_CORPUS")
	if corpus == "" {
		t.Skip("VNFKIT_CORPUS is not set: no corpus of packages to read")
	}
	entries, err := os.ReadDir(filepath.Join(corpus, "tosca", "pkg"))
	if err != nil {
		t.Fatal(err)
	}
	index := readIndex(t, filepath.Join(corpus, "tosca", "INDEX.md"))
	var agree int
	for _, e := range entries {
		path := filepath.Join(corpus, "tosca", "pkg", e.Name())
		name := strings.TrimSuffix(strings.TrimSuffix(e.Name(), ".csar"), ".zip")
		t.Run(name, func(t *testing.T) {
			if compareToIndex(t, name, path, index) {
				agree++
			}
		})
	}
	t.Logf("%d packages, %d manifests in the index, of which %d are as it says", len(entries), len(index), agree)
}

// compareToIndex reports whether the index has facts of a package, and the facts are equal.
func compareToIndex(t *testing.T, name, path string, index map[string]facts) bool {
	t.Helper()
	a, err := csar.Open(t.Context(), path, csar.Options{Integrity: csar.Integrity{Policy: csar.Warn}})
	if code, isRefused := refused[name]; isRefused {
		if !errors.Is(err, problem.Problem{Code: code}) {
			t.Errorf("Open: %v, want %s", err, code)
		}
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if err := a.Verify(t.Context()); err != nil {
		t.Errorf("Verify refuses, where it should warn: %v", err)
	}
	want, indexed := index[name]
	got := factsOf(a, omittedFrom(path))
	right, whole := signedAsWhole[name]
	switch {
	case whole:
		if got := wholeIsRight(a); got != right {
			t.Errorf("signature over the CSAR: right %t, want %t:\n%v", got, right, a.Warnings())
		}
	case differs[name] != "":
		if got == want {
			t.Error("no longer differs from the index")
		}
	case got != want:
		t.Errorf("got  %+v\nwant %+v\n%v", got, want, a.Warnings())
	default:
		return indexed
	}
	return false
}

func wholeIsRight(a *csar.Archive) bool {
	for _, s := range a.Signers() {
		if s.Valid && strings.HasSuffix(s.Signed, ".csar") {
			return true
		}
	}
	return false
}

// factsOf counts like the index: a digest without an algorithm is bad, and a digest of a URL does not belong to a file.
func factsOf(a *csar.Archive, omitted map[string]string) facts {
	var f facts
	m := a.Manifest()
	if m == nil {
		return f
	}
	wrong, missing := map[int]bool{}, map[int]bool{}
	for _, w := range a.Warnings() {
		if w.File != m.File {
			continue
		}
		switch w.Code {
		case problem.HashMismatch, problem.HashAlgorithm, problem.Manifest:
			wrong[w.Line] = true
		case problem.MissingFile:
			missing[w.Line] = missing[w.Line] || !strings.HasPrefix(w.Message, `"`) // else its signature is
		}
	}
	lists := [][]csar.Source{m.Sources}
	for _, set := range m.NonMANO {
		lists = append(lists, set.Sources)
	}
	for _, s := range slices.Concat(lists...) {
		sum, left := omitted[s.Name]
		f.sources++
		if missing[s.Pos.Line] && !left {
			f.absent++
		}
		switch {
		case s.Hash == "":
			f.none++
		case wrong[s.Pos.Line], left && !strings.EqualFold(sum, s.Hash):
			f.bad++
		case s.Remote(), missing[s.Pos.Line] && !left:
			f.noFile++
		default:
			f.ok++
		}
	}
	if m.Signed() {
		f.cms = "does NOT verify"
		for _, s := range a.Signers() {
			if s.Valid && s.File == m.File {
				f.cms = "verifies"
			}
		}
	}
	return f
}

// omittedFrom returns the members of a package that the corpus omits, with their SHA-256.
func omittedFrom(path string) map[string]string {
	content, _ := os.ReadFile(filepath.Join(path, "OMITTED.txt")) // most packages do not have this file
	omitted := map[string]string{}
	for line := range strings.Lines(string(content)) {
		if f := strings.Fields(line); len(f) > 2 && f[0] != "#" {
			omitted[f[2]] = f[1]
		}
	}
	return omitted
}

var factsText = regexp.MustCompile(`\.mf: (\d+) sources, hash ok (\d+) bad (\d+) no-file (\d+) none (\d+), absent (\d+)(?:, CMS (.*))?$`)

func readIndex(t *testing.T, path string) map[string]facts {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	index := map[string]facts{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		cells := strings.Split(lines.Text(), "|")
		if len(cells) < 14 {
			continue
		}
		m := factsText.FindStringSubmatch(strings.TrimSpace(cells[12]))
		if m == nil {
			continue
		}
		n := make([]int, 7)
		for i := 1; i < 7; i++ {
			n[i], _ = strconv.Atoi(m[i])
		}
		index[strings.TrimSpace(cells[1])] = facts{n[1], n[2], n[3], n[4], n[5], n[6], m[7]}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return index
}
