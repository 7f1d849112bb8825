package sshexec_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// stream returns a reader without Seek.
func stream(text string) io.Reader { return io.MultiReader(strings.NewReader(text)) }

func digest(text string) string { return fmt.Sprintf("%X", sha256.Sum256([]byte(text))) }

// leftovers returns the temporary files on the host.
func leftovers(t *testing.T, h *sshtest.Host) []string {
	t.Helper()
	var found []string
	err := afero.Walk(h.FS(), "/", func(name string, _ fs.FileInfo, err error) error {
		if name == "/proc" { // processes come and go
			return fs.SkipDir
		}
		if strings.Contains(name, ".sshexec-") {
			found = append(found, name)
		}
		if name == "/proc" { // changes all the time
			return fs.SkipDir
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestUpload(t *testing.T) {
	large := strings.Repeat("0123456789abcdef", 1<<16) // 1 MiB
	tests := []struct {
		name    string
		content string
		file    sshexec.File
		mode    fs.FileMode
	}{
		{"as the user", "a\n", sshexec.File{Path: "/home/ubuntu/f"}, 0o644},
		{"empty", "", sshexec.File{Path: "/tmp/empty"}, 0o644},
		{"awkward name", "x", sshexec.File{Path: "/tmp/it's a \"name\"\n"}, 0o644},
		{"large", large, sshexec.File{Path: "/tmp/large", Mode: 0o600, SHA256: digest(large)}, 0o600},
		{"as root", large, sshexec.File{Path: "/etc/kubernetes.conf", Mode: 0o640, Root: true, Owner: "root:daemon"}, 0o640},
	}
	for _, sudo := range []string{"", "s3cret"} {
		remote := sshtest.Start(t, sshtest.Config{SudoPassword: sudo})
		to := target(t, remote)
		if sudo != "" {
			to.Sudo = sshexec.SudoPassword(sudo)
		}
		host := newPool(t, sshexec.Options{}).Host(to)
		for _, tt := range tests {
			t.Run(fmt.Sprintf("%s/password=%t", tt.name, sudo != ""), func(t *testing.T) {
				for range 2 { // the second upload replaces the file of the first
					if err := host.Upload(withinMinutes(t), stream(tt.content), tt.file); err != nil {
						t.Fatal(err)
					}
				}
				got, err := afero.ReadFile(remote.FS(), tt.file.Path)
				if err != nil || !bytes.Equal(got, []byte(tt.content)) {
					t.Fatalf("content differs (%d bytes): %v", len(got), err)
				}
				info, err := remote.FS().Stat(tt.file.Path)
				if err != nil || info.Mode().Perm() != tt.mode {
					t.Errorf("mode %v: %v", info.Mode(), err)
				}
				if left := leftovers(t, remote); left != nil {
					t.Errorf("files left on the host: %q", left)
				}
			})
		}
	}
}

func TestUploadSkipsWhatIsThere(t *testing.T) {
	host, remote := connect(t, sshtest.Config{})
	f := sshexec.File{Path: "/etc/f", Mode: 0o600, Root: true, Owner: "root"}
	written := func(content string, f sshexec.File) bool {
		t.Helper()
		before := len(remote.Commands())
		if err := host.Upload(withinMinutes(t), strings.NewReader(content), f); err != nil {
			t.Fatal(err)
		}
		for _, r := range remote.Commands()[before:] {
			if r.Argv[0] == "mv" {
				return true
			}
		}
		return false
	}
	other := f
	other.Mode = 0o644
	owned := other
	owned.Owner = "daemon:daemon"
	got := []bool{written("one", f), written("one", f), written("two", f), written("two", other), written("two", owned), written("two", owned)}
	if diff := cmp.Diff([]bool{true, false, true, true, true, false}, got); diff != "" {
		t.Error(diff)
	}
}

func TestUploadFailures(t *testing.T) {
	broken := errors.New("disk on fire")
	tests := []struct {
		name    string
		content io.Reader
		file    sshexec.File
		want    error
	}{
		{"reader fails", io.MultiReader(strings.NewReader("some"), iotest.ErrReader(broken)), sshexec.File{Path: "/tmp/f"}, broken},
		{"reader fails as root", io.MultiReader(strings.NewReader("some"), iotest.ErrReader(broken)), sshexec.File{Path: "/etc/f", Root: true}, broken},
		{"other digest, streamed", stream("x"), sshexec.File{Path: "/tmp/f", SHA256: digest("y")}, sshexec.ErrDigest},
		{"other digest, seekable", strings.NewReader("x"), sshexec.File{Path: "/tmp/f", SHA256: digest("y")}, sshexec.ErrDigest},
		{"not allowed", stream("x"), sshexec.File{Path: "/etc/f"}, fs.ErrPermission},
		{"no directory", stream("x"), sshexec.File{Path: "/tmp/none/f"}, fs.ErrNotExist},
		{"owner needs root", stream("x"), sshexec.File{Path: "/tmp/f", Owner: "root"}, nil},
		{"target is a directory", stream("x"), sshexec.File{Path: "/var/log"}, nil},
		{"relative", stream("x"), sshexec.File{Path: "f"}, nil},
		{"owner is an option", stream("x"), sshexec.File{Path: "/tmp/f", Owner: "-R"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			host, remote := connect(t, sshtest.Config{})
			err := host.Upload(withinMinutes(t), tt.content, tt.file)
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
			if !strings.Contains(fmt.Sprint(err), "node1") {
				t.Errorf("the host is not named: %v", err)
			}
			if left := leftovers(t, remote); left != nil {
				t.Errorf("files left on the host: %q", left)
			}
			if ok, _ := afero.Exists(remote.FS(), "/tmp/f"); ok {
				t.Error("the file was created")
			}
		})
	}
}

func TestUploadCancelled(t *testing.T) {
	errStop := errors.New("operator said stop")
	for _, root := range []bool{false, true} {
		t.Run(fmt.Sprintf("root=%t", root), func(t *testing.T) {
			host, remote := connect(t, sshtest.Config{})
			ctx, cancel := context.WithCancelCause(t.Context())
			sent := 0
			endless := readerFunc(func(p []byte) (int, error) {
				if sent += len(p); sent > 1<<20 {
					cancel(errStop)
				}
				return len(p), nil
			})
			err := host.Upload(ctx, endless, sshexec.File{Path: "/tmp/f", Root: root})
			if !errors.Is(err, errStop) {
				t.Errorf("got %v", err)
			}
			if left := leftovers(t, remote); left != nil {
				t.Errorf("files left on the host: %q", left)
			}
		})
	}
}

// TestUploadCancelledAsItBegins ends the context when the host starts the script that stores the file, before any content is sent. The
// script creates the temporary file anyway.
func TestUploadCancelledAsItBegins(t *testing.T) {
	t.Parallel()
	host, remote := connect(t, sshtest.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	remote.OnCommand(func(r sshtest.Record) {
		if path.Base(r.Argv[0]) == "sh" {
			cancel()
		}
	})
	err := host.Upload(ctx, strings.NewReader("content"), sshexec.File{Path: "/tmp/f"})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if left := leftovers(t, remote); left != nil {
		t.Errorf("files left on the host: %q", left)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestUploadDamagedOnTheWay(t *testing.T) {
	host, remote := connect(t, sshtest.Config{Commands: map[string]sshtest.Command{
		"sha256sum": func(_ context.Context, p *sshtest.Process) int {
			_, _ = fmt.Fprintln(p.Stdout, strings.Repeat("0", 64)+"  -")
			return 0
		},
	}})
	err := host.Upload(withinMinutes(t), stream("x"), sshexec.File{Path: "/tmp/f"})
	if !errors.Is(err, sshexec.ErrDigest) {
		t.Errorf("got %v", err)
	}
	if left := leftovers(t, remote); left != nil {
		t.Errorf("files left on the host: %q", left)
	}
}

func TestReadFile(t *testing.T) {
	host, remote := connect(t, sshtest.Config{})
	if err := afero.WriteFile(remote.FS(), "/etc/secret", []byte("x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx := withinMinutes(t)
	if got, err := host.ReadFile(ctx, sshexec.File{Path: "/etc/secret", Root: true}); err != nil || string(got) != "x\n" {
		t.Errorf("got %q, %v", got, err)
	}
	var exit *sshexec.ExitError
	if _, err := host.ReadFile(ctx, sshexec.File{Path: "/etc/secret"}); !errors.As(err, &exit) || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without root: got %v", err)
	}
	if _, err := host.ReadFile(ctx, sshexec.File{Path: "/etc/none"}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: got %v", err)
	}
	if err := afero.WriteFile(remote.FS(), "/tmp/large", make([]byte, 2<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := host.ReadFile(ctx, sshexec.File{Path: "/tmp/large"}); !errors.Is(err, sshexec.ErrTooLarge) {
		t.Errorf("large: got %v", err)
	}
}
