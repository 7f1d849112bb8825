package sshexec_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// flood is a program that prints text without end.
func flood(text string) sshtest.Command {
	block := []byte(strings.Repeat(text, 1+32<<10/len(text)))
	return func(ctx context.Context, p *sshtest.Process) int {
		for ctx.Err() == nil {
			if _, err := p.Stdout.Write(block); err != nil {
				break
			}
		}
		return 1
	}
}

// put creates a file of the login user.
func put(t *testing.T, remote *sshtest.Host, name, content string) {
	t.Helper()
	if err := errors.Join(remote.FS().MkdirAll(path.Dir(name), 0o755), afero.WriteFile(remote.FS(), name, []byte(content), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// TestBounds checks that every call that reads the output of a host refuses endless output with an error that names the limit.
func TestBounds(t *testing.T) {
	file := strings.Repeat("0a", 32) + "  ./"
	download := func(l sshexec.TreeLimits) func(context.Context, *testing.T, *sshexec.Host) error {
		return func(ctx context.Context, t *testing.T, h *sshexec.Host) error {
			return h.DownloadTree(ctx, t.TempDir(), sshexec.Tree{Path: "/home/ubuntu/t", Limits: l})
		}
	}
	upload := func(ctx context.Context, _ *testing.T, h *sshexec.Host) error {
		return h.UploadTree(ctx, fstest.MapFS{"f": {Data: []byte("content"), Mode: 0o644}}, sshexec.Tree{Path: "/home/ubuntu/t"})
	}
	for _, tt := range []struct {
		name     string
		programs map[string]sshtest.Command
		call     func(context.Context, *testing.T, *sshexec.Host) error
		want     sshexec.LimitError
	}{
		{"Output", map[string]sshtest.Command{"flood": flood("x")},
			func(ctx context.Context, _ *testing.T, h *sshexec.Host) error {
				_, err := h.Output(ctx, sshexec.Command{Argv: []string{"flood"}})
				return err
			}, sshexec.LimitError{What: "bytes of output", Limit: 1 << 20}},
		{"ReadFile", map[string]sshtest.Command{"cat": flood("x")},
			func(ctx context.Context, _ *testing.T, h *sshexec.Host) error {
				_, err := h.ReadFile(ctx, sshexec.File{Path: "/home/ubuntu/t/f"})
				return err
			}, sshexec.LimitError{What: "bytes of output", Limit: 1 << 20}},
		{"names", map[string]sshtest.Command{"find": flood("./a\x00")}, download(sshexec.TreeLimits{}),
			sshexec.LimitError{What: "files and directories", Limit: 100_000}},
		{"long names", map[string]sshtest.Command{"find": flood("./" + strings.Repeat("n", 4000) + "\x00")}, download(sshexec.TreeLimits{}),
			sshexec.LimitError{What: "bytes in the names of the tree", Limit: 16 << 20}},
		{"one name", map[string]sshtest.Command{"find": flood("n")}, download(sshexec.TreeLimits{}),
			sshexec.LimitError{What: "bytes in a name of the tree", Limit: 4096}},
		{"depth", map[string]sshtest.Command{"find": flood("./" + strings.Repeat("d/", 101) + "f\x00")}, download(sshexec.TreeLimits{}),
			sshexec.LimitError{What: "levels of directories", Limit: 100}},
		{"fewer names", nil, download(sshexec.TreeLimits{Entries: 1}), sshexec.LimitError{What: "files and directories", Limit: 1}},
		{"bytes", nil, download(sshexec.TreeLimits{Bytes: 6}), sshexec.LimitError{What: "bytes in the files of the tree", Limit: 6}},
		{"digests of a download", map[string]sshtest.Command{"sha256sum": flood(file + "f\n"), "openssl": flood(file + "f\n")},
			download(sshexec.TreeLimits{}), sshexec.LimitError{What: "lines of output", Limit: 1}},
		{"a line", map[string]sshtest.Command{"sha256sum": flood("x"), "openssl": flood("x")},
			download(sshexec.TreeLimits{}), sshexec.LimitError{What: "bytes in a line", Limit: 1 << 20}},
		{"facts of an upload", map[string]sshtest.Command{"stat": flood("7 644 ubuntu:ubuntu regular file/home/ubuntu/t/f\n")}, upload,
			sshexec.LimitError{What: "lines of output", Limit: 2}},
		{"digests of an upload", map[string]sshtest.Command{"sha256sum": flood(file + "f\n"), "openssl": flood(file + "f\n")}, upload,
			sshexec.LimitError{What: "lines of output", Limit: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			host, remote := connect(t, sshtest.Config{Commands: tt.programs})
			put(t, remote, "/home/ubuntu/t/f", "content")
			err := tt.call(withinMinutes(t), t, host)
			var got *sshexec.LimitError
			if !errors.As(err, &got) || !errors.Is(err, sshexec.ErrTooLarge) {
				t.Fatalf("got %v", err)
			}
			if diff := cmp.Diff(tt.want, *got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestDownloadTreeWithinItsLimits checks that a tree exactly at the limits is downloaded.
func TestDownloadTreeWithinItsLimits(t *testing.T) {
	host, remote := connect(t, sshtest.Config{})
	for i := range 3 {
		put(t, remote, fmt.Sprintf("/home/ubuntu/t/d/%d", i), "1234")
	}
	limits := sshexec.TreeLimits{Entries: 5, NameBytes: len(".") + len("d") + 3*len("d/0"), Depth: 1, Bytes: 12}
	to := t.TempDir()
	if err := host.DownloadTree(withinMinutes(t), to, sshexec.Tree{Path: "/home/ubuntu/t", Limits: limits}); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(to, "d", "2")); err != nil || string(got) != "1234" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestBoundOfJobOutput checks that a host cannot send more output of a job in one answer than requested.
func TestBoundOfJobOutput(t *testing.T) {
	const state, most = "running 0 1 1 0\n", 16 << 20
	output := strings.Repeat("x", most+1)
	if _, got, err := sshexec.SplitJobAnswer(state+output[:most], 32<<10); err != nil || len(got) != most {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	var beyond *sshexec.LimitError
	if _, _, err := sshexec.SplitJobAnswer(state+output, 32<<10); !errors.As(err, &beyond) || beyond.Limit != most {
		t.Errorf("got %v", err)
	}
}
