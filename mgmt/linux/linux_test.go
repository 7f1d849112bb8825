package linux_test

import (
	"io"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/vnfkit/vnfkit/mgmt/linux"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// files is a package.
type files map[string]string

func (f files) open(path string) (io.ReadCloser, error) {
	if content, ok := f[path]; ok {
		return io.NopCloser(strings.NewReader(content)), nil
	}
	return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
}

var keys = files{"key.asc": "-----BEGIN PGP PUBLIC KEY BLOCK-----\n"}

func TestSources(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]linux.Repository{
		"flat.sources":  {URL: "https://pkgs.k8s.io/core:/stable:/v1.35/deb/"},
		"suite.sources": {URL: "http://10.0.0.1:8080/debian", Suite: "stable", Components: []string{"main", "extra"}},
	} {
		want, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), linux.Sources(r, "/etc/apt/keyrings/vnfkit-kubernetes.asc")); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestOSRelease(t *testing.T) {
	t.Parallel()
	got := linux.OSRelease([]byte("# a comment\nNAME=\"Ubuntu\"\nID=ubuntu\r\nVERSION_ID='24.04'\nBROKEN\nEMPTY=\"\"\nQUOTE=\"\n"))
	want := map[string]string{"NAME": "Ubuntu", "ID": "ubuntu", "VERSION_ID": "24.04", "EMPTY": "", "QUOTE": `"`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestKeyForms(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"\n-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nx": "asc", "-----BEGIN PGP PRIVATE KEY BLOCK-----\n": "", "\x99\x01": "gpg", "\xc6\x01": "gpg",
		"\x95\x01": "", "\xc5\x01": "", "": "", "\x99": "", "deb http://x /": "",
	} {
		if got := linux.KeyForm([]byte(key)); got != want {
			t.Errorf("%q is %q, not %q", key, got, want)
		}
	}
}
