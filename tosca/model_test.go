package tosca_test

import (
	"encoding/json"
	"errors"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/tosca/csar"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

func TestModel(t *testing.T) {
	for name, golden := range map[string]string{
		sample:                "testdata/k8s-cluster.golden.json",
		"testdata/everything": "testdata/everything.golden.json",
	} {
		p := open(t, name)
		got, err := json.MarshalIndent(p.VNFD(), "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if *update {
			if err := os.WriteFile(golden, append(got, '\n'), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)+"\n"); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestMeta(t *testing.T) {
	got := open(t, "testdata/everything").Meta()
	want := csar.Meta{
		Version:          "1.0",
		CSARVersion:      "1.1",
		CreatedBy:        "the tests",
		EntryDefinitions: "Definitions/top.yaml",
		Entries:          map[string]string{"change-log": "ChangeLog.txt"},
		Artifacts: []csar.ArtifactEntry{{
			Name:        "Scripts/hook.sh",
			ContentType: "application/x-sh",
			Algorithm:   "SHA-256",
			Hash:        "306c6ca7407560340797866e077e053627ad409277d1b9da58106fce4cf717cb",
			Pos:         problem.Position{File: "TOSCA-Metadata/TOSCA.meta", Line: 7, Column: 1},
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Meta (-want +got):\n%s", diff)
	}
}

func TestFlavour(t *testing.T) {
	v := open(t, sample).VNFD()
	f, err := v.Flavour("complex")
	if err != nil || f.ID != "complex" {
		t.Fatalf("Flavour(complex) = %v, %v", f, err)
	}
	_, err = v.Flavour("huge")
	if !errors.Is(err, tosca.ErrUnknown) {
		t.Errorf("Flavour(huge): %v", err)
	}
	const want = `tosca: flavour "huge" is not in the VNFD (flavours: complex, simple)`
	if err == nil || err.Error() != want {
		t.Errorf("Flavour(huge): %v, want %s", err, want)
	}
}

func large(t *testing.T) *tosca.Flavour {
	t.Helper()
	f, err := open(t, "testdata/everything").VNFD().Flavour("large")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestInstances(t *testing.T) {
	f := large(t)
	for level, want := range []map[string]int{
		{"api": 3, "db": 1},
		{"api": 5, "db": 1}, // the first step adds 2 api
		{"api": 6, "db": 3}, // each further one 1 api and 2 db
		{"api": 7, "db": 5},
	} {
		got, err := f.Instances(map[string]int{"out": level})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("level %d (-want +got):\n%s", level, diff)
		}
	}
	if got, err := f.Instances(nil); err != nil || got["api"] != 3 {
		t.Errorf("Instances(nil) = %v, %v", got, err)
	}
}

func TestInstancesNamesAllFaults(t *testing.T) {
	_, err := large(t).Instances(map[string]int{"out": 4, "in": 1, "up": 0})
	const want = `tosca: scaling aspect "in" is not in the VNFD (aspects of flavour large: out)
tosca: aspect out at level 4: scale level out of range (0 to 3)
tosca: scaling aspect "up" is not in the VNFD (aspects of flavour large: out)`
	if err == nil || err.Error() != want {
		t.Errorf("error:\n%v\nwant:\n%s", err, want)
	}
	if !errors.Is(err, tosca.ErrUnknown) || !errors.Is(err, tosca.ErrScaleLevel) {
		t.Errorf("errors.Is does not find the kinds of fault in %v", err)
	}
	if _, err := large(t).Instances(map[string]int{"out": -1}); !errors.Is(err, tosca.ErrScaleLevel) {
		t.Errorf("negative level: %v", err)
	}
}

func TestLevelsOf(t *testing.T) {
	f := large(t)
	for level, want := range map[string]int{"": 0, "tiny": 0, "big": 2} {
		got, err := f.LevelsOf(level)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]int{"out": want}, got); diff != "" {
			t.Errorf("LevelsOf(%q) (-want +got):\n%s", level, diff)
		}
	}
	if _, err := f.LevelsOf("medium"); !errors.Is(err, tosca.ErrUnknown) {
		t.Errorf("LevelsOf(medium): %v", err)
	}
}

func TestAspectsOf(t *testing.T) {
	f := large(t)
	if diff := cmp.Diff([]string{"out"}, f.AspectsOf("db")); diff != "" {
		t.Errorf("AspectsOf(db) (-want +got):\n%s", diff)
	}
	if got := f.AspectsOf("nothing"); got != nil {
		t.Errorf("AspectsOf(nothing) = %v", got)
	}
}
