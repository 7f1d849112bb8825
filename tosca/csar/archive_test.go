package csar_test

import (
	"errors"
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/vnfkit/vnfkit/tosca/problem"
)

func TestArchiveIsAFileSystem(t *testing.T) {
	for _, name := range []string{sample, write(t, "x.csar", zipOf(t, sample))} {
		a := open(t, name)
		if err := fstest.TestFS(a, "BaseHOT/simple/simple_hot_top.yaml", "TOSCA-Metadata/TOSCA.meta"); err != nil {
			t.Error(err)
		}
		for _, bad := range []string{"../doc.go", "/etc/passwd", `..\x`, "Scripts/../../x"} {
			if _, err := a.Open(bad); err == nil {
				t.Errorf("Open(%q) works", bad)
			}
		}
	}
}

func TestArtifact(t *testing.T) {
	p := open(t, "../testdata/everything")
	for _, tt := range []struct{ file, want string }{
		{"../Scripts/hook.sh", "Scripts/hook.sh"},
		{"Scripts/hook.sh", "Scripts/hook.sh"},
		{"./Scripts/../Scripts/hook.sh", "Scripts/hook.sh"},
		{"top.yaml", "Definitions/top.yaml"},
	} {
		got, err := p.Artifact(tt.file)
		if err != nil || got != tt.want {
			t.Errorf("Artifact(%q) = %q, %v, want %q", tt.file, got, err, tt.want)
		}
	}
	for _, bad := range []string{"../../Scripts/hook.sh", "/Scripts/hook.sh", `..\Scripts\hook.sh`, "C:/x", ""} {
		if _, err := p.Artifact(bad); !errors.Is(err, problem.Problem{Code: problem.OutsidePackage}) {
			t.Errorf("Artifact(%q): %v, want %s", bad, err, problem.OutsidePackage)
		}
	}
	for _, missing := range []string{"../Scripts", "Scripts/other.sh", "https://example.org/x.sh"} {
		if _, err := p.Artifact(missing); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Artifact(%q): %v, want fs.ErrNotExist", missing, err)
		}
	}
}
