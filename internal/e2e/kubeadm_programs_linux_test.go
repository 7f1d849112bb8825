package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestKubeadmPrograms lets packages prove themselves on the real etcd and Kubernetes API.
func TestKubeadmPrograms(t *testing.T) {
	programs := needKubeadm(t).Programs()
	etcd := "VNFKIT_ETCD=" + filepath.Join(programs, "etcd")
	for _, p := range []struct{ pkg, run, passes, environment string }{
		{"mgmt/kubeadm/etcd", "Real", "TestReal", etcd},
		{"mgmt/cluster", "Real", "TestReal", "VNFKIT_KUBERNETES=" + programs},
		{"internal/kubesim", "^TestEtcdContract$", "TestEtcdContract/real", etcd},
	} {
		test := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-run", p.run, "-v", "github.com/vnfkit/vnfkit/"+p.pkg) //nolint:gosec // from the table
		test.Env = append(os.Environ(), p.environment)
		out, err := test.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS: "+p.passes) {
			t.Errorf("%s: %v\n%s", p.pkg, err, out)
		}
	}
}
