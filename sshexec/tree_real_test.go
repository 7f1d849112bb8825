package sshexec_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/sshexec"
)

// oddNames are names that a shell or a parser could misinterpret.
var oddNames = []string{
	"plain", "-rf", "--", "a b", "new\nline", "back\\slash", "\\", "q'uo\"te", "$HOME", "`id`", "*", "?", "tab\t",
	"return\r", ".hidden", "~", "#", "ünïcode", "a=b", "&", ";", strings.Repeat("x", 200),
}

// sampleTree has odd names at three depths, empty and large files and an empty directory.
func sampleTree(names []string) fstest.MapFS {
	tree := fstest.MapFS{"empty dir": {Mode: fs.ModeDir | 0o750}}
	for i, name := range names {
		tree[name] = &fstest.MapFile{Data: noise(i), Mode: 0o640}
		tree["d/"+name+"/f"] = &fstest.MapFile{Data: noise(1000 + i), Mode: 0o755}
		tree["d/e/"+name] = &fstest.MapFile{Data: noise(i * 3), Mode: 0o600}
	}
	tree["large"] = &fstest.MapFile{Data: noise(5<<20 + 1), Mode: 0o644}
	return tree
}

// contents reads a tree: content and permission bits by name.
func contents(t *testing.T, tree fs.FS) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		switch {
		case err != nil:
			return err
		case d.IsDir():
			found[name] = "directory"
		case !d.Type().IsRegular():
			found[name] = d.Type().String()
		default:
			data, err := fs.ReadFile(tree, name)
			found[name] = info.Mode().Perm().String() + " " + digest(string(data))
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestTreeToOpenSSHAndBack(t *testing.T) {
	t.Parallel()
	server := startSSHD(t)
	host := server.host(t)
	tree := sampleTree(oddNames)
	want := contents(t, tree)
	var last sshexec.Progress
	to := sshexec.Tree{Path: filepath.Join(t.TempDir(), "new", "tree"), Progress: func(p sshexec.Progress) { last = p }}
	var sizes []int64
	for range 2 {
		if err := host.UploadTree(withinMinutes(t), tree, to); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, contents(t, os.DirFS(to.Path))); diff != "" {
			t.Fatal(diff)
		}
		sizes = append(sizes, last.Total)
	}
	if sizes[0] < 5<<20 || sizes[1] > 100<<10 {
		t.Errorf("the first upload sent %d bytes, the second, of the same tree, %d", sizes[0], sizes[1])
	}
	if info, err := os.Stat(filepath.Join(to.Path, "empty dir")); err != nil || info.Mode().Perm() != 0o750 {
		t.Errorf("mode of a directory: %v, %v", info.Mode(), err)
	}

	back := t.TempDir()
	for range 2 {
		if err := host.DownloadTree(withinMinutes(t), back, to); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, contents(t, os.DirFS(back))); diff != "" {
			t.Fatal(diff)
		}
	}
	if last.Total > 100<<10 {
		t.Errorf("downloaded %d bytes that the local directory already has", last.Total)
	}
}

func TestTreeSendsWhatDiffers(t *testing.T) {
	t.Parallel()
	server := startSSHD(t)
	host := server.host(t)
	dir := t.TempDir()
	write := func(name, text string, mode fs.FileMode) {
		at := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(text), mode), os.Chmod(at, mode)); err != nil {
			t.Fatal(err)
		}
	}
	write("same", "aaaa", 0o644)
	write("content", "aaaa", 0o644)
	write("size", "aaaa", 0o644)
	write("mode", "aaaa", 0o600)
	write("kept/other", "x", 0o600)
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(filepath.Join(dir, "same"))
	if err != nil {
		t.Fatal(err)
	}
	tree := fstest.MapFS{}
	for name, text := range map[string]string{"same": "aaaa", "content": "bbbb", "size": "aaaaa", "mode": "aaaa", "new": "", "link": "mine", "kept/new": "y"} {
		tree[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
	}
	var last sshexec.Progress
	to := sshexec.Tree{Path: dir, Progress: func(p sshexec.Progress) { last = p }}
	if err := host.UploadTree(withinMinutes(t), tree, to); err != nil {
		t.Fatal(err)
	}
	want := contents(t, tree)
	want["kept/other"] = "-rw------- " + digest("x")
	if diff := cmp.Diff(want, contents(t, os.DirFS(dir))); diff != "" {
		t.Error(diff)
	}
	after, err := os.Stat(filepath.Join(dir, "same"))
	if err != nil || !os.SameFile(before, after) {
		t.Errorf("an equal file was replaced: %v", err)
	}
	if diff := cmp.Diff(sshexec.Progress{Host: "sshd", Path: dir, Done: 4 + 5 + 4 + 4 + 1, Total: 18}, last); diff != "" {
		t.Error(diff)
	}
}

