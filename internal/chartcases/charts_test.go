package chartcases_test

import (
	"testing"

	"github.com/vnfkit/vnfkit/internal/chartcases"
	"github.com/vnfkit/vnfkit/tosca"
)

func TestAll(t *testing.T) {
	t.Parallel()
	all := chartcases.All()
	sample, real := 0, 0
	names := map[string]bool{}
	for _, c := range all {
		if names[c.Name] {
			t.Errorf("%s occurs twice", c.Name)
		}
		if names[c.Name] = true; c.Sample {
			sample++
		}
		if c.Real {
			real++
		}
	}
	if len(all) < 60 || sample != 8 || real != 10 {
		t.Errorf("%d charts, %d in the sample, %d for a real cluster", len(all), sample, real)
	}
}

func TestPackage(t *testing.T) {
	t.Parallel()
	pkg, err := tosca.FS(chartcases.Package(chartcases.All()[0].Files)).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if v := pkg.VNFD(); v.ID != chartcases.VNFD {
		t.Error(v.ID)
	}
	if err := pkg.Close(); err != nil {
		t.Error(err)
	}
}
