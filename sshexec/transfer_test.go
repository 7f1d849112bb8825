package sshexec_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// ways are the methods of transferring content.
var ways = []struct {
	name   string
	faults sshtest.Faults
	root   bool
	sudo   string
}{
	{name: "SFTP"},
	{name: "SFTP as root", root: true},
	{name: "SFTP as root with a password", root: true, sudo: "s3cret"},
	{name: "no SFTP", faults: sshtest.Faults{NoSFTP: true}},
	{name: "no SFTP as root", faults: sshtest.Faults{NoSFTP: true}, root: true, sudo: "s3cret"},
}

// eachWay runs a test with a host for each of the ways.
func eachWay(t *testing.T, test func(t *testing.T, host *sshexec.Host, remote *sshtest.Host, w *wires, root bool)) {
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			remote := sshtest.Start(t, sshtest.Config{SudoPassword: w.sudo})
			remote.SetFaults(w.faults)
			to := target(t, remote)
			if w.sudo != "" {
				to.Sudo = sshexec.SudoPassword(w.sudo)
			}
			sent := &wires{}
			test(t, newPool(t, sshexec.Options{Dial: sent.dial}).Host(to), remote, sent, w.root)
		})
	}
}

func TestTransferEachWay(t *testing.T) {
	eachWay(t, func(t *testing.T, host *sshexec.Host, remote *sshtest.Host, _ *wires, root bool) {
		for _, size := range []int{0, 100, 3<<20 + 1} {
			f := sshexec.File{Path: "/home/ubuntu/f", Mode: 0o640, Root: root}
			if root {
				f.Path, f.Owner = "/etc/f", "root:daemon"
			}
			content := noise(size)
			for _, from := range []io.Reader{onceOnly(content), bytes.NewReader(content)} {
				if err := host.Upload(withinMinutes(t), from, f); err != nil {
					t.Fatal(err)
				}
			}
			got, err := afero.ReadFile(remote.FS(), f.Path)
			if err != nil || !bytes.Equal(got, content) {
				t.Fatalf("content differs: %d bytes, %v", len(got), err)
			}
			out, err := host.Output(withinMinutes(t), sshexec.Command{Argv: []string{"stat", "-c", "%a %U:%G", f.Path}})
			want := "640 ubuntu:ubuntu\n"
			if root {
				want = "640 root:daemon\n"
			}
			if err != nil || string(out) != want {
				t.Errorf("%s: %v", out, err)
			}
			var back bytes.Buffer
			if err := host.Download(withinMinutes(t), &back, f); err != nil || !bytes.Equal(back.Bytes(), content) {
				t.Errorf("received %d bytes: %v", back.Len(), err)
			}
		}
		if left := leftovers(t, remote); left != nil {
			t.Errorf("files left on the host: %q", left)
		}
	})
}

// TestTransferGoesOnEachWay checks that content that has arrived is not transferred again after the connection was cut.
func TestTransferGoesOnEachWay(t *testing.T) {
	content := noise(6 << 20)
	eachWay(t, func(t *testing.T, host *sshexec.Host, remote *sshtest.Host, w *wires, root bool) {
		f := sshexec.File{Path: "/var/tmp/f", Root: root}
		if root {
			f.Path = "/root/f"
		}
		w.cutSent = func(n int64) int64 { return map[bool]int64{true: 5 << 20}[n == 1] }
		var reports []int64
		f.Progress = func(p sshexec.Progress) { reports = append(reports, p.Done) }
		if err := host.Upload(withinMinutes(t), bytes.NewReader(content), f); err != nil {
			t.Fatal(err)
		}
		if got, err := afero.ReadFile(remote.FS(), f.Path); err != nil || !bytes.Equal(got, content) {
			t.Fatalf("content differs: %d bytes, %v", len(got), err)
		}
		if sent := w.sent.Load(); sent > 10<<20 || w.dials.Load() != 2 {
			t.Errorf("sent %d bytes over %d connections", sent, w.dials.Load())
		}
		if left := leftovers(t, remote); left != nil {
			t.Errorf("files left on the host: %q", left)
		}
		if len(reports) == 0 || reports[len(reports)-1] != int64(len(content)) {
			t.Errorf("progress: %v", reports)
		}
	})
}

func TestUploadToABrokenDisk(t *testing.T) {
	for _, tt := range []struct {
		name   string
		broken sshtest.Faults
		want   error
	}{
		{"full", sshtest.Faults{DiskFull: true, DiskLeft: 50 << 10}, syscall.ENOSPC},
		{"read-only", sshtest.Faults{ReadOnly: []string{"/home"}}, syscall.EROFS},
	} {
		for _, size := range []int{60 << 10, 1 << 20} {
			for _, noSFTP := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%d/noSFTP=%t", tt.name, size, noSFTP), func(t *testing.T) {
					host, remote := connect(t, sshtest.Config{})
					faults := tt.broken
					faults.NoSFTP = noSFTP
					remote.SetFaults(faults)
					err := host.Upload(withinMinutes(t), bytes.NewReader(noise(size)), sshexec.File{Path: "/home/ubuntu/f"})
					if !errors.Is(err, tt.want) {
						t.Errorf("got %v, want %v", err, tt.want)
					}
					if left := leftovers(t, remote); left != nil {
						t.Errorf("files left on the host: %q", left)
					}
					if ok, _ := afero.Exists(remote.FS(), "/home/ubuntu/f"); ok {
						t.Error("the file was created")
					}
				})
			}
		}
	}
}

