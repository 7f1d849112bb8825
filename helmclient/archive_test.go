package helmclient_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"helm.sh/helm/v3/pkg/chart/loader"

	"github.com/vnfkit/vnfkit/helmclient"
)

// entry is a member of an archive.
type entry struct {
	tar.Header
	text string
}

func file(name, text string) entry { return entry{tar.Header{Name: name}, text} }

func of(kind byte, name string) entry {
	return entry{Header: tar.Header{Name: name, Typeflag: kind, Linkname: "Chart.yaml"}}
}

// tgz packs members, whatever they are.
func tgz(t testing.TB, members ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	zipped, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(zipped)
	for _, m := range members {
		if m.Typeflag == 0 {
			m.Typeflag, m.Size, m.Mode = tar.TypeReg, int64(len(m.text)), 0o644
		}
		if err := w.WriteHeader(&m.Header); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, m.text); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

const chartYAML = "apiVersion: v2\nname: web\nversion: 0.1.0\n"

// numbered are that many empty files.
func numbered(n int) (out []entry) {
	for i := range n {
		out = append(out, file(fmt.Sprintf("web/%d", i), ""))
	}
	return out
}

// large are files of that many MiB together, of which none is large for a chart.
func large(n int) (out []entry) {
	text := strings.Repeat("x", 1<<20)
	for i := range n {
		out = append(out, file(fmt.Sprintf("web/%d", i), text))
	}
	return out
}

// sparse is an archive with a file that is large and takes no room in it: a header of PAX with GNU's map of a sparse file
// 1.0, whose only entry is a hole.
func sparse(t testing.TB) []byte {
	t.Helper()
	data := make([]byte, 512)
	copy(data, "1\n1099511627776\n0\n")
	var out, plain bytes.Buffer
	w := tar.NewWriter(&plain)
	// The writer refuses the records of sparse files: these are as long, and replaced.
	h := tar.Header{Typeflag: tar.TypeReg, Name: "web/hole", Size: 512, Format: tar.FormatPAX, PAXRecords: map[string]string{
		"XXX.sparse.major": "1", "XXX.sparse.minor": "0", "XXX.sparse.realsize": "1099511627776", "XXX.sparse.name": "web/hole"}}
	c := tar.Header{Typeflag: tar.TypeReg, Name: "web/Chart.yaml", Size: int64(len(chartYAML))}
	err := errors.Join(w.WriteHeader(&c), second(io.WriteString(w, chartYAML)), w.WriteHeader(&h), second(w.Write(data)), w.Close())
	zipped := gzip.NewWriter(&out)
	_, err2 := zipped.Write(bytes.ReplaceAll(plain.Bytes(), []byte("XXX.sparse"), []byte("GNU.sparse")))
	if err := errors.Join(err, err2, zipped.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func second(_ int, err error) error { return err }

func TestCheckArchive(t *testing.T) {
	t.Parallel()
	chart := file("web/Chart.yaml", chartYAML)
	whole := tgz(t, chart, file("web/templates/a.yaml", strings.Repeat("a: b\n", 10000)))
	for name, c := range map[string]struct {
		archive []byte
		fault   string // part of the error; empty: it is a chart
	}{
		"a chart":               {tgz(t, of(tar.TypeDir, "web/"), file("web/values.yaml", "a: b"), chart, file("web/charts/db/Chart.yaml", "name: db"), file("web/a..b/.helmignore", "")), ""},
		"as git packs":          {tgz(t, entry{Header: tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"comment": "1a2b"}}}, chart), ""},
		"as many as may be":     {tgz(t, append(numbered(19999), chart)...), ""},
		"one too many":          {tgz(t, append(numbered(20000), chart)...), "20000 members"},
		"too large":             {tgz(t, append([]entry{chart}, large(100)...)...), "100 MiB"},
		"large with a hole":     {sparse(t), "100 MiB"},
		"Chart.yaml large":      {tgz(t, file("web/Chart.yaml", strings.Repeat("#", 1<<20+1))), "1 MiB"},
		"Chart.yaml twice":      {tgz(t, chart, chart), "two Chart.yaml"},
		"no Chart.yaml":         {tgz(t, file("web/values.yaml", "")), "no Chart.yaml"},
		"Chart.yaml elsewhere":  {tgz(t, file("web/charts/db/Chart.yaml", chartYAML)), "no Chart.yaml"},
		"empty":                 {tgz(t), "no Chart.yaml"},
		"nothing":               {nil, "no .tgz"},
		"text":                  {[]byte("apiVersion: v2\n"), "no .tgz"},
		"no tar":                {tgzOf(t, strings.Repeat("text", 1000)), "tar"},
		"cut":                   {whole[:len(whole)/2], "unexpected EOF"},
		"up":                    {tgz(t, chart, file("web/../../x", "")), `member "web/../../x"`},
		"up at once":            {tgz(t, chart, file("../x", "")), "member"},
		"Chart.yaml at the top": {tgz(t, chart, file("Chart.yaml/x", "")), "member"},
		"all is up":             {tgz(t, file("../Chart.yaml", chartYAML)), "member"},
		"here":                  {tgz(t, file("./web/Chart.yaml", chartYAML)), "no Chart.yaml"},
		"of the directory":      {tgz(t, of(tar.TypeDir, "./"), file("./Chart.yaml", chartYAML), file("./templates/a.yaml", "")), ""},
		"absolute":              {tgz(t, chart, file("/etc/x", "")), ""},
		"absolute inside":       {tgz(t, chart, file("web//x", "")), "member"},
		"twice a slash":         {tgz(t, chart, file("web/a//x", "")), ""},
		"Windows":               {tgz(t, file(`web\Chart.yaml`, chartYAML), file(`web\templates\a.yaml`, "")), ""},
		"backslash":             {tgz(t, chart, file(`web\..\x`, "")), "member"},
		"both slashes":          {tgz(t, chart, file(`web\a/../../x`, "")), "member"},
		"colon":                 {tgz(t, chart, file("web/files/a:b", "")), ""},
		"drive":                 {tgz(t, chart, file("web/c:/x", "")), "member"},
		"line":                  {tgz(t, chart, file("web/a\nb", "")), "member"},
		"no text":               {tgz(t, chart, file("web/\xff", "")), "member"},
		"two directories":       {tgz(t, chart, file("other/x", "")), ""},
		"in no directory":       {tgz(t, chart, file("x", "")), "no directory"},
		"Chart.yaml outside":    {tgz(t, file("Chart.yaml", chartYAML)), "no directory"},
		"symbolic link":         {tgz(t, chart, of(tar.TypeSymlink, "web/x")), ""},
		"hard link":             {tgz(t, chart, of(tar.TypeLink, "web/x")), ""},
		"link as the chart":     {tgz(t, of(tar.TypeSymlink, "web"), chart), "no directory"},
		"link as Chart.yaml":    {tgz(t, of(tar.TypeSymlink, "web/Chart.yaml")), "is a link"},
		"device":                {tgz(t, chart, of(tar.TypeChar, "web/x")), "neither a file nor a directory"},
		"pipe":                  {tgz(t, chart, of(tar.TypeFifo, "web/x")), "neither a file nor a directory"},
	} {
		got, err := helmclient.CheckArchive(bytes.NewReader(c.archive))
		switch {
		case c.fault == "" && (err != nil || string(got) != chartYAML):
			t.Errorf("%s: %q, %v", name, got, err)
		case c.fault != "" && (!errors.Is(err, helmclient.ErrInvalidChart) || !strings.Contains(err.Error(), c.fault) || got != nil):
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.fault)
		}
	}
	mine := errors.New("mine")
	if _, err := helmclient.CheckArchive(io.MultiReader(bytes.NewReader(whole[:100]), iotest.ErrReader(mine))); !errors.Is(err, mine) || errors.Is(err, helmclient.ErrInvalidChart) {
		t.Errorf("a stream that breaks: %v", err)
	}
}

