package tosca_test

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/tosca/csar"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// TestCacheAcceptedEarlier opens a package whose VNFD has a fault that an earlier version did not find.
func TestCacheAcceptedEarlier(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{"vnfd.yaml": file(head + "  policies: [scaling:tosca.policies.nfv.ScalingAspects]\n")}
	archive, err := csar.OpenFS(t.Context(), files, csar.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want, err := archive.Digest(t.Context())
	if err := errors.Join(err, archive.Close()); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]*tosca.Cache{"default": tosca.NewCache(2), "strict": tosca.NewCache(2, tosca.Strict())} {
		for range 2 {
			p, err := c.OpenPinned(t.Context(), tosca.FS(files), want)
			if err != nil {
				t.Fatalf("%s: the pinned package is refused: %v", name, err)
			}
			if text := p.Warnings().Error(); !strings.Contains(text, "vnfd.yaml:6:14: this must be a mapping") || p.VNFD().ID != "i" {
				t.Errorf("%s: VNFD %q, warnings %v", name, p.VNFD().ID, text)
			}
			for _, w := range p.Warnings() {
				if w.Severity != problem.Warning {
					t.Errorf("%s: %v is an %s", name, w, w.Severity)
				}
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
			if _, err := c.Open(t.Context(), tosca.FS(files)); !errors.Is(err, problem.Problem{Code: problem.Type}) {
				t.Errorf("%s: Open: error %v, want %s", name, err, problem.Type)
			}
			id, err := c.VNFDID(t.Context(), tosca.FS(files))
			if id != "i" || !errors.Is(err, problem.Problem{Code: problem.Type}) {
				t.Errorf("%s: VNFDID: %q, error %v, want i and %s", name, id, err, problem.Type)
			}
		}
	}
	if _, err := tosca.NewCache(1).OpenPinned(t.Context(), tosca.FS(fstest.MapFS{"vnfd.yaml": file("a: 1\n")}), ""); err == nil {
		t.Error("a package without a VNFD is opened")
	}
}