// TestUploadLeavesTheOldFile checks that the old file stays after any failure of an upload.
func TestUploadLeavesTheOldFile(t *testing.T) {
	host, remote := connect(t, sshtest.Config{})
	f := sshexec.File{Path: "/home/ubuntu/f"}
	if err := host.Upload(withinMinutes(t), strings.NewReader("old"), f); err != nil {
		t.Fatal(err)
	}
	remote.SetFaults(sshtest.Faults{CutAfter: 300 << 10})
	err := host.Upload(withinMinutes(t), onceOnly(noise(1<<20)), f)
	if !errors.Is(err, sshexec.ErrDisconnected) {
		t.Errorf("got %v", err)
	}
	remote.SetFaults(sshtest.Faults{})
	if got, err := afero.ReadFile(remote.FS(), f.Path); err != nil || string(got) != "old" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestOneSession checks that a transfer works on a host that allows one session at a time.
func TestOneSession(t *testing.T) {
	remote := sshtest.Start(t, sshtest.Config{})
	remote.SetFaults(sshtest.Faults{MaxSessions: 1})
	host := newPool(t, sshexec.Options{Sessions: 1}).Host(target(t, remote))
	content := noise(17 << 20)
	var running sync.WaitGroup
	for i := range 2 {
		running.Go(func() {
			f := sshexec.File{Path: fmt.Sprintf("/tmp/f%d", i)}
			if err := host.Upload(withinMinutes(t), bytes.NewReader(content), f); err != nil {
				t.Error(err)
			}
			if err := host.Download(withinMinutes(t), io.Discard, f); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	tree := fstest.MapFS{"a\nb": {Data: []byte("x")}, "c": {Data: []byte("y")}}
	if err := host.UploadTree(withinMinutes(t), tree, sshexec.Tree{Path: "/tmp/tree"}); err != nil {
		t.Error(err)
	}
	if err := host.DownloadTree(withinMinutes(t), t.TempDir(), sshexec.Tree{Path: "/tmp/tree"}); err != nil {
		t.Error(err)
	}
}

func TestTreeEachWay(t *testing.T) {
	tree := sampleTree(oddNames[:7])
	want := contents(t, tree)
	eachWay(t, func(t *testing.T, host *sshexec.Host, remote *sshtest.Host, _ *wires, root bool) {
		to := sshexec.Tree{Path: "/var/tmp/tree", Root: root}
		if root {
			to.Path, to.Owner = "/etc/tree", "daemon:daemon"
		}
		for range 2 {
			if err := host.UploadTree(withinMinutes(t), tree, to); err != nil {
				t.Fatal(err)
			}
		}
		there := contents(t, afero.NewIOFS(afero.NewBasePathFs(remote.FS(), to.Path)))
		if diff := cmp.Diff(want, there); diff != "" {
			t.Error(diff)
		}
		if root {
			out, err := host.Output(withinMinutes(t), sshexec.Command{Argv: []string{"stat", "-c", "%U:%G", to.Path + "/d", to.Path + "/d/e/plain"}})
			if err != nil || string(out) != "daemon:daemon\ndaemon:daemon\n" {
				t.Errorf("%s: %v", out, err)
			}
		}
		back := t.TempDir()
		if err := host.DownloadTree(withinMinutes(t), back, to); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, contents(t, os.DirFS(back))); diff != "" {
			t.Error(diff)
		}
	})
}

func TestTransfersLimit(t *testing.T) {
	host, _ := connect(t, sshtest.Config{})
	var mu sync.Mutex
	now, most := 0, 0
	var running sync.WaitGroup
	for i := range 20 {
		running.Go(func() {
			begun := false
			from := readerFunc(func(p []byte) (int, error) {
				mu.Lock()
				defer mu.Unlock()
				if !begun {
					begun = true
					now++
					most = max(most, now)
					return copy(p, "x"), nil
				}
				now--
				return 0, io.EOF
			})
			if err := host.Upload(withinMinutes(t), from, sshexec.File{Path: fmt.Sprintf("/tmp/f%d", i)}); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	if most > 8 {
		t.Errorf("%d at once", most)
	}
}

// growing is a file system whose files have more content than their size.
type growing struct{ fstest.MapFS }

func (g growing) Open(name string) (fs.File, error) {
	file, err := g.MapFS.Open(name)
	if _, isFile := g.MapFS[name]; isFile && err == nil {
		return grownFile{file}, nil
	}
	return file, err
}

type grownFile struct{ fs.File }

func (grownFile) Read(p []byte) (int, error) { return len(p), nil }

// TestTreeOfEndlessFiles checks that the size of a file limits the memory for its content.
func TestTreeOfEndlessFiles(t *testing.T) {
	host, remote := connect(t, sshtest.Config{})
	from := growing{fstest.MapFS{"small": {Data: []byte("x")}}}
	err := host.UploadTree(withinMinutes(t), from, sshexec.Tree{Path: "/tmp/tree"})
	if err == nil || !strings.Contains(err.Error(), `"small"`) {
		t.Errorf("got %v", err)
	}
	if _, err := remote.FS().Stat("/tmp/tree/small"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file was renamed to its path: %v", err)
	}
}
