package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/sshexec"
)

// noise is content that no program makes smaller, always the same.
func noise(size int) []byte {
	content := make([]byte, size)
	random := rand.NewChaCha8([32]byte{1})
	_, _ = random.Read(content)
	return content
}

// wantFile checks content, mode and owner of a file.
func wantFile(t *testing.T, machine *vmhost.Host, name string, content []byte, want string) {
	t.Helper()
	digest, _, _ := strings.Cut(root(t, machine, "sh", "-c", `sha256sum <"$1"`, "sh", name), " ")
	if digest != sha256Of(content) {
		t.Errorf("%s has another content", name)
	}
	if stat := root(t, machine, "stat", "-c", "%a %U:%G", name); stat != want+"\n" {
		t.Errorf("%s: got %q, want %q", name, stat, want)
	}
}

// wantNothingLeft checks that transfers have left no temporary files.
func wantNothingLeft(t *testing.T, machine *vmhost.Host, dirs ...string) {
	t.Helper()
	if left := root(t, machine, append(append([]string{"find"}, dirs...), "-name", "*sshexec-*")...); left != "" {
		t.Errorf("left:\n%s", left)
	}
}

// TestFiles: files of the user and of root go there and come back whole, with mode and owner, or not at all.
func TestFiles(t *testing.T) {
	content := bytes.Repeat([]byte(hostile), 50<<10) // 2.6 MB
	home := "/home/" + user
	onEveryKind(t, func(t *testing.T, host *sshexec.Host, machine *vmhost.Host) {
		for _, c := range []struct {
			file sshexec.File
			want string
		}{
			{sshexec.File{Path: home + "/it's $(id).bin", Mode: 0o640}, "640 ubuntu:ubuntu"},
			{sshexec.File{Path: "/etc/of root", Mode: 0o600, Root: true}, "600 root:root"},
			{sshexec.File{Path: "/etc/given\naway", Mode: 0o444, Root: true, Owner: user + ":" + user}, "444 ubuntu:ubuntu"},
			{sshexec.File{Path: "/etc/-rf", Root: true, Owner: "www-data:" + user}, "644 www-data:ubuntu"},
		} {
			for range 2 { // the second time it is there already
				must(t, host.Upload(within(t, time.Minute), bytes.NewReader(content), c.file))
				wantFile(t, machine, c.file.Path, content, c.want)
			}
			other := append([]byte("other "), content...)
			must(t, host.Upload(within(t, time.Minute), io.MultiReader(bytes.NewReader(other)), c.file))
			wantFile(t, machine, c.file.Path, other, c.want)
			var back bytes.Buffer
			must(t, host.Download(within(t, time.Minute), &back, c.file))
			if !bytes.Equal(back.Bytes(), other) {
				t.Errorf("%s: %d bytes came back", c.file.Path, back.Len())
			}
		}
		for _, c := range []struct {
			name string
			file sshexec.File
			want error
		}{
			{"wrong digest", sshexec.File{Path: "/etc/wrong", Root: true, SHA256: strings.Repeat("0", 64)}, sshexec.ErrDigest},
			{"a directory of root's", sshexec.File{Path: "/etc/not-ours"}, fs.ErrPermission},
			{"no such directory", sshexec.File{Path: "/etc/none/file", Root: true}, fs.ErrNotExist},
		} {
			err := host.Upload(within(t, time.Minute), io.MultiReader(strings.NewReader("x")), c.file)
			if !errors.Is(err, c.want) {
				t.Errorf("%s: got %v, want %v", c.name, err, c.want)
			}
			if _, err := machine.FS().Stat(c.file.Path); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: the file is there: %v", c.name, err)
			}
		}
		for name, want := range map[string]error{"/none": fs.ErrNotExist, "/etc/shadow": fs.ErrPermission} {
			if err := host.Download(within(t, time.Minute), io.Discard, sshexec.File{Path: name}); !errors.Is(err, want) {
				t.Errorf("download %s: got %v, want %v", name, err, want)
			}
		}
		wantNothingLeft(t, machine, "/etc", home)
	})
}

// TestDisks: a full disk and a read-only one say so, what was there stays, and nothing half written.
func TestDisks(t *testing.T) {
	onEveryKind(t, func(t *testing.T, host *sshexec.Host, machine *vmhost.Host) {
		root(t, machine, "sh", "-ec", `mkdir -p /full /ro; mount -t tmpfs -o size=1m,mode=1777 tmpfs /full
			mount -t tmpfs -o mode=1777 tmpfs /ro; echo old >/ro/file; mount -o remount,ro /ro`)
		small, large := noise(100_000), noise(3<<20)
		for _, asRoot := range []bool{false, true} {
			owner, full := user+":"+user, sshexec.File{Path: "/full/user", Root: asRoot}
			if asRoot {
				owner, full.Path = "root:root", "/full/root"
			}
			must(t, host.Upload(within(t, time.Minute), bytes.NewReader(small), full))
			for name, content := range map[string]io.Reader{"seekable": bytes.NewReader(large), "stream": io.MultiReader(bytes.NewReader(large))} {
				if err := host.Upload(within(t, time.Minute), content, full); !errors.Is(err, syscall.ENOSPC) {
					t.Errorf("root %t, %s, full disk: got %v", asRoot, name, err)
				}
			}
			wantFile(t, machine, full.Path, small, "644 "+owner)
			err := host.Upload(within(t, time.Minute), bytes.NewReader(small), sshexec.File{Path: "/ro/file", Root: asRoot})
			if !errors.Is(err, syscall.EROFS) {
				t.Errorf("root %t, read-only: got %v", asRoot, err)
			}
		}
		wantNothingLeft(t, machine, "/full", "/ro")
	})
}

