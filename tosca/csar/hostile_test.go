package csar_test

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/tosca/csar"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// member is an entry of a hostile archive.
type member struct {
	name    string
	content string
	mode    fs.FileMode
	declare uint64 // stated size; 0: the true size
	flags   uint16
	method  uint16
}

// archive writes the members behind a VNFD.
func archive(t *testing.T, more ...member) []byte {
	t.Helper()
	return members(t, append([]member{{name: "vnfd.yaml", content: "x"}}, more...)...)
}

func members(t *testing.T, all ...member) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, m := range all {
		h := &zip.FileHeader{
			Name: m.name, Method: m.method, Flags: m.flags,
			CRC32:              crc32.ChecksumIEEE([]byte(m.content)),
			CompressedSize64:   uint64(len(m.content)),
			UncompressedSize64: max(uint64(len(m.content)), m.declare),
		}
		h.SetMode(m.mode | 0o644)
		f, err := w.CreateRaw(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(m.content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestHostileArchives(t *testing.T) {
	tests := []struct {
		name    string
		members []member
		limits  csar.Limits
		code    problem.Code
		member  string
	}{
		{"climbs out", []member{{name: "../../etc/cron.d/x"}}, csar.Limits{}, problem.ZipSlip, "../../etc/cron.d/x"},
		{"climbs out within", []member{{name: "a/../../x"}}, csar.Limits{}, problem.ZipSlip, "a/../../x"},
		{"absolute", []member{{name: "/etc/passwd"}}, csar.Limits{}, problem.ZipSlip, "/etc/passwd"},
		{"backslash", []member{{name: `..\x`}}, csar.Limits{}, problem.ZipSlip, `..\x`},
		{"drive letter", []member{{name: "C:/x"}}, csar.Limits{}, problem.ZipSlip, "C:/x"},
		{"climbing folder", []member{{name: "../x/", mode: fs.ModeDir}}, csar.Limits{}, problem.ZipSlip, "../x/"},
		{"two dots", []member{{name: "././x"}}, csar.Limits{}, problem.BadName, "././x"},
		{"dot within", []member{{name: "./a/./x"}}, csar.Limits{}, problem.BadName, "./a/./x"},
		{"dot, climbs out", []member{{name: "./../x"}}, csar.Limits{}, problem.ZipSlip, "./../x"},
		{"dot, absolute", []member{{name: ".//x"}}, csar.Limits{}, problem.BadName, ".//x"},
		{"with and without a dot", []member{{name: "x"}, {name: "./x"}}, csar.Limits{}, problem.DuplicateMember, "x"},
		{"control characters", []member{{name: "a\x1b[2Jb"}}, csar.Limits{}, problem.BadName, "a\uFFFD[2Jb"},
		{"no UTF-8", []member{{name: "a\xffb"}}, csar.Limits{}, problem.BadName, "a\uFFFDb"},
		{"right-to-left override", []member{{name: "Scripts/\u202egnp.sh"}}, csar.Limits{}, problem.BadName, "Scripts/\uFFFDgnp.sh"},
		{"isolate", []member{{name: "a\u2066b"}}, csar.Limits{}, problem.BadName, "a\uFFFDb"},
		{"line separator", []member{{name: "a\u2028b"}}, csar.Limits{}, problem.BadName, "a\uFFFDb"},
		{"symbolic link", []member{{name: "x", content: "/etc/passwd", mode: fs.ModeSymlink}}, csar.Limits{}, problem.Symlink, "x"},
		{"device", []member{{name: "x", mode: fs.ModeDevice}}, csar.Limits{}, problem.Irregular, "x"},
		{"twice", []member{{name: "x"}, {name: "x"}}, csar.Limits{}, problem.DuplicateMember, "x"},
		{"file and folder", []member{{name: "x"}, {name: "x/y"}}, csar.Limits{}, problem.DuplicateMember, "x"},
		{"encrypted", []member{{name: "x", flags: 1}}, csar.Limits{}, problem.Unreadable, "x"},
		{"odd compression", []member{{name: "x", method: 12}}, csar.Limits{}, problem.Unreadable, "x"},
		{"bomb", []member{{name: "x", method: zip.Deflate, content: "12345678", declare: 2 << 30}}, csar.Limits{}, problem.TooLarge, "x"},
		{"large member", []member{{name: "x", content: strings.Repeat("x", 2000)}}, csar.Limits{MemberSize: 1000}, problem.TooLarge, "x"},
		{"large sum", []member{{name: "x", content: strings.Repeat("x", 1100)}}, csar.Limits{TotalSize: 1000}, problem.TooLarge, "x"},
		{"sum too large for the archive", []member{
			{name: "x", method: zip.Deflate, content: strings.Repeat("x", 8<<20), declare: 1200 << 20},
			{name: "y", method: zip.Deflate, content: strings.Repeat("x", 8<<20), declare: 1300 << 20},
		}, csar.Limits{TotalRatio: 10}, problem.TooLarge, "y"},
		{"absurd size", []member{{name: "x", method: zip.Store, declare: 1<<64 - 1}}, csar.Limits{}, problem.TooLarge, "x"},
		{"many", []member{{name: "x"}, {name: "y"}}, csar.Limits{Members: 2}, problem.TooLarge, ""},
		{"large document", []member{{name: "TOSCA-Metadata/TOSCA.meta", content: strings.Repeat("#", 200)}}, csar.Limits{DocumentSize: 100}, problem.TooLarge, "TOSCA-Metadata/TOSCA.meta"},
		{"same but for case", []member{{name: "a/B"}, {name: "A/b"}}, csar.Limits{}, problem.CaseCollision, "A/b"},
		{"folders but for case", []member{{name: "a/b/c"}, {name: "a/B/d"}}, csar.Limits{}, problem.CaseCollision, "a/B"},
		{"folder and file but for case", []member{{name: "X/y"}, {name: "x"}}, csar.Limits{}, problem.CaseCollision, "x"},
		{"empty folders but for case", []member{{name: "x/", mode: fs.ModeDir}, {name: "X/", mode: fs.ModeDir}}, csar.Limits{}, problem.CaseCollision, "X"},
		{"long name", []member{{name: strings.Repeat("n", 2000)}}, csar.Limits{}, problem.BadName, strings.Repeat("n", 1024)},
		{"deep name", []member{{name: strings.Repeat("d/", 100) + "x"}}, csar.Limits{}, problem.BadName, strings.Repeat("d/", 100) + "x"},
		{"stored size", []member{{name: "x", content: "12345678", declare: 9}}, csar.Limits{}, problem.Unreadable, "x"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			data := archive(t, tt.members...)
			_, err := csar.OpenReader(t.Context(), bytes.NewReader(data), int64(len(data)), csar.Options{Limits: tt.limits})
			var problems problem.List
			if !errors.As(err, &problems) {
				t.Fatalf("Open: %v, want a problem", err)
			}
			found := false
			for _, p := range problems {
				found = found || (p.Code == tt.code && p.File == tt.member)
			}
			if !found {
				t.Errorf("no %s at %q in:\n%v", tt.code, tt.member, problems)
			}
		})
	}
}

func TestNothingIsParsedOfAHostileArchive(t *testing.T) {
	data := archive(t, member{name: "../x"}, member{name: "other.yaml", content: "{"})
	_, err := csar.Open(t.Context(), write(t, "x.csar", data), csar.Options{})
	if diff := cmp.Diff([]problem.Code{problem.ZipSlip}, codes(t, err)); diff != "" {
		t.Errorf("codes (-want +got):\n%s", diff)
	}
}

// TestOverlappingMembers uses directory entries that refer to the same bytes, with which a small archive can have the same large member
// many times.
func TestOverlappingMembers(t *testing.T) {
	content := strings.Repeat("x", 5000)
	data := archive(t, member{name: "x1", content: content})
	// Copy the last directory entry under another name, and correct the end record.
	end := bytes.LastIndex(data, []byte("PK\x05\x06"))
	entry := bytes.LastIndex(data[:end], []byte("PK\x01\x02"))
	second := bytes.Replace(data[entry:end], []byte("x1"), []byte("x2"), 1)
	tail := bytes.Clone(data[end:])
	binary.LittleEndian.PutUint16(tail[8:], 3)
	binary.LittleEndian.PutUint16(tail[10:], 3)
	binary.LittleEndian.PutUint32(tail[12:], binary.LittleEndian.Uint32(tail[12:])+uint32(len(second)))
	forged := append(append(bytes.Clone(data[:end]), second...), tail...)
	_, err := csar.Open(t.Context(), write(t, "x.csar", forged), csar.Options{})
	if !errors.Is(err, problem.Problem{Code: problem.TooLarge}) {
		t.Errorf("Open: %v", err)
	}
}

// TestHeaderLies checks a member that becomes larger than the size in its header. Only this size may be read, and the error must name the
// member.
func TestHeaderLies(t *testing.T) {
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	lie := member{name: "bomb", method: zip.Deflate, content: packed.String(), declare: uint64(packed.Len()) + 10}
	inner := archive(t, lie)
	for name, data := range map[string][]byte{
		"CSAR": inner, "stored": zipWith(t, zip.Store, map[string][]byte{"p.csar": inner}), "deflated": zipWith(t, zip.Deflate, map[string][]byte{"p.csar": inner}),
	} {
		a := open(t, write(t, "x.zip", data))
		content, err := fs.ReadFile(a, "bomb")
		if err == nil || len(content) > 1<<15 {
			t.Errorf("%s: ReadFile = %d bytes, %v", name, len(content), err)
		}
		err = a.Verify(t.Context())
		if found := problems(t, err); len(found) != 1 || found[0].Code != problem.Unreadable || found[0].File != "bomb" {
			t.Errorf("%s: Verify: %v", name, err)
		}
	}
	// A CSAR in the archive that is larger than its stated size is not opened.
	packed.Reset()
	w.Reset(&packed)
	if _, err := w.Write(zipWith(t, zip.Store, map[string][]byte{"vnfd.yaml": make([]byte, 1<<20)})); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	data := members(t, member{name: "p.csar", method: zip.Deflate, content: packed.String(), declare: uint64(packed.Len()) + 10})
	if _, err := csar.Open(t.Context(), write(t, "x.zip", data), csar.Options{}); !errors.Is(err, problem.Problem{Code: problem.NotPackage}) {
		t.Errorf("Open: %v", err)
	}
}

func TestNoArchive(t *testing.T) {
	for name, data := range map[string][]byte{"text": []byte("hello"), "empty": nil, "cut off": archive(t)[:100]} {
		_, err := csar.Open(t.Context(), write(t, "x.csar", data), csar.Options{})
		if diff := cmp.Diff([]problem.Code{problem.NotPackage}, codes(t, err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if _, err := csar.Open(t.Context(), filepath.Join(t.TempDir(), "none"), csar.Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestLinksInDirectories(t *testing.T) {
	link := func(target, name string) string {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "vnfd.yaml"), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	outside := write(t, "secret", []byte("secret"))
	for target, want := range map[string][]problem.Code{
		"vnfd.yaml": nil,
		outside:     {problem.Symlink},
		"..":        {problem.Symlink},
		"nowhere":   {problem.Symlink},
	} {
		dir := link(target, "link")
		p, err := csar.Open(t.Context(), dir, csar.Options{})
		if diff := cmp.Diff(want, codes(t, err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", target, diff)
		}
		if err == nil {
			p.Close()
		}
		// A file system of the caller may follow links anywhere: Open refuses links in it.
		if _, err := csar.OpenFS(t.Context(), os.DirFS(dir), csar.Options{}); !errors.Is(err, problem.Problem{Code: problem.Symlink}) {
			t.Errorf("OpenFS with a link to %s: %v", target, err)
		}
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("no longer wanted")
	cancel(why)
	for _, name := range []string{sample, write(t, "x.csar", archive(t))} {
		if _, err := csar.Open(ctx, name, csar.Options{}); !errors.Is(err, why) {
			t.Errorf("Open(%s): %v", name, err)
		}
	}
}

func TestTwoDocumentsInTheRoot(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files fstest.MapFS
		want  problem.Code
	}{
		{"none", fstest.MapFS{"x.txt": file("")}, problem.MissingEntry},
		{"two", fstest.MapFS{"a.yaml": file(""), "b.yml": file("")}, problem.MissingEntry},
		{"a package inside", fstest.MapFS{"a.csar": file("")}, problem.NotPackage},
	} {
		_, err := csar.OpenFS(t.Context(), tt.files, csar.Options{})
		if diff := cmp.Diff([]problem.Code{tt.want}, codes(t, err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestReservedNames checks that Open warns of names that mean a device or another file on Windows.
func TestReservedNames(t *testing.T) {
	for name, want := range map[string]bool{
		"NUL": true, "Scripts/con": true, "aux.txt": true, "Aux/x": true, "com1": true, "LPT9.tar.gz": true, "COM²": true, "CONIN$": true,
		"a.": true, "a /b": true, "nul .txt": true,
		"console": false, "null": false, "com": false, "com10": false, "x.nul": false, ".hidden": false, "a b": false,
	} {
		data := archive(t, member{name: name})
		a, err := csar.OpenReader(t.Context(), bytes.NewReader(data), int64(len(data)), csar.Options{})
		if err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		if got := errors.Is(a.Warnings(), problem.Problem{Code: problem.ReservedName}); got != want {
			t.Errorf("%q: a warning: %t, want %t", name, got, want)
		}
		a.Close()
	}
}
