package kubespray_test

import (
	"errors"
	"io/fs"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// shared matches directories that all instances and the jobs of sshexec use. They remain after terminating, empty.
var shared = regexp.MustCompile(`^/home/ansible/(\.local|\.local/state|\.local/state/sshexec|\.local/state/sshexec/jobs|\.vnfkit|\.vnfkit/run|\.vnfkit/cp|\.vnfkit/kubespray)/$`)

// files returns the files of the login user on the Ansible server, with their content.
func files(t testing.TB, h *sshtest.Host) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := afero.Walk(h.FS(), "/home/ansible", func(name string, info fs.FileInfo, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the file has just been removed
		}
		if err != nil {
			return err
		}
		if info.IsDir() {
			if !shared.MatchString(name + "/") {
				out[name+"/"] = ""
			}
			return nil
		}
		data, err := afero.ReadFile(h.FS(), name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		out[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func sameFiles(t testing.TB, before, after map[string]string) {
	t.Helper()
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("files on the Ansible server:\n%s", diff)
	}
}

// read returns the content of a file.
func read(t testing.TB, h *sshtest.Host, name string) string {
	t.Helper()
	data, err := afero.ReadFile(h.FS(), name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
