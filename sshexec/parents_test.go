package sshexec_test

import (
	"bytes"
	"errors"
	"io/fs"
	"testing"

	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// TestUploadParents checks that Upload creates missing directories for small and large files, and only if File.Parents is set.
func TestUploadParents(t *testing.T) {
	t.Parallel()
	host, remote := connect(t, sshtest.Config{})
	for name, size := range map[string]int{"small": 10, "large": 1 << 20} {
		t.Run(name, func(t *testing.T) {
			content := bytes.Repeat([]byte("x"), size)
			file := sshexec.File{Path: "/srv/" + name + "/it's/a b/file", Mode: 0o600, Root: true}
			if err := host.Upload(withinMinutes(t), bytes.NewReader(content), file); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("without Parents: %v", err)
			}
			file.Parents = true
			for range 2 { // the second time the directories exist
				if err := host.Upload(withinMinutes(t), bytes.NewReader(content), file); err != nil {
					t.Fatal(err)
				}
			}
			if got, err := afero.ReadFile(remote.FS(), file.Path); err != nil || !bytes.Equal(got, content) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
			if info, err := remote.FS().Stat("/srv/" + name + "/it's"); err != nil || info.Mode().Perm() != 0o755 {
				t.Errorf("directory: %v, %v", info, err)
			}
			below := sshexec.File{Path: file.Path + "/below/file", Root: true, Parents: true}
			if err := host.Upload(withinMinutes(t), bytes.NewReader(content), below); err == nil {
				t.Error("a file was replaced by a directory")
			}
		})
	}
}
