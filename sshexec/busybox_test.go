package sshexec_test

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/internal/fulltest"
	"github.com/vnfkit/vnfkit/sshexec"
)

// TestTransfersWithBusybox transfers files with the programs of busybox, on a host without GNU's programs and openssl.
func TestTransfersWithBusybox(t *testing.T) {
	t.Parallel()
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		t.Skip("needs busybox: ", err)
	}
	programs := t.TempDir()
	applets, err := exec.CommandContext(t.Context(), busybox, "--list").Output()
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.Lines(string(applets)) {
		if err := os.Symlink(busybox, filepath.Join(programs, strings.TrimSpace(name))); err != nil {
			t.Fatal(err)
		}
	}
	for name, lines := range map[string][]string{
		"SFTP": nil,
		"no SFTP": {"Subsystem sftp /bin/false", "ForceCommand case \"$SSH_ORIGINAL_COMMAND\" in *sftp-server*) exit 44;; " +
			"*) exec " + busybox + " sh -c \"$SSH_ORIGINAL_COMMAND\";; esac"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "SFTP" {
				fulltest.SkipVariant(t)
			}
			server := startSSHD(t, append(lines, "SetEnv PATH="+programs)...)
			w := &wires{cutSent: func(n int64) int64 { return map[bool]int64{true: 12 << 20}[n == 1] }}
			host := server.over(t, w)
			dir := t.TempDir()
			content := noise(17<<20 + 7)
			f := sshexec.File{Path: filepath.Join(dir, "f"), Mode: 0o600}
			for range 2 {
				if err := host.Upload(withinMinutes(t), bytes.NewReader(content), f); err != nil {
					t.Fatal(err)
				}
			}
			if err := host.Upload(withinMinutes(t), strings.NewReader("small"), sshexec.File{Path: filepath.Join(dir, "g")}); err != nil {
				t.Fatal(err)
			}
			if sent := w.sent.Load(); sent > 26<<20 {
				t.Errorf("sent %d bytes: not resumed, or not skipped", sent)
			}
			if got, err := os.ReadFile(f.Path); err != nil || !bytes.Equal(got, content) {
				t.Errorf("content differs: %d bytes, %v", len(got), err)
			}
			if err := host.Download(withinMinutes(t), io.Discard, f); err != nil {
				t.Error(err)
			}
			tree := sampleTree(oddNames)
			for range 2 {
				if err := host.UploadTree(withinMinutes(t), tree, sshexec.Tree{Path: filepath.Join(dir, "tree")}); err != nil {
					t.Fatal(err)
				}
			}
			back := t.TempDir()
			if err := host.DownloadTree(withinMinutes(t), back, sshexec.Tree{Path: filepath.Join(dir, "tree")}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(contents(t, tree), contents(t, os.DirFS(back))); diff != "" {
				t.Error(diff)
			}
			if left := remains(t, dir, "f", "g", "tree"); left != nil {
				t.Errorf("files left on the host: %q", left)
			}
		})
	}
}
