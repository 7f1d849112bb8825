package tosca_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/tosca/csar"
)

// small keeps the fuzzer from spending its time on large inputs.
var small = tosca.WithLimits(csar.Limits{Members: 200, MemberSize: 1 << 20, TotalSize: 4 << 20, DocumentSize: 1 << 18})

// use does with a package what a VNFM does with one.
func use(t *testing.T, p *tosca.Package) {
	t.Helper()
	ctx := context.Background()
	if _, err := p.Digest(ctx); err != nil && errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a listed member is not there: %v", err)
	}
	if err := p.Verify(ctx); err != nil {
		_ = err.Error()
	}
	if v := p.VNFD(); len(v.Flavours) == 0 || v.ID == "" {
		t.Errorf("an opened package has no flavour or no id: %+v", v)
	}
	for _, f := range p.VNFD().Flavours {
		for _, l := range f.Levels {
			levels, err := f.LevelsOf(l.ID)
			if err != nil {
				t.Errorf("level %q of the VNFD is refused: %v", l.ID, err)
			}
			if numbers, err := f.Instances(levels); err == nil && len(numbers) < len(f.VDUs) {
				t.Errorf("numbers for %d of %d VDUs", len(numbers), len(f.VDUs))
			}
		}
		for hook, driver := range f.Hooks {
			if _, ok := f.Drivers[driver]; !ok {
				t.Errorf("hook %q names the driver %q, which is not there", hook, driver)
			}
		}
		for _, a := range f.Drivers {
			if name, err := p.Artifact(a.File); err == nil && !fs.ValidPath(name) {
				t.Errorf("the artifact %q becomes %q", a.File, name)
			}
		}
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

func FuzzVNFD(f *testing.F) {
	types, err := os.ReadFile("testdata/everything/Definitions/types.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, pattern := range []string{"testdata/everything/Definitions/*.yaml", sample + "/Definitions/*.yaml"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			f.Fatalf("no seeds in %s: %v", pattern, err)
		}
		for _, name := range names {
			content, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(content))
		}
	}
	f.Add(minimal)
	f.Add(head + aspect)
	f.Add(head + "x: &x [*x]\n<<: *vnf\n")
	f.Fuzz(func(t *testing.T, yaml string) {
		p, err := tosca.OpenFS(context.Background(), fstest.MapFS{
			"TOSCA-Metadata/TOSCA.meta": file("Entry-Definitions: D/v.yaml\n"),
			"D/v.yaml":                  file(yaml),
			"D/types.yaml":              {Data: types},
		}, small)
		if err == nil {
			use(t, p)
		}
	})
}
