package csar_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/tosca/csar"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// commented returns an archive with a comment, behind the bytes before. The offsets in the archive include these bytes.
func commented(t *testing.T, comment string, before []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	b.Write(before)
	w := zip.NewWriter(&b)
	w.SetOffset(int64(len(before)))
	f, err := w.Create("vnfd.yaml")
	if err == nil {
		_, err = f.Write([]byte("x"))
	}
	if err := errors.Join(err, w.SetComment(comment), w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestExtraData checks that a file in which other readers could find another archive is refused.
func TestExtraData(t *testing.T) {
	plain := commented(t, "", nil)
	other := zipWith(t, zip.Deflate, map[string][]byte{"vnfd.yaml": []byte("another descriptor")})
	tests := map[string]struct {
		data []byte
		want []problem.Code
	}{
		"plain":                       {plain, nil},
		"with a comment":              {commented(t, "made by me", nil), nil},
		"comment that looks like one": {commented(t, "PK\x05\x06"+strings.Repeat("\x00", 10), nil), nil},
		"script before":               {append([]byte("#!/bin/sh\nexit\n"), plain...), only(problem.ExtraData)},
		"script before, known to it":  {commented(t, "", []byte("#!/bin/sh\nexit\n")), only(problem.ExtraData)},
		"archive before":              {append(bytes.Clone(other), plain...), only(problem.ExtraData)},
		"archive before, known to it": {commented(t, "", other), only(problem.ExtraData)},
		"text behind":                 {append(bytes.Clone(plain), "behind"...), only(problem.ExtraData)},
		"text behind a comment":       {append(commented(t, "made by me", nil), "behind"...), only(problem.ExtraData)},
		"before and behind":           {append(append([]byte("before"), plain...), "behind"...), []problem.Code{problem.ExtraData, problem.ExtraData}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			forms := map[string][]byte{
				"CSAR": tt.data, "stored": zipWith(t, zip.Store, map[string][]byte{"p.csar": tt.data}),
				"deflated": zipWith(t, zip.Deflate, map[string][]byte{"p.csar": tt.data}),
			}
			for form, data := range forms {
				a, err := csar.OpenReader(t.Context(), bytes.NewReader(data), int64(len(data)), csar.Options{})
				if diff := cmp.Diff(tt.want, codes(t, err)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", form, diff)
				}
				if err == nil {
					a.Close()
				}
			}
		})
	}
}
