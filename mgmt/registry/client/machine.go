package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/vnfkit/vnfkit/mgmt/linux"
	"github.com/vnfkit/vnfkit/sshexec"
)

// machine is where a connection is made.
type machine struct{ linux.Machine }

// update writes a shared JSON file, and returns whether anything changed. It removes a file that becomes empty. Mode 0
// keeps the mode of an existing file.
func (m machine) update(ctx context.Context, name string, mode fs.FileMode, edit func(old []byte) ([]byte, error)) (changed bool, err error) {
	old, exists, err := m.Read(ctx, name)
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
		return true, m.Remove(ctx, name)
	case len(left) == 0, !changed && mode == 0:
		return false, nil
	case mode == 0:
		if mode, err = m.mode(ctx, name, exists); err != nil {
			return false, err
		}
	}
	return changed, m.Write(ctx, name, content, mode)
}

// broken reports that a shared file has invalid content.
func (m machine) broken(name string, err error) error {
	return fmt.Errorf("registry: %s: %s %w: mend or remove it", m.SSH.Name(), name, err)
}

// mode returns the permission bits of a file, or default ones if it does not exist.
func (m machine) mode(ctx context.Context, name string, exists bool) (fs.FileMode, error) {
	if !exists {
		return 0o644, nil
	}
	out, err := m.Output(ctx, sshexec.Command{Argv: []string{"stat", "-c", "%a", name}})
	if err != nil {
		return 0, err
	}
	bits, err := strconv.ParseUint(strings.TrimSpace(string(out)), 8, 12)
	return fs.FileMode(bits) & fs.ModePerm, err
}
