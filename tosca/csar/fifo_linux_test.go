package csar_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/tosca/csar"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// TestPipe checks that a pipe without a writer does not block a program that checks a folder of packages.
func TestPipe(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.csar")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := csar.Open(t.Context(), name, csar.Options{})
	if diff := cmp.Diff([]problem.Code{problem.NotPackage}, codes(t, err)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