// TestCutUpload: connections are cut while a file is sent. One that can be read again arrives all the same; of
// another one nothing is left once it is sent again.
func TestCutUpload(t *testing.T) {
	onEveryKind(t, func(t *testing.T, host *sshexec.Host, machine *vmhost.Host) {
		content := noise(48 << 20)
		for _, asRoot := range []bool{false, true} {
			f := sshexec.File{Path: "/home/" + user + "/large", Root: asRoot, Owner: user + ":" + user}
			root(t, machine, "rm", "-f", f.Path)
			slow := slowlyRead(content)
			cuts := cutWhen(t, machine, slow, 8<<20, 24<<20, 40<<20)
			must(t, host.Upload(within(t, 3*time.Minute), slow, f))
			if n := cuts(); n == 0 {
				t.Error("nothing was cut")
			}
			wantFile(t, machine, f.Path, content, "644 ubuntu:ubuntu")
			if most := int64(len(content)) * 3; slow.read.Load() > most {
				t.Errorf("root %t: %d bytes were read: that is no resuming", asRoot, slow.read.Load())
			}

			f.Path += " stream"
			slow = slowlyRead(content)
			cuts = cutWhen(t, machine, slow, 8<<20)
			if err := host.Upload(within(t, 3*time.Minute), io.MultiReader(slow), f); !errors.Is(err, sshexec.ErrDisconnected) {
				t.Errorf("root %t, a stream: %v", asRoot, err)
			}
			cuts()
			if _, err := machine.FS().Stat(f.Path); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("root %t: a part of the file is there: %v", asRoot, err)
			}
			must(t, host.Upload(within(t, 3*time.Minute), bytes.NewReader(content), f))
			wantNothingLeft(t, machine, "/home/"+user)
			must(t, machine.FS().Remove(f.Path))
		}
	})
}

// slowly is content that is read at some 100 MiB a second, so that there is a middle to be cut in.
type slowly struct {
	*bytes.Reader
	read atomic.Int64
}

func slowlyRead(content []byte) *slowly { return &slowly{Reader: bytes.NewReader(content)} }

func (s *slowly) Read(p []byte) (int, error) {
	time.Sleep(300 * time.Microsecond)
	n, err := s.Reader.Read(p[:min(len(p), 32<<10)])
	s.read.Add(int64(n))
	return n, err
}

// cutWhen cuts all connections whenever so much has been read, and returns how to end that, which tells how
// often it did.
func cutWhen(t *testing.T, machine *vmhost.Host, content *slowly, marks ...int64) (stop func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	n, done := 0, make(chan struct{})
	go func() {
		defer close(done)
		for _, mark := range marks {
			for content.read.Load() < mark {
				select {
				case <-ctx.Done():
					return
				case <-time.After(time.Millisecond):
				}
			}
			if err := machine.CutConnections(ctx); err != nil {
				t.Error(err)
			}
			n++
		}
	}()
	return func() int {
		cancel()
		<-done
		return n
	}
}

// TestTree uploads a directory with all kinds of file names and downloads it again.
func TestTree(t *testing.T) {
	tree := fstest.MapFS{
		"plain":                  {Data: []byte("plain\n")},
		"empty":                  {},
		"run.sh":                 {Data: []byte("#!/bin/sh\n"), Mode: 0o755},
		"-rf":                    {Data: []byte("x")},
		"it's $(id) \"q\" \\n *": {Data: []byte("quotes")},
		"new\nline/tab\t/é bin":  {Data: []byte{0, 255, 10}},
		"d/e/e/p":                {Data: noise(3 << 20)},
	}
	for i := range 300 {
		tree[fmt.Sprintf("many/%d/%d", i%7, i)] = &fstest.MapFile{Data: noise(i * 10)}
	}
	onEveryKind(t, func(t *testing.T, host *sshexec.Host, machine *vmhost.Host) {
		for _, to := range []sshexec.Tree{{Path: "/home/" + user + "/tree"}, {Path: "/etc/tree", Root: true, Owner: user + ":www-data"}} {
			begin := time.Now()
			must(t, host.UploadTree(within(t, 3*time.Minute), tree, to))
			t.Logf("%s after %s", to.Path, time.Since(begin))
			var sent atomic.Int64
			again := to
			again.Progress = func(p sshexec.Progress) { sent.Store(p.Done) }
			must(t, host.UploadTree(within(t, 3*time.Minute), tree, again))
			if n := sent.Load(); n > 100 { // files are looked at one by one where their names do not fit in a line
				t.Errorf("%d bytes were sent though all is there", n)
			}
			if out := root(t, machine, "stat", "-c", "%a %U", to.Path+"/run.sh", to.Path+"/plain"); out != "755 ubuntu\n644 ubuntu\n" {
				t.Errorf("got %q", out)
			}
			back := filepath.Join(t.TempDir(), "back")
			must(t, host.DownloadTree(within(t, 3*time.Minute), back, to))
			if diff := cmp.Diff(contents(t, tree), contents(t, os.DirFS(back))); diff != "" {
				t.Error(diff)
			}
		}
		wantNothingLeft(t, machine, "/home/"+user, "/etc")
	})
}

// contents are the digests of all files by name.
func contents(t *testing.T, from fs.FS) map[string]string {
	t.Helper()
	all := map[string]string{}
	must(t, fs.WalkDir(from, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := fs.ReadFile(from, name)
		all[name] = sha256Of(content)
		return err
	}))
	return all
}
