package linux

import (
	"bytes"
	"context"
	"errors"
	"io/fs"

	"github.com/vnfkit/vnfkit/sshexec"
)

// Machine is a host on which everything is done as root.
type Machine struct{ SSH *sshexec.Host }

// On returns the machine that is reached so.
func On(host *sshexec.Host) Machine { return Machine{SSH: host} }

// Run runs a program. Its output appears only in the error.
func (m Machine) Run(ctx context.Context, argv ...string) error {
	return m.SSH.Exec(ctx, sshexec.Command{Argv: argv, Root: true})
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

// Read returns the content of a file; exists is false if the file does not exist.
func (m Machine) Read(ctx context.Context, name string) (content []byte, exists bool, err error) {
	content, err = m.SSH.ReadFile(ctx, sshexec.File{Path: name, Root: true})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	return content, err == nil, err
}

// Write replaces a file at once, or makes it, with the directory that it is in.
func (m Machine) Write(ctx context.Context, name string, content []byte, mode fs.FileMode) error {
	return m.SSH.Upload(ctx, bytes.NewReader(content), sshexec.File{Path: name, Mode: mode, Root: true, Parents: true})
}

// Remove removes files. Those that are not there are removed already.
func (m Machine) Remove(ctx context.Context, names ...string) error {
	return m.Run(ctx, append([]string{"rm", "-f", "--"}, names...)...)
}
