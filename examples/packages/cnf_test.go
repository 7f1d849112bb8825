package packages_test

import (
	"archive/tar"
	"compress/gzip"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
)

const (
	cnf       = "cnf"
	cnfMCIOPs = "cnf-mciop"
)

func openCNF(t *testing.T, name string) *tosca.Package {
	t.Helper()
	p, err := tosca.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// openGood opens a package and checks its digests.
func openGood(t *testing.T, name string) *tosca.Package {
	t.Helper()
	p := openCNF(t, name)
	if err := p.Verify(t.Context()); err != nil {
		t.Errorf("TOSCA.meta states other digests than the files have:\n%v", err)
	}
	if w := p.Warnings(); len(w) > 0 {
		t.Errorf("warnings:\n%v", w)
	}
	return p
}

func TestCNFPackage(t *testing.T) {
	p := openGood(t, cnf)
	f, err := p.VNFD().Flavour("simple")
	if err != nil {
		t.Fatal(err)
	}
	for level, want := range map[string]map[string]int{"small": {"web_aspect": 0, "cache_aspect": 0}, "medium": {"web_aspect": 2, "cache_aspect": 1}} {
		size, err := f.InitialSize(tosca.TargetSize{InstantiationLevelID: level})
		if diff := cmp.Diff(want, size.ScaleStatus); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", level, err, diff)
		}
	}
	for vdu, aspect := range map[string]string{"web": "web_aspect", "cache": "cache_aspect"} {
		if diff := cmp.Diff([]string{aspect}, f.AspectsOf(vdu)); diff != "" {
			t.Errorf("aspect of %s:\n%s", vdu, diff)
		}
	}
}

// TestCNFOfMCIOPs checks that the charts are in the order of their dependencies, and that each VDU has one chart and the name of its workload.
func TestCNFOfMCIOPs(t *testing.T) {
	f, err := openGood(t, cnfMCIOPs).VNFD().Flavour("simple")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range f.MCIOPs {
		vdu := f.VDU(p.VDUs[0])
		got = append(got, strings.Join([]string{p.ID, p.Chart, vdu.ID, vdu.MCIO.Type, vdu.MCIO.Name, f.AspectsOf(vdu.ID)[0]}, " "))
	}
	want := []string{"cache ../Artifacts/charts/cache-0.1.0.tgz cache_vdu StatefulSet cache cache_aspect", "web ../Artifacts/charts/web-0.1.0.tgz web_vdu Deployment web web_aspect"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestCNFChart checks that the archives contain the files of the folders beside them, which are there for readers.
func TestCNFChart(t *testing.T) {
	for _, of := range [][2]string{{cnf + "/Files/kubernetes", "web"}, {cnfMCIOPs + "/Artifacts/charts", "web"}, {cnfMCIOPs + "/Artifacts/charts", "cache"}} {
		t.Run(of[0]+"/"+of[1], func(t *testing.T) { sameChart(t, os.DirFS(of[0]), of[1], "0.1.0") })
	}
}

func sameChart(t *testing.T, dir fs.FS, name, version string) {
	t.Helper()
	want, got := map[string]string{}, map[string]string{}
	err := fs.WalkDir(dir, name, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(dir, name)
		want[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	f, err := dir.Open(name + "-" + version + ".tgz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(unzipped); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			text, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			got[h.Name] = string(text)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the archive differs from the folder:\n%s", diff)
	}
}

func TestCNFRequests(t *testing.T) {
	t.Run(cnf, func(t *testing.T) { knownRequests(t, cnf, 13) })
	t.Run(cnfMCIOPs, func(t *testing.T) { knownRequests(t, cnfMCIOPs, 6) })
}

// knownRequests checks that a package has that many requests, that all their attributes are known, and that its README names them.
func knownRequests(t *testing.T, dir string, want int) {
	t.Helper()
	names, err := filepath.Glob(dir + "/requests/*.json")
	if err != nil || len(names) != want {
		t.Fatalf("requests %q, %v", names, err)
	}
	readme, err := os.ReadFile(dir + "/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		kind, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(name), ".json"), "_")
		request := map[string]any{"instantiate": &vnflcm.InstantiateVnfRequest{}, "scale": &vnflcm.ScaleVnfRequest{},
			"heal": &vnflcm.HealVnfRequest{}, "change": &vnflcm.ChangeCurrentVnfPkgRequest{}, "terminate": &vnflcm.TerminateVnfRequest{}}[kind]
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if unknown, err := vnflcm.DecodeRequest(content, request); err != nil || len(unknown) > 0 {
			t.Errorf("%s: %v, attributes that nobody knows: %q", name, err, unknown)
		}
		if !strings.Contains(string(readme), "`"+filepath.Base(name)+"`") {
			t.Errorf("README.md says nothing of %s", name)
		}
	}
}
