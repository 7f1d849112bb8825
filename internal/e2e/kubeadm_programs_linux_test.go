package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestKubeadmPrograms lets the packages that speak to etcd and to the Kubernetes API prove themselves on the real ones.
func TestKubeadmPrograms(t *testing.T) {
	programs := needKubeadm(t).Programs()
	for name, environment := range map[string]string{
		"mgmt/kubeadm/etcd": "VNFKIT_ETCD=" + filepath.Join(programs, "etcd"),
		"mgmt/cluster":      "VNFKIT_KUBERNETES=" + programs,
	} {
		test := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-run", "Real", "-v", "github.com/vnfkit/vnfkit/"+name) //nolint:gosec // from the table
		test.Env = append(os.Environ(), environment)
		out, err := test.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS: TestReal") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}
