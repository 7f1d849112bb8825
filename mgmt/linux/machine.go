package linux

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"strconv"
	"strings"

	"github.com/vnfkit/vnfkit/sshexec"
)

// Machine is a host on which every operation runs as root: through sudo, unless the login user is root. If sudo refuses a command, the
// error wraps sshexec.ErrSudo.
type Machine struct{ SSH *sshexec.Host }

// AsRoot returns the operations on a host that run as root.
func AsRoot(host *sshexec.Host) Machine { return Machine{SSH: host} }

// Exec runs a command as sshexec.Host.Exec does. Root is set, and User must be empty.
func (m Machine) Exec(ctx context.Context, c sshexec.Command) error {
	c.Root = true
	return m.SSH.Exec(ctx, c)
}

// Output runs a command and returns its standard output, as sshexec.Host.Output does.
func (m Machine) Output(ctx context.Context, c sshexec.Command) ([]byte, error) {
	c.Root = true
	return m.SSH.Output(ctx, c)
}

// Number runs a program and returns the first whole number in its standard output, such as that of df --output=avail. Output without a
// number is an error.
func (m Machine) Number(ctx context.Context, argv ...string) (int64, error) {
	out, err := m.Output(ctx, sshexec.Command{Argv: argv})
	if err != nil {
		return 0, err
	}
	for _, field := range strings.Fields(string(out)) {
		if value, err := strconv.ParseInt(field, 10, 64); err == nil {
			return value, nil
		}
	}
	return 0, errors.New(argv[0] + " prints no number")
}

// Run runs a program. Its output appears only in the error.
func (m Machine) Run(ctx context.Context, argv ...string) error {
	return m.Exec(ctx, sshexec.Command{Argv: argv})
}

// Succeeds runs a program and reports whether it ends with exit code 0. It returns false for the exit codes 1, 3 and 4
// (systemctl answers with the latter two), and an error for any other one.
func (m Machine) Succeeds(ctx context.Context, argv ...string) (bool, error) {
	err := m.Run(ctx, argv...)
	if exit, ok := errors.AsType[*sshexec.ExitError](err); ok && (exit.Code == 1 || exit.Code == 3 || exit.Code == 4) {
		return false, nil
	}
	return err == nil, err
}

// ReadFile returns the content of a file, of at most 1 MiB. The error wraps fs.ErrNotExist if the file does not exist.
func (m Machine) ReadFile(ctx context.Context, name string) ([]byte, error) {
	return m.SSH.ReadFile(ctx, sshexec.File{Path: name, Root: true})
}

// Read returns the content of a file, as ReadFile does; exists is false if the file does not exist.
func (m Machine) Read(ctx context.Context, name string) (content []byte, exists bool, err error) {
	content, err = m.ReadFile(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	return content, err == nil, err
}

// Write replaces a file at once, or makes it, with the directory that it is in.
func (m Machine) Write(ctx context.Context, name string, content []byte, mode fs.FileMode) error {
	return m.WriteFrom(ctx, name, bytes.NewReader(content), mode)
}

// WriteFrom is Write for content of any size. An error of the reader leaves the file as it was.
func (m Machine) WriteFrom(ctx context.Context, name string, content io.Reader, mode fs.FileMode) error {
	return m.SSH.Upload(ctx, content, sshexec.File{Path: name, Mode: mode, Root: true, Parents: true})
}

// Remove removes files. Those that are not there are removed already.
func (m Machine) Remove(ctx context.Context, names ...string) error {
	return m.Run(ctx, append([]string{"rm", "-f", "--"}, names...)...)
}

// DownloadTree copies a directory of the machine into dir, as sshexec.Host.DownloadTree does.
func (m Machine) DownloadTree(ctx context.Context, dir string, t sshexec.Tree) error {
	t.Root = true
	return m.SSH.DownloadTree(ctx, dir, t)
}

// askless succeeds if the login user is root, or becomes root without a password.
const askless sshexec.Shell = `[ "$(id -u)" = 0 ] || sudo -n true`

// NeedsPassword reports whether the login user can become root only with a password.
func (m Machine) NeedsPassword(ctx context.Context) (bool, error) {
	err := m.SSH.Exec(ctx, sshexec.Command{Shell: askless})
	if _, refused := errors.AsType[*sshexec.ExitError](err); refused {
		return true, nil
	}
	return false, err
}
