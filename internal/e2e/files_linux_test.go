package e2e_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/sshexec"
)

// TestUpload: files of the user and of root arrive whole, with mode and owner, or not at all.
func TestUpload(t *testing.T) {
	content := strings.Repeat(hostile, 50<<10) // 2.6 MB
	for name, ask := range sudoers {
		t.Run(name, func(t *testing.T) {
			host, machine := connect(t, vmhost.Spec{AskPassword: ask}, sshexec.Options{})
			for _, f := range []sshexec.File{
				{Path: "/home/" + user + "/it's $(id).bin", Mode: 0o640},
				{Path: "/etc/of root", Mode: 0o600, Root: true},
				{Path: "/etc/given away", Mode: 0o444, Root: true, Owner: user + ":" + user},
			} {
				if err := host.Upload(within(t, 20*time.Second), strings.NewReader(content), f); err != nil {
					t.Fatal(err)
				}
				got, err := afero.ReadFile(machine.FS(), f.Path)
				if err != nil || string(got) != content {
					t.Errorf("%s: %d bytes, %v", f.Path, len(got), err)
				}
				stat, err := host.Output(t.Context(), sshexec.Command{Argv: []string{"stat", "-c", "%a %U", f.Path}})
				owner := user
				if f.Root && f.Owner == "" {
					owner = "root"
				}
				if want := fmt.Sprintf("%o %s\n", f.Mode, owner); err != nil || string(stat) != want {
					t.Errorf("%s: got %q, want %q, %v", f.Path, stat, want, err)
				}
			}
			wrong := sshexec.File{Path: "/etc/wrong", Root: true, SHA256: strings.Repeat("0", 64)}
			if err := host.Upload(t.Context(), io.MultiReader(strings.NewReader("x")), wrong); !errors.Is(err, sshexec.ErrDigest) {
				t.Errorf("wrong digest: got %v", err)
			}
			if _, err := machine.FS().Stat(wrong.Path); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the file of the wrong digest is there: %v", err)
			}
			var forbidden *sshexec.HostError
			if err := host.Upload(t.Context(), strings.NewReader("x"), sshexec.File{Path: "/etc/not-ours"}); !errors.As(err, &forbidden) {
				t.Errorf("a file of root's written by another user: %v", err)
			}
			if left, err := afero.Glob(machine.FS(), "/etc/.*sshexec*"); err != nil || len(left) > 0 {
				t.Errorf("left: %q, %v", left, err)
			}
		})
	}
}
