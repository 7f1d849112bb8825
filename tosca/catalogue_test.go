package tosca_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/tosca/internal/etsi"
)

// typeFile is where the packages of these tests have the VNFD types of SOL001.
const typeFile = "Definitions/etsi_nfv_sol001_vnfd_types.yaml"

// withTypes returns the sample package with another VNFD id and with copies of ETSI's type files, as real packages have.
func withTypes(tb testing.TB, id string) fstest.MapFS {
	tb.Helper()
	files := fstest.MapFS{}
	err := fs.WalkDir(os.DirFS(sample), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(filepath.Join(sample, name))
		files[name] = file(strings.ReplaceAll(string(content), "6a1c2f0e-1d6e-4f4e-9a3c-0d5b6a7c8ea0", id))
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	for _, part := range []string{"vnfd", "common"} {
		f, ok := etsi.Lookup("etsi_nfv_sol001_"+part+"_types.yaml", "2.6.1")
		if !ok {
			tb.Fatal("the types are not bundled")
		}
		files["Definitions/"+f.Name] = file(string(f.Content()))
	}
	return files
}

// TestSharedTypeFiles checks that packages with the same type files have the same model and the same faults whether a Cache has read the
// type files before or not.
func TestSharedTypeFiles(t *testing.T) {
	for _, tt := range []struct {
		name, old, new string
		faults         bool
	}{
		{"without faults", "", "", false},
		{"with an unknown type", "derived_from: tosca.nodes.nfv.Cp", "derived_from: my.Missing", true},
		{"with a text where a list belongs", "targets: [ tosca.nodes.nfv.VnfVirtualLink ]", "targets: tosca.nodes.nfv.VnfVirtualLink", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cache := tosca.NewCache(1)
			var done sync.WaitGroup
			for i := range 6 {
				files := withTypes(t, fmt.Sprint("id-", i))
				files[typeFile] = file(strings.Replace(string(files[typeFile].Data), tt.old, tt.new, 1))
				done.Go(func() { compareCached(t, cache, files, tt.faults) })
				if i == 0 {
					done.Wait() // the Cache has the type files for all further packages
				}
			}
			done.Wait()
		})
	}
}

// compareCached opens a package with and without a Cache.
func compareCached(t *testing.T, cache *tosca.Cache, files fs.FS, faults bool) {
	plain, errPlain := tosca.OpenFS(t.Context(), files)
	cached, err := cache.Open(t.Context(), tosca.FS(files))
	if fmt.Sprint(err) != fmt.Sprint(errPlain) || (err != nil) != faults {
		t.Errorf("with a Cache: %v\nwithout: %v", err, errPlain)
	}
	if err != nil || errPlain != nil {
		return
	}
	if diff := cmp.Diff(plain.VNFD(), cached.VNFD()); diff != "" {
		t.Errorf("model (-without, +with a Cache):\n%s", diff)
	}
	if err := errors.Join(plain.Close(), cached.Close()); err != nil {
		t.Error(err)
	}
}

// BenchmarkCatalogue reads the VNFD ids of 1,000 packages, as a Manager does with a folder that it has not read before. The
// packages have equal copies of ETSI's type files, and differ in their other files.
func BenchmarkCatalogue(b *testing.B) {
	const packages = 1000
	dir := b.TempDir()
	var paths []string
	for i := range packages {
		unpacked, path := filepath.Join(dir, "files"), filepath.Join(dir, fmt.Sprintf("%d.csar", i))
		if err := os.CopyFS(unpacked, withTypes(b, fmt.Sprint("id-", i))); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, zipOf(b, unpacked), 0o600); err != nil {
			b.Fatal(err)
		}
		if err := os.RemoveAll(unpacked); err != nil {
			b.Fatal(err)
		}
		paths = append(paths, path)
	}
	for b.Loop() {
		cache := tosca.NewCache(32)
		for i, path := range paths {
			if id, err := cache.VNFDID(b.Context(), tosca.File(path)); err != nil || id != fmt.Sprint("id-", i) {
				b.Fatal(id, err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N)/packages, "ms/package")
}
