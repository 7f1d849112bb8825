package packages_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
)

const kubespray = "k8s-cluster-kubespray"

// TestKubesprayPackage checks the requests of the package for kubespray against its VNFD, and TOSCA.meta against the
// files.
func TestKubesprayPackage(t *testing.T) {
	p, err := tosca.Open(t.Context(), kubespray)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	if err := p.Verify(t.Context()); err != nil {
		t.Errorf("TOSCA.meta states other digests than the files have:\n%v", err)
	}
	if w := p.Warnings(); len(w) > 0 {
		t.Errorf("warnings:\n%v", w)
	}
	names, err := filepath.Glob(kubespray + "/requests/instantiate*.json")
	if err != nil || len(names) != 3 {
		t.Fatalf("requests %q, %v", names, err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			content, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var r vnflcm.InstantiateVnfRequest
			if err := json.Unmarshal(content, &r); err != nil {
				t.Fatal(err)
			}
			f, err := p.VNFD().Flavour(r.FlavourID)
			if err != nil {
				t.Fatal(err)
			}
			size, err := f.InitialSize(tosca.TargetSize{InstantiationLevelID: r.InstantiationLevelID})
			if err != nil {
				t.Fatal(err)
			}
			instances := size.Instances
			masters := map[string]int{"simple": 1, "complex": 3}[r.FlavourID]
			if instances["masterNode"] != masters || instances["workerNode"] != 2 || instances["externalLB"] != 1 {
				t.Errorf("instances %v", instances)
			}
			for _, l := range r.ExtVirtualLinks {
				for cp := range l.ExtCps {
					if id := l.ExtCps[cp].CpdID; !slices.ContainsFunc(f.ExternalCPs, func(e tosca.ExternalCP) bool { return e.ID == id }) {
						t.Errorf("no external connection point %q", id)
					}
				}
			}
		})
	}
}
