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
		"testdata/containers": "testdata/containers.golden.json",
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
	const want = `tosca: flavourId: "huge": flavour is not in the VNFD (flavours: complex, simple)`
	if err == nil || err.Error() != want {
		t.Errorf("Flavour(huge): %v, want %s", err, want)
	}
}
