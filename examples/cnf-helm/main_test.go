package main

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/vnfkit/vnfkit/examples/internal/samples"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestRun runs the whole program on the sandbox.
func TestRun(t *testing.T) {
	for name, c := range map[string]struct {
		of    string
		ready string
		pods  string
		scale []string // steps of the first scaling
	}{
		"MCIOPs":              {"cnf-mciop", "4/4 ready", "its pods: vnf", []string{"scale/set-replicas"}},
		"Tacker's attributes": {"cnf", "5/5 ready", "its pods: shop-", []string{"scale/upgrade-releases"}},
	} {
		t.Run(name, func(t *testing.T) {
			var said bytes.Buffer
			if err := run(t.Context(), options{cnf: samples.Package(c.of)}, &said); err != nil {
				t.Fatalf("%v\n%s", err, said.String())
			}
			rest := said.String()
			for _, want := range slices.Concat([]string{"INSTANTIATE COMPLETED", "instantiate/check-workloads", "instantiate/install-releases", c.ready, "INSTANTIATE COMPLETED",
				c.pods}, c.scale, []string{"SCALE COMPLETED", "scale/set-replicas", "SCALE COMPLETED", c.pods, "replace the pod ", "-web-", "heal/replace-pods", "HEAL COMPLETED",
				c.pods, "terminate/remove-namespace", "TERMINATE COMPLETED"}) {
				_, after, found := strings.Cut(rest, want)
				if !found {
					t.Fatalf("%q is not in the output, or out of order:\n%s", want, said.String())
				}
				rest = after
			}
		})
	}
}

func TestWrong(t *testing.T) {
	for name, o := range map[string]options{
		"no package":    {cnf: filepath.Join(t.TempDir(), "none")},
		"no kubeconfig": {cnf: samples.Package("cnf"), kubeconfig: filepath.Join(t.TempDir(), "none")},
	} {
		t.Run(name, func(t *testing.T) {
			if err := run(t.Context(), o, &bytes.Buffer{}); err == nil {
				t.Error("no error")
			}
		})
	}
}
