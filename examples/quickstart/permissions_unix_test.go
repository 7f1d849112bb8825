//go:build unix

package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/vnfkit/vnfkit/internal/fulltest"
)

// TestLostPermissions kills the program, removes permissions from one of its files, and runs it again as a user without privileges. The
// program must name the file. After the permissions are restored, the program must resume the operation.
func TestLostPermissions(t *testing.T) {
	for _, c := range []struct {
		file string
		mode os.FileMode
		says string
	}{
		{"key", 0o000, "key"},
		{"state.db", 0o400, "state.db"},
		{".", 0o000, ""},
		{"world", 0o000, "world"},
	} {
		t.Run(c.file, func(t *testing.T) {
			t.Parallel()
			if c.file != "state.db" {
				fulltest.SkipVariant(t)
			}
			u := newUser(t)
			paused, err := u.start("-state", u.state, "-pause-before", "instantiate_end/join")
			if err != nil {
				t.Fatal(err)
			}
			awaitFile(t, filepath.Join(u.state, "paused"))
			_ = paused.Process.Kill()
			_ = paused.Wait()

			for _, name := range []string{"key", "state.db", "world/world.json"} {
				if info, err := os.Stat(filepath.Join(u.state, name)); err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("%s: %v, %v", name, info, err)
				}
			}
			file := filepath.Join(u.state, c.file)
			info, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}
			u.chmod(file, c.mode)
			said, err := u.run("-state", u.state)
			if err == nil || !strings.Contains(said, c.says) || strings.Contains(said, "panic") || !strings.Contains(said, "permission") && !strings.Contains(said, "readonly") {
				t.Errorf("%v\n%s", err, said)
			}
			u.chmod(file, info.Mode().Perm())
			if said, err = u.run("-state", u.state); err != nil {
				t.Fatalf("%v\n%s", err, said)
			}
			wantInOrder(t, said, "resuming it", "INSTANTIATE COMPLETED", "TERMINATE COMPLETED", "everything is done")
		})
	}
}

// user is a user without privileges, because root could read everything.
type user struct {
	t                *testing.T
	id               uint32 // 0: the user of the test
	state, self, pkg string
}

const nobody = 65534

func newUser(t *testing.T) *user {
	t.Helper()
	u := &user{t: t}
	dir := t.TempDir()
	u.state, u.self = filepath.Join(dir, "state"), filepath.Join(dir, "quickstart")
	u.must(os.Mkdir(u.state, 0o700))
	t.Cleanup(func() { u.chmod(u.state, 0o700) })
	self, err := os.Executable()
	u.must(err)
	u.copy(self, u.self) // the binary of go test is in a directory that only root can enter
	u.pkg = filepath.Join(dir, "package")
	u.must(os.CopyFS(u.pkg, os.DirFS("../packages/k8s-cluster")))
	if os.Geteuid() == 0 {
		u.id = nobody
		u.must(os.Chown(u.state, nobody, nobody))
		u.must(os.Chmod(filepath.Dir(dir), 0o755)) //nolint:gosec // the user must be able to enter the directory with its state
		u.must(os.Chmod(dir, 0o755))               //nolint:gosec // the same
	}
	return u
}

func (u *user) copy(from, to string) {
	u.t.Helper()
	in, err := os.Open(from) //nolint:gosec // the program of this test
	u.must(err)
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755) //nolint:gosec // a program
	u.must(err)
	_, err = io.Copy(out, in)
	u.must(err)
	u.must(out.Close())
}

func (u *user) must(err error) {
	u.t.Helper()
	if err != nil {
		u.t.Fatal(err)
	}
}

func (u *user) chmod(file string, mode os.FileMode) {
	u.t.Helper()
	u.must(os.Chmod(file, mode))
}

func (u *user) command(args ...string) *exec.Cmd {
	c := exec.CommandContext(u.t.Context(), u.self, append(args, "-package", u.pkg)...) //nolint:gosec // the program of this test
	c.Env = append(os.Environ(), asProgram+"=1")
	c.Dir = filepath.Dir(u.self)
	if u.id != 0 {
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: u.id, Gid: u.id}}
	}
	return c
}

func (u *user) start(args ...string) (*exec.Cmd, error) {
	c := u.command(args...)
	return c, c.Start()
}

func (u *user) run(args ...string) (string, error) {
	var said bytes.Buffer
	c := u.command(args...)
	c.Stdout, c.Stderr = &said, &said
	err := c.Run()
	return said.String(), err
}
