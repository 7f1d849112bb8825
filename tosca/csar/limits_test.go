package csar_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/tosca/csar"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// TestTotalRatio checks that the maximum total size of the members depends on the size of the archive, also for a zip of option 2.
func TestTotalRatio(t *testing.T) {
	image := strings.Repeat("x", 8<<20) // declared as a deflate stream; this test does not decompress it
	for name, tt := range map[string]struct {
		size    uint64 // total size of two images
		refused bool
	}{
		"images of 2 GiB that are almost empty": {2 << 30, false},
		"some 2.3 GiB in 16 MiB":                {2300 << 20, false},
		"10 GiB in 16 MiB":                      {10 << 30, true},
	} {
		inner := archive(t, member{name: "a.img", method: zip.Deflate, content: image, declare: tt.size/2 - 1},
			member{name: "b.img", method: zip.Deflate, content: image, declare: tt.size/2 - 1})
		for form, data := range map[string][]byte{
			"CSAR": inner, "zip": zipWith(t, zip.Store, map[string][]byte{"p.csar": inner}),
		} {
			a, err := csar.OpenReader(t.Context(), bytes.NewReader(data), int64(len(data)), csar.Options{Limits: csar.Limits{Ratio: 1000}})
			z, zipErr := zip.NewReader(bytes.NewReader(data), int64(len(data)))
			if zipErr != nil {
				t.Fatal(zipErr)
			}
			_, fsErr := csar.OpenFS(t.Context(), z, csar.Options{Limits: csar.Limits{Ratio: 1000}})
			if got := errors.Is(fsErr, problem.Problem{Code: problem.TooLarge}); got != tt.refused {
				t.Errorf("%s, %s, opened by the caller: %v", name, form, fsErr)
			}
			if got := errors.Is(err, problem.Problem{Code: problem.TooLarge}); got != tt.refused {
				t.Errorf("%s, %s: %v", name, form, err)
			}
			if err == nil {
				a.Close()
			}
		}
	}
}
