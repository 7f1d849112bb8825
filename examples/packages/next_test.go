package packages_test

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/examples/packages"
	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// samples are all sample packages.
var samples = []packages.Sample{packages.KubernetesCluster, packages.KubesprayCluster, packages.PrivateRegistry, packages.CNF, packages.CNFOfMCIOPs}

// TestNext checks that each package has a second version without any warning, that its policies allow the change of each flavour, and that the
// requests for the change name it.
func TestNext(t *testing.T) {
	t.Parallel()
	for _, first := range samples {
		t.Run(first.Name, func(t *testing.T) {
			t.Parallel()
			second := first.Next()
			dir, err := second.FS()
			if err != nil {
				t.Fatal(err)
			}
			pkg, err := tosca.FS(dir).Open(t.Context(), tosca.Strict())
			if err != nil {
				t.Fatal(err)
			}
			defer pkg.Close()
			if err := pkg.Verify(t.Context()); err != nil || len(pkg.Warnings()) > 0 {
				t.Errorf("digests: %v, warnings: %v", err, pkg.Warnings())
			}
			vnfd := pkg.VNFD()
			if vnfd.ID != second.VNFDID || vnfd.SoftwareVersion != "2.0" || vnfd.Version != "2.0" {
				t.Errorf("VNFD %s, software %s, version %s", vnfd.ID, vnfd.SoftwareVersion, vnfd.Version)
			}
			allowed, flavours := map[string]string{}, map[string]string{}
			for _, c := range vnfd.Changes {
				for _, s := range c.Selectors {
					allowed[s.SourceID+" "+s.SourceFlavourID] = c.DestinationFlavourID
				}
			}
			for _, f := range vnfd.Flavours {
				flavours[first.VNFDID+" "+f.ID] = f.ID
			}
			if diff := cmp.Diff(flavours, allowed); diff != "" {
				t.Errorf("policies:\n%s", diff)
			}
			changeRequests(t, dir, second.VNFDID)
			if again := second.Next(); again != (packages.Sample{}) {
				t.Errorf("a third version: %+v", again)
			}
		})
	}
}

// changeRequests checks that the requests for a change of the package name the VNFD.
func changeRequests(t *testing.T, dir fs.FS, vnfdID string) {
	t.Helper()
	names, err := fs.Glob(dir, "requests/change_vnfpkg*.json")
	if err != nil || len(names) == 0 {
		t.Fatalf("requests %q, %v", names, err)
	}
	for _, name := range names {
		content, err := fs.ReadFile(dir, name)
		if err != nil {
			t.Fatal(err)
		}
		var request vnflcm.ChangeCurrentVnfPkgRequest
		if unknown, err := vnflcm.DecodeRequest(content, &request); err != nil || len(unknown) > 0 || request.VnfdID != vnfdID {
			t.Errorf("%s: VNFD %s, %q, %v", name, request.VnfdID, unknown, err)
		}
	}
}

// TestNextCharts checks that the archives of the second versions contain the files of the folders beside them.
func TestNextCharts(t *testing.T) {
	t.Parallel()
	for of, s := range map[string]packages.Sample{"Files/kubernetes web": packages.CNF, "Artifacts/charts web": packages.CNFOfMCIOPs, "Artifacts/charts cache": packages.CNFOfMCIOPs} {
		all, err := s.Next().FS()
		if err != nil {
			t.Fatal(err)
		}
		folder, name, _ := strings.Cut(of, " ")
		charts, err := fs.Sub(all, folder)
		if err != nil {
			t.Fatal(err)
		}
		sameChart(t, charts, name, "0.2.0")
	}
}
