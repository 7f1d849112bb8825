package tosca_test

import (
	"bufio"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// notVNFDs are the packages the corpus calls valid in which there is nothing to
// accept.
var notVNFDs = map[string]problem.Code{
	"tacker-s-tests-etc-s-svp_csar_in_meta_and_manifest":                problem.Value,        // provider is none of the valid_values
	"tacker-ut-csar_short_notation_for_artifacts_without_sw_image_data": problem.NotVNFD,      // has no VNF node
	"tacker-ut-test_csar_utils_data-test_csar_utils_common":             problem.MissingEntry, // a stub without its entry file
}

// withoutVDUs are VNFDs whose flavours have none: all is in Kubernetes manifests.
var withoutVDUs = map[string]bool{"tacker-ut-test_cnf_ext_artifact": true}

// TestCorpus reads real packages, gathered from public projects. Set
// VNFKIT_CORPUS to the folder that holds tosca/INDEX.md and tosca/pkg.
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
	var opened, wanted, accepted int
	refusals := map[string]problem.Code{}
	for _, e := range entries {
		name := e.Name()
		vdus, err := readCorpusPackage(t, filepath.Join(corpus, "tosca", "pkg", name))
		if err == nil {
			opened++
		}
		if !e.IsDir() || !valid[name] || !ofTacker(name) {
			continue
		}
		wanted++
		var p problem.Problem
		switch {
		case errors.As(err, &p):
			refusals[name] = p.Code
			if p.Code != notVNFDs[name] {
				t.Errorf("%s:\n%v", name, err)
			}
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case (vdus == 0) != withoutVDUs[name]:
			t.Errorf("%s: %d VDUs", name, vdus)
		default:
			accepted++
		}
	}
	t.Logf("%d packages, %d opened; of %d valid ones of Tacker %d accepted", len(entries), opened, wanted, accepted)
	if diff := cmp.Diff(notVNFDs, refusals); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
}

func ofTacker(name string) bool {
	for _, prefix := range []string{"tacker-s-", "tacker-ft-", "tacker-ut-"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// readCorpusPackage opens a package and returns the number of its VDUs.
func readCorpusPackage(t *testing.T, path string) (int, error) {
	t.Helper()
	p, err := tosca.Open(context.Background(), path)
	if err != nil {
		return 0, err
	}
	defer p.Close()
	if _, err := p.Digest(context.Background()); err != nil {
		t.Errorf("%s: %v", path, err)
	}
	vdus := 0
	for _, f := range p.VNFD().Flavours {
		vdus += len(f.VDUs)
		if _, err := f.InitialSize(tosca.TargetSize{}); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	return vdus, nil
}

// validInIndex reads the names of the packages whose row says that their origin
// takes them for valid.
func validInIndex(t *testing.T, path string) map[string]bool {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	valid := map[string]bool{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if c := strings.Split(lines.Text(), "|"); len(c) > 4 {
			valid[strings.TrimSpace(c[1])] = strings.TrimSpace(c[3]) == "valid"
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return valid
}
