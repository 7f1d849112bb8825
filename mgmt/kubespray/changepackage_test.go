package kubespray_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestChangePackage refuses another image for nodes and the load balancer, names the machines, and leaves the cluster alone. A package with the
// same machines is accepted.
func TestChangePackage(t *testing.T) {
	t.Parallel()
	const oldVNFD, newVNFD = "1b7a4b52-4c1f-4f0e-8c43-6f2e1a9d5c70", "1b7a4b52-4c1f-4f0e-8c43-6f2e1a9d5c71"
	l := newLab(t)
	id := l.Instantiated(sample, clustertest.Sized("simple", 0))
	change := func(oldnew ...string) (string, error) {
		files := map[string]string{}
		paths, err := filepath.Glob(packageDir + "/Definitions/*.yaml")
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			files["Definitions/"+filepath.Base(path)] = strings.NewReplacer(append(oldnew, oldVNFD, newVNFD)...).Replace(string(text))
		}
		l.Onboard(mgmttest.Package(t, packageDir, files))
		return l.ChangeVnfPkg(t.Context(), id, vnflcm.ChangeCurrentVnfPkgRequest{VnfdID: newVNFD})
	}
	_, err := change("version: '24.04'", "version: '26.04'")
	for _, want := range []string{"masterNode-0 is a control-plane node of a cluster of kubespray", "workerNode-0 is a worker", "externalLB-0 is a load balancer"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	opID, err := change()
	l.Must(opID, err)
	if _, err := l.Preview(t.Context(), id, vnflcm.ChangeCurrentVnfPkgRequest{VnfdID: oldVNFD}); err != nil {
		t.Errorf("preview of the way back: %v", err)
	}
	l.WantNodes(1, 1, 0)
}
