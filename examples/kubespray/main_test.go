package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/vnfkit/vnfkit/examples/internal/samples"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestRun runs the whole program.
func TestRun(t *testing.T) {
	var said bytes.Buffer
	if err := run(t.Context(), options{pkg: samples.Package("k8s-cluster-kubespray"), workers: 1}, &said); err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	rest := said.String()
	for _, want := range []string{"instantiate_end/cluster", "INSTANTIATE COMPLETED", "answers through the load balancer, with 2 nodes",
		"scale_end/scale", "SCALE COMPLETED", "with 3 nodes", "heal_start/drain", "heal_end/delete-node", "heal_end/scale", "HEAL COMPLETED", "with 3 nodes",
		"heal_end/load-balancer", "HEAL COMPLETED", "with 3 nodes", "TERMINATE COMPLETED"} {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Fatalf("%q is not in the output, or out of order:\n%s", want, said.String())
		}
		rest = after
	}
}

func TestWrongInput(t *testing.T) {
	for name, o := range map[string]options{
		"no package": {pkg: filepath.Join(t.TempDir(), "none"), workers: 1},
		"no workers": {pkg: samples.Package("k8s-cluster-kubespray")},
	} {
		t.Run(name, func(t *testing.T) {
			if err := run(t.Context(), o, &bytes.Buffer{}); err == nil {
				t.Error("no error")
			}
		})
	}
}
