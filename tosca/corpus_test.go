package tosca_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/tosca/csar"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// refused are packages with faults that their origin considers valid, each with the code of its first problem.
var refused = map[string]problem.Code{
	// Stubs of unit tests without their entry file.
	"tacker-ut-test_csar_utils_data-test_csar_utils_common": problem.MissingEntry,
	"tacker-unit-sol_refactored-s-sample2":                  problem.MissingEntry,
	// SOL001 does not define the data types: LinkBitRateRequirements.
	"etsicat-pnf-ran-du": problem.UnknownProperty,
	// tosca_simple_profile_yaml_1_1 is not a version, and some values are not allowed.
	"etsicat-vnf-vSBC": problem.Version,
	// The VNF has no id, no provider and no other product data.
	"etsicat-vnf-vcpesriov-infra": problem.MissingProperty,
	// Capabilities and policies have properties beside "properties", nodes have a "name", and targets do not exist.
	"openmsa-conn-vnf":               problem.UnknownNode,
	"openmsa-scale-vnf":              problem.Type,
	"openmsa-sol001-3.7.1-ubi-tosca": problem.UnknownProperty,
	"openmsa-sol001-4.4.1-ubi-tosca": problem.UnknownProperty,
}

// withoutVDUs are descriptors of VNFs without VDUs.
var withoutVDUs = map[string]bool{
	"tacker-ut-test_cnf_ext_artifact": true, // its resources are in Kubernetes manifests
}

// TestCorpus reads real packages from public projects, which the corpus contains as directories. VNFKIT_CORPUS is the directory with
// tosca/INDEX.md and tosca/pkg.
func TestCorpus(t *testing.T) {
	corpus := os.Getenv("VNFKIT_CORPUS")
	if corpus == "" {
		t.Skip("VNFKIT_CORPUS is not set: no corpus of packages to read")
	}
	valid := validInIndex(t, filepath.Join(corpus, "tosca", "INDEX.md"))
	entries, err := os.ReadDir(filepath.Join(corpus, "tosca", "pkg"))
	if err != nil {
		t.Fatal(err)
	}
	opened, wanted := 0, 0
	got := map[string]problem.Code{}
	quirks := map[problem.Quirk]int{}
	for _, e := range entries {
		name := e.Name()
		warnings, err := readCorpusPackage(t, filepath.Join(corpus, "tosca", "pkg", name))
		if err == nil {
			opened++
		}
		countQuirks(quirks, warnings)
		if !e.IsDir() || !valid[name] {
			continue
		}
		wanted++
		var p problem.Problem
		if errors.As(err, &p) {
			got[name] = p.Code
			if p.Code != refused[name] {
				t.Errorf("%s:\n%v", name, err)
			}
		} else if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	t.Logf("%d packages, %d opened; of %d folders called valid %d accepted", len(entries), opened, wanted, wanted-len(got))
	t.Logf("packages with quirks: %v", quirks)
	if diff := cmp.Diff(refused, got); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
}

// countQuirks counts a package for each of its quirks.
func countQuirks(quirks map[problem.Quirk]int, warnings problem.List) {
	seen := map[problem.Quirk]bool{"": true}
	for _, w := range warnings {
		if !seen[w.Quirk] {
			seen[w.Quirk] = true
			quirks[w.Quirk]++
		}
	}
}

// readCorpusPackage opens a package, uses it, and returns its warnings.
func readCorpusPackage(t *testing.T, path string) (problem.List, error) {
	t.Helper()
	// The corpus omits members of packages, so digests do not match. Package csar tests digests.
	p, err := tosca.Open(context.Background(), path, tosca.AnyDescriptor(), tosca.WithIntegrity(csar.Integrity{Policy: csar.Off}))
	if err != nil {
		return nil, err
	}
	defer p.Close()
	if _, err := p.Digest(context.Background()); err != nil {
		t.Errorf("%s: %v", path, err)
	}
	if p.VNFD() == nil {
		return p.Warnings(), nil
	}
	vdus := 0
	for _, f := range p.VNFD().Flavours {
		vdus += len(f.VDUs)
		if _, err := f.InitialSize(tosca.TargetSize{}); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	if name := filepath.Base(path); vdus == 0 && !withoutVDUs[name] {
		t.Errorf("%s: the VNFD has no VDU", name)
	}
	return p.Warnings(), nil
}

// validInIndex returns the names of the packages that, according to the index, their origin considers valid.
func validInIndex(t *testing.T, path string) map[string]bool {
	t.Helper()
	valid := map[string]bool{}
	for _, cells := range indexRows(t, path) {
		valid[cells[1]] = cells[3] == "valid"
	}
	return valid
}
