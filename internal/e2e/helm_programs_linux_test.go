package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/vnfkit/vnfkit/internal/e2e/controlplane"
)

// passed and skipped find the results of tests that no other test holds.
var (
	passed  = regexp.MustCompile(`(?m)^--- PASS: `)
	skipped = regexp.MustCompile(`(?m)^ *--- SKIP: .*`)
)

// TestHelmPrograms lets the packages that speak to Helm and to the Kubernetes API prove themselves on the real ones: their
// tests that want a cluster (VNFKIT_KUBECONFIG) or, beside it, helm and kubectl. TestHelmContract holds helmsdk against the
// contract already.
func TestHelmPrograms(t *testing.T) {
	programs, cluster := needParts(t, "helm").Programs(), needCluster(t)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	must(t, os.WriteFile(kubeconfig, controlplane.Kubeconfig(cluster.Client()), 0o600))
	for _, row := range [][][2]string{ // a package and its tests; those of a row use the same names of releases
		{{"helmclient/helmcli", "^TestReal"}, {"helmclient/helmsdk", "^Test(Storages|CancelAtomic|Outage|Deadline|FailingRollback)$"}},
		{{"infra/kubernetes/internal/objects", "^Test"}},
	} {
		t.Run(row[0][0], func(t *testing.T) {
			t.Parallel()
			for _, p := range row {
				test := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-run", p[1], "-v", "github.com/vnfkit/vnfkit/"+p[0]) //nolint:gosec // from the table
				test.Env = append(os.Environ(), "VNFKIT_KUBECONFIG="+kubeconfig, fmt.Sprintf("PATH=%s:%s", programs, os.Getenv("PATH")))
				out, err := test.CombinedOutput()
				if left := skipped.FindAll(out, -1); err != nil || left != nil || !passed.Match(out) {
					t.Errorf("%s: %v, skipped %q\n%s", p[0], err, left, out)
				}
			}
		})
	}
}
