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

// clusterTests are a package and its tests that want a cluster, with the helm of a version.
type clusterTests struct {
	pkg, run string
	helm     func(testing.TB) string
}

// Tests of helmcli that ask of helm what its versions do differently.
const different = "^TestReal(Repositories|Registry|CRDs|Rendering|Failures|HelmKilled)$"

// TestHelmPrograms lets the packages that speak to Helm and to the Kubernetes API prove themselves on the real ones: their
// tests that want a cluster (VNFKIT_KUBECONFIG) or, beside it, helm, kubectl and kubeadm. TestHelmContract holds the packages that link
// Helm against the contract already.
func TestHelmPrograms(t *testing.T) {
	programs, cluster := needParts(t, "helm").Programs(), needCluster(t)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	must(t, os.WriteFile(kubeconfig, controlplane.Kubeconfig(cluster.Client()), 0o600))
	for _, row := range [][]clusterTests{ // those of a row use the same names of releases
		{{"helmclient/helmcli", "^TestReal", helm3Program}, {"helmclient/helmsdk", "^Test(Storages|OnCluster)$", helm3Program},
			{"helmclient/helmcli", different, helm4Program}, {"helmclient/helm4sdk", "^Test(Storages|OnCluster)$", helm4Program}},
		{{"infra/kubernetes/internal/objects", "^Test", helm3Program}, {"internal/cnftest", "^TestContract$", helm3Program},
			{"internal/kubesim/kubeadmconf", "^TestContract$", helm3Program}, {"internal/kubesim", "^TestKubectlContract$", helm3Program}},
	} {
		t.Run(row[0].pkg, func(t *testing.T) {
			t.Parallel()
			for _, p := range row {
				proves(t, p.pkg, p.run, "VNFKIT_KUBECONFIG="+kubeconfig, "VNFKIT_KUBEADM="+filepath.Join(programs, "kubeadm"),
					fmt.Sprintf("PATH=%s:%s:%s", filepath.Dir(p.helm(t)), programs, os.Getenv("PATH")))
			}
		})
	}
}

// proves runs tests of a package with real parts, which variables of the environment name. None may be skipped.
func proves(t *testing.T, pkg, run string, environment ...string) {
	t.Helper()
	test := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-vet=off", "-run", run, "-v", "github.com/vnfkit/vnfkit/"+pkg) //nolint:gosec // our own arguments
	test.Env = append(os.Environ(), environment...)
	out, err := test.CombinedOutput()
	if left := skipped.FindAll(out, -1); err != nil || left != nil || !passed.Match(out) {
		t.Errorf("%s: %v, skipped %q\n%s", pkg, err, left, out)
	}
}