func TestTreeFaults(t *testing.T) {
	t.Parallel()
	server := startSSHD(t)
	host := server.host(t)
	dir := t.TempDir()
	outside := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "f"), 0o755), os.Symlink(outside, filepath.Join(dir, "d"))); err != nil {
		t.Fatal(err)
	}
	local := t.TempDir()
	if err := errors.Join(
		os.Symlink("nothing", filepath.Join(local, "dangling")), os.Symlink("/etc", filepath.Join(local, "dir")),
		os.WriteFile(filepath.Join(local, "fine"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	socket(t, filepath.Join(local, "socket"))
	many := fstest.MapFS{}
	for range 30 {
		many[strings.Repeat("x", len(many)+1)] = &fstest.MapFile{Mode: fs.ModeSocket}
	}
	for _, tt := range []struct {
		name  string
		from  fs.FS
		tree  sshexec.Tree
		want  error
		names []string
	}{
		{"of this machine", os.DirFS(local), sshexec.Tree{Path: dir}, sshexec.ErrIrregular, []string{"dangling", "dir", "socket"}},
		{"in the way", fstest.MapFS{"f": {}, "d/x": {}}, sshexec.Tree{Path: dir}, sshexec.ErrIrregular, []string{dir + "/f", dir + "/d"}},
		{"many", many, sshexec.Tree{Path: dir}, sshexec.ErrIrregular, []string{"and 10 more"}},
		{"relative", fstest.MapFS{}, sshexec.Tree{Path: "x"}, nil, []string{"absolute"}},
		{"owner", fstest.MapFS{}, sshexec.Tree{Path: dir, Owner: "-R"}, nil, []string{"-R"}},
		{"a file", fstest.MapFS{}, sshexec.Tree{Path: filepath.Join(local, "fine")}, nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := host.UploadTree(withinMinutes(t), tt.from, tt.tree)
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) || !strings.HasPrefix(err.Error(), "sshd: ") {
				t.Fatalf("got %v, want %v", err, tt.want)
			}
			for _, n := range tt.names {
				if !strings.Contains(err.Error(), n) {
					t.Errorf("%q is not named: %v", n, err)
				}
			}
			if left := remains(t, dir, "f", "d"); left != nil {
				t.Errorf("files left on the host: %q", left)
			}
			if left := remains(t, outside); left != nil {
				t.Errorf("files written through a link: %q", left)
			}
		})
	}
}

func TestTreeGoesOnAfterACut(t *testing.T) {
	t.Parallel()
	server := startSSHD(t)
	tree := fstest.MapFS{}
	for i := range 40 {
		tree[strings.Repeat("f", i+1)] = &fstest.MapFile{Data: noise(100<<10 + i), Mode: 0o600}
	}
	dir := filepath.Join(t.TempDir(), "tree")
	w := &wires{cutSent: func(n int64) int64 { return map[bool]int64{true: 2 << 20}[n <= 2] }}
	if err := server.over(t, w).UploadTree(withinMinutes(t), tree, sshexec.Tree{Path: dir}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(contents(t, tree), contents(t, os.DirFS(dir))); diff != "" {
		t.Error(diff)
	}
	if w.dials.Load() != 3 {
		t.Errorf("%d connections", w.dials.Load())
	}
	back := t.TempDir()
	w = &wires{cutReceived: func(n int64) int64 { return map[bool]int64{true: 2 << 20}[n <= 2] }}
	if err := server.over(t, w).DownloadTree(withinMinutes(t), back, sshexec.Tree{Path: dir}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(contents(t, tree), contents(t, os.DirFS(back))); diff != "" {
		t.Error(diff)
	}
}

func TestDownloadTreeOfALiar(t *testing.T) {
	t.Parallel()
	server := startSSHD(t)
	dir, to, outside := t.TempDir(), t.TempDir(), t.TempDir()
	if err := errors.Join(
		os.Mkdir(filepath.Join(dir, "d"), 0o755), os.WriteFile(filepath.Join(dir, "d", "f"), []byte("x"), 0o644),
		os.WriteFile(filepath.Join(dir, "g"), []byte("y"), 0o644), os.Symlink("/etc/passwd", filepath.Join(dir, "link")),
		os.Symlink(outside, filepath.Join(to, "d"))); err != nil {
		t.Fatal(err)
	}
	host := server.host(t)
	err := host.DownloadTree(withinMinutes(t), to, sshexec.Tree{Path: dir})
	if err == nil || remains(t, outside) != nil {
		t.Errorf("%v; through a link: %q", err, remains(t, outside))
	}
	bytesName := filepath.Join(dir, "\xff\n\xfe")
	if err := os.WriteFile(bytesName, []byte("z"), 0o644); err != nil {
		t.Fatal(err)
	}
	clean := t.TempDir()
	err = host.DownloadTree(withinMinutes(t), clean, sshexec.Tree{Path: dir})
	if !errors.Is(err, sshexec.ErrIrregular) || !strings.Contains(err.Error(), `"link"`) {
		t.Errorf("got %v", err)
	}
	if got, err := os.ReadFile(filepath.Join(clean, "d", "f")); err != nil || !bytes.Equal(got, []byte("x")) {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := os.ReadFile(filepath.Join(clean, filepath.Base(bytesName))); err != nil || string(got) != "z" {
		t.Errorf("%q, %v", got, err)
	}
	if err := host.DownloadTree(withinMinutes(t), clean, sshexec.Tree{Path: filepath.Join(dir, "none")}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
