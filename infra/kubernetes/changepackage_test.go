package kubernetes_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/fstest"
)

// newVNFD is the VNFD of renewed packages.
const newVNFD = "9d2c9a3e-4a55-4a67-8a3e-5f1c7d0f2b12"

// renewed is a package with another VNFD and newer software: charts have the version 0.2.0, and containers another image.
func renewed(t testing.TB, files fstest.MapFS) fstest.MapFS {
	t.Helper()
	newer := strings.NewReplacer(vnfdID, newVNFD, "version: 0.1.0", "version: 0.2.0", "software_version: '1.0'", "software_version: '2.0'", "image: c}", "image: c2}",
		"image: web\n", "image: web2\n", "image: web}", "image: web2}", "image: db}", "image: db2}")
	out := fstest.MapFS{}
	for name, f := range files {
		data := f.Data
		if m := unpacked(t, data); m != nil {
			for member, text := range m {
				m[member] = newer.Replace(text)
			}
			data = m.pack(t)
		} else {
			data = []byte(newer.Replace(string(data)))
		}
		out[name] = &fstest.MapFile{Data: data}
	}
	return out
}

// unpacked returns the files of an archive of a chart, nil for other files and charts with links.
func unpacked(t testing.TB, data []byte) members {
	t.Helper()
	zipped, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil
	}
	out := members{}
	for archive := tar.NewReader(zipped); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil || h.Typeflag != tar.TypeReg {
			return nil
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		out[h.Name] = string(text)
	}
}
