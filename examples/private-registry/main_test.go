package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/vnfkit/vnfkit/examples/internal/samples"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestRun runs the whole program. The step "registries" of a node must pull the image that was pushed.
func TestRun(t *testing.T) {
	var said bytes.Buffer
	if err := run(t.Context(), options{registry: samples.Package("private-registry"), cluster: samples.Package("k8s-cluster"), workers: 2}, &said); err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	rest := said.String()
	for _, want := range []string{"instantiate_end/probe", "instantiate_end/publish", "INSTANTIATE COMPLETED",
		"push team/web:1.0 to registry.example.org:5000 (198.18.0.10 registry.example.org)",
		"instantiate_end/registries", "instantiate_end/registries", "instantiate_end/registries", "INSTANTIATE COMPLETED",
		"registry.example.org:5000/team/web:1.0 is on master-", "worker-", "worker-", "TERMINATE COMPLETED", "TERMINATE COMPLETED"} {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Fatalf("%q is not in the output, or out of order:\n%s", want, said.String())
		}
		rest = after
	}
}

func TestWrongPackages(t *testing.T) {
	incomplete := t.TempDir()
	if err := os.CopyFS(incomplete, os.DirFS(samples.Package("private-registry"))); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(incomplete, "requests")); err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]options{
		"no package": {registry: filepath.Join(t.TempDir(), "none"), cluster: samples.Package("k8s-cluster"), workers: 1},
		"no request": {registry: incomplete, cluster: samples.Package("k8s-cluster"), workers: 1},
		"no workers": {registry: samples.Package("private-registry"), cluster: samples.Package("k8s-cluster"), workers: -1},
	} {
		t.Run(name, func(t *testing.T) {
			if err := run(t.Context(), o, &bytes.Buffer{}); err == nil {
				t.Error("no error")
			}
		})
	}
}
