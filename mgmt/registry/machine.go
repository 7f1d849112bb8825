package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/vnfkit/vnfkit/sshexec"
)

// machine is where a connection is made.
type machine struct {
	host *sshexec.Host
}

func (m machine) run(ctx context.Context, argv ...string) error {
	return m.host.Exec(ctx, sshexec.Command{Argv: argv, Root: true})
}

// holds runs a command that answers by its exit code: 1, or as systemctl does 3 or 4, is no.
func (m machine) holds(ctx context.Context, argv ...string) (bool, error) {
	err := m.run(ctx, argv...)
	if exit, ok := errors.AsType[*sshexec.ExitError](err); ok && (exit.Code == 1 || exit.Code == 3 || exit.Code == 4) {
		return false, nil
	}
	return err == nil, err
}

// read returns a file of root's, nothing when there is none.
func (m machine) read(ctx context.Context, name string) (content []byte, exists bool, err error) {
	content, err = m.host.ReadFile(ctx, sshexec.File{Path: name, Root: true})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	return content, err == nil, err
}

func (m machine) write(ctx context.Context, name string, content []byte, mode fs.FileMode) error {
	if err := m.run(ctx, "mkdir", "-p", path.Dir(name)); err != nil {
		return err
	}
	return m.host.Upload(ctx, bytes.NewReader(content), sshexec.File{Path: name, Mode: mode, Root: true})
}

func (m machine) remove(ctx context.Context, names ...string) error {
	return m.run(ctx, append([]string{"rm", "-f", "--"}, names...)...)
}

// update writes a JSON file that others own too, and returns whether anything changed. One that is left without
// anything in it is removed. Mode 0 keeps the mode of a file that exists.
func (m machine) update(ctx context.Context, name string, mode fs.FileMode, edit func(old []byte) ([]byte, error)) (changed bool, err error) {
	old, exists, err := m.read(ctx, name)
	if err != nil {
		return false, err
	}
	content, err := edit(old)
	if err != nil {
		return false, m.broken(name, err)
	}
	var left map[string]json.RawMessage
	if err := json.Unmarshal(orEmpty(content), &left); err != nil {
		return false, err
	}
	changed = !bytes.Equal(old, content)
	switch {
	case len(left) == 0 && changed && exists:
		return true, m.remove(ctx, name)
	case len(left) == 0, !changed && mode == 0:
		return false, nil
	case mode == 0:
		if mode, err = m.mode(ctx, name, exists); err != nil {
			return false, err
		}
	}
	return changed, m.write(ctx, name, content, mode)
}

// broken tells that a file of others is not what it should be.
func (m machine) broken(name string, err error) error {
	return fmt.Errorf("registry: %s: %s %w: mend or remove it", m.host.Name(), name, err)
}

// mode returns the permission bits of a file, those of most files when there is none.
func (m machine) mode(ctx context.Context, name string, exists bool) (fs.FileMode, error) {
	if !exists {
		return 0o644, nil
	}
	out, err := m.host.Output(ctx, sshexec.Command{Argv: []string{"stat", "-c", "%a", name}, Root: true})
	if err != nil {
		return 0, err
	}
	bits, err := strconv.ParseUint(strings.TrimSpace(string(out)), 8, 12)
	return fs.FileMode(bits) & fs.ModePerm, err
}
