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

// TestRun runs the whole program on the sandbox.
func TestRun(t *testing.T) {
	var said bytes.Buffer
	if err := run(t.Context(), options{cnf: samples.Package("cnf")}, &said); err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	rest := said.String()
	for _, want := range []string{"INSTANTIATE COMPLETED", "instantiate/install-releases", "5/5 ready", "INSTANTIATE COMPLETED",
		"its pods: shop-", "scale/upgrade-releases", "SCALE COMPLETED", "scale/set-replicas", "SCALE COMPLETED",
		"its pods: shop-", "replace the pod shop-web-", "heal/replace-pods", "HEAL COMPLETED",
		"its pods: shop-", "terminate/remove-namespace", "TERMINATE COMPLETED"} {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Fatalf("%q is not in the output, or out of order:\n%s", want, said.String())
		}
		rest = after
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
