package tosca_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

func TestCheck(t *testing.T) {
	faulty := t.TempDir()
	if err := os.CopyFS(faulty, fstest.MapFS{
		"TOSCA-Metadata/TOSCA.meta": file("Entry-Definitions: vnfd.yaml\n\nName: a\nAlgorithm: SHA-256\nHash: 00\n"),
		"a":                         file("a"),
		"vnfd.yaml":                 file("tosca_definitions_version: tosca_2_0\n"),
	}); err != nil {
		t.Fatal(err)
	}
	found, err := tosca.Check(context.Background(), faulty)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []problem.Code{problem.HashMismatch, problem.Version} { // faults of a file and of the descriptor
		if !errors.Is(found, problem.Problem{Code: want}) {
			t.Errorf("no %s in:\n%v", want, found)
		}
	}
	if found, err := tosca.Check(context.Background(), "check_test.go"); err != nil || !errors.Is(found, problem.Problem{Code: problem.NotPackage}) {
		t.Errorf("a file that is not an archive: %v, %v", found, err)
	}
	if found, err := tosca.Check(context.Background(), sample); err != nil || slices.ContainsFunc(found, func(p problem.Problem) bool { return p.Severity == problem.Error }) {
		t.Errorf("the sample: %v, %v", found, err)
	}
	if _, err := tosca.Check(context.Background(), filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := tosca.Check(ctx, sample); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
