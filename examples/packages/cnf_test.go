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

const cnf = "cnf"

func openCNF(t *testing.T) *tosca.Package {
	t.Helper()
	p, err := tosca.Open(t.Context(), cnf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func TestCNFPackage(t *testing.T) {
	p := openCNF(t)
	if err := p.Verify(t.Context()); err != nil {
		t.Errorf("TOSCA.meta states other digests than the files have:\n%v", err)
	}
	if w := warnings(p); len(w) > 0 {
		t.Errorf("warnings:\n%v", w)
	}
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

// TestCNFChart checks that the archive contains the files of the folder beside it, which are there for readers.
func TestCNFChart(t *testing.T) {
	dir := os.DirFS(cnf + "/Files/kubernetes")
	want, got := map[string]string{}, map[string]string{}
	err := fs.WalkDir(dir, "web", func(name string, d fs.DirEntry, err error) error {
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
	f, err := dir.Open("web-0.1.0.tgz")
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
		t.Errorf("web-0.1.0.tgz is not what lies in web:\n%s", diff)
	}
}

func TestCNFRequests(t *testing.T) {
	names, err := filepath.Glob(cnf + "/requests/*.json")
	if err != nil || len(names) != 10 {
		t.Fatalf("requests %q, %v", names, err)
	}
	readme, err := os.ReadFile(cnf + "/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		kind, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(name), ".json"), "_")
		request := map[string]any{"instantiate": &vnflcm.InstantiateVnfRequest{}, "scale": &vnflcm.ScaleVnfRequest{},
			"heal": &vnflcm.HealVnfRequest{}, "terminate": &vnflcm.TerminateVnfRequest{}}[kind]
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