func tgzOf(t testing.TB, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	if err := errors.Join(second(io.WriteString(zipped, text)), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// FuzzCheckArchive gives what was found to be a chart to Helm's loader, which has to find the same Chart.yaml.
func FuzzCheckArchive(f *testing.F) {
	chart := file("web/Chart.yaml", chartYAML)
	f.Add(plain(f, tgz(f, of(tar.TypeDir, "web/"), chart, file("web/values.yaml", "a: b\n"))))
	f.Add(plain(f, tgz(f, chart, file("web/../../x", "x"))))
	f.Add(plain(f, tgz(f, chart, of(tar.TypeSymlink, "web/x"))))
	f.Add(plain(f, tgz(f, file(`web\Chart.yaml`, chartYAML), file(`other/x\a/b`, ""))))
	f.Add(plain(f, sparse(f)))
	f.Add([]byte("text"))
	f.Fuzz(func(t *testing.T, text []byte) { // what is packed is not compressed: changes of compressed bytes only break it
		packed := tgzOf(t, string(text))
		got, err := helmclient.CheckArchive(bytes.NewReader(packed))
		if err != nil {
			if !errors.Is(err, helmclient.ErrInvalidChart) {
				t.Error(err)
			}
			return
		}
		files, err := loader.LoadArchiveFiles(bytes.NewReader(packed))
		if err != nil && strings.Contains(err.Error(), "maximum file size") { // Helm 4 has no bound for one file
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		found := slices.IndexFunc(files, func(f *loader.BufferedFile) bool { return f.Name == "Chart.yaml" })
		if found < 0 || !bytes.Equal(files[found].Data, bytes.TrimPrefix(got, []byte("\ufeff"))) {
			t.Errorf("%q", got)
		}
		for _, f := range files {
			if !filepath.IsLocal(f.Name) || strings.ContainsAny(f.Name, "\\\x00") {
				t.Errorf("%q", f.Name)
			}
		}
	})
}

func plain(f *testing.F, archive []byte) []byte {
	r, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		f.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		f.Fatal(err)
	}
	return text
}
