package tosca_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"testing/fstest"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/tosca/csar"
)

// small has low limits, so that the fuzzer does not spend its time on large inputs.
var small = tosca.WithLimits(csar.Limits{Members: 200, MemberSize: 1 << 20, TotalSize: 4 << 20, DocumentSize: 1 << 18})

// use calls the functions that a VNFM calls for a package.
func use(t *testing.T, p *tosca.Package) {
	t.Helper()
	ctx := context.Background()
	if _, err := p.Digest(ctx); err != nil && errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a listed member is missing: %v", err)
	}
	if err := p.Verify(ctx); err != nil {
		_ = err.Error()
	}
	if v := p.VNFD(); len(v.Flavours) == 0 || v.ID == "" {
		t.Errorf("an opened package has no flavour or no id: %+v", v)
	}
	for _, f := range p.VNFD().Flavours {
		for _, l := range f.Levels {
			useLevel(t, &f, l.ID)
		}
		for name, hook := range f.Hooks {
			if _, ok := f.Drivers[hook.Driver]; !ok {
				t.Errorf("hook %q names the unknown driver %q", name, hook.Driver)
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

// useLevel computes the size of a VNF at an instantiation level and scales from there.
func useLevel(t *testing.T, f *tosca.Flavour, id string) {
	t.Helper()
	target := tosca.TargetSize{InstantiationLevelID: id}
	size, err := f.InitialSize(target)
	if err != nil {
		if len(requestFaults(err)) == 0 {
			t.Errorf("level %q of the VNFD: %v", id, err)
		}
		return
	}
	if len(size.Instances) != len(f.VDUs) || len(size.ScaleStatus) != len(f.Aspects) {
		t.Errorf("numbers for %d of %d VDUs, levels for %d of %d aspects", len(size.Instances), len(f.VDUs), len(size.ScaleStatus), len(f.Aspects))
	}
	for _, a := range f.Aspects {
		added, stepErr := f.Step(a.ID, size.ScaleStatus[a.ID])
		larger, err := f.Scale(size, tosca.Scaling{Type: tosca.ScaleOut, AspectID: a.ID, NumberOfSteps: 1})
		if err != nil {
			continue
		}
		if stepErr != nil {
			t.Errorf("aspect %q is scaled, but has no step: %v", a.ID, stepErr)
		}
		for vdu, n := range larger.Instances {
			if n != size.Instances[vdu]+added[vdu] {
				t.Errorf("aspect %q makes %d of %q from %d, its step adds %d", a.ID, n, vdu, size.Instances[vdu], added[vdu])
			}
		}
		if again, err := f.SizeAt(target, larger.ScaleStatus); err != nil || !reflect.DeepEqual(again, larger) {
			t.Errorf("at %v: %v, %v, want %v", larger.ScaleStatus, again, err, larger)
		}
	}
	for _, l := range f.Levels {
		scaleTo(t, f, size, l.ID)
	}
}

// scaleTo scales a VNF to an instantiation level, if scalings lead there.
func scaleTo(t *testing.T, f *tosca.Flavour, size tosca.Size, id string) {
	t.Helper()
	scalings, err := f.ScaleToLevel(size, tosca.TargetLevel{InstantiationLevelID: id})
	if err != nil {
		return
	}
	for _, s := range scalings {
		if size, err = f.Scale(size, s); err != nil {
			t.Fatalf("scaling to level %q: %v", id, err)
		}
	}
	if want, err := f.InitialSize(tosca.TargetSize{InstantiationLevelID: id}); err != nil || !reflect.DeepEqual(size, want) {
		t.Errorf("scaled to level %q: %v, want %v, %v", id, size, want, err)
	}
}

func FuzzVNFD(f *testing.F) {
	types, err := os.ReadFile("testdata/everything/Definitions/types.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, pattern := range []string{"testdata/everything/Definitions/*.yaml", "testdata/containers/Definitions/*.yaml", sample + "/Definitions/*.yaml"} {
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
	f.Add(described("{ concat: [ { get_property: [ SELF, nick ] }, { token: [ a.b, '.', 1 ] }, { get_input: [ list, 0 ] } ] }"))
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
