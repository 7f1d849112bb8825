package kube

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/vnfkit/vnfkit/internal/e2e/vminfra"
)

// list is the file of a directory of saved machines that lists the machines. The files of each are in a directory with its id.
const list = "machines.json"

// Save ends the machines of a VNF instance, like a power cut, and saves them to a directory. Restore starts them again.
func (c *Machines) Save(ctx context.Context, dir, instance string) error {
	machines, err := c.Machines(ctx, instance)
	if err != nil {
		return err
	}
	for _, m := range machines {
		err = errors.Join(err, c.Host(m.ID).Save(ctx, filepath.Join(dir, m.ID)), c.Delete(ctx, m.ID))
	}
	text, failed := json.Marshal(machines)
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, list), text, 0o600)
}

// Restore creates the machines that Save has saved to a directory, with their ids and addresses. They start with copies of
// the saved files.
func (c *Machines) Restore(ctx context.Context, dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, list)) //nolint:gosec // of the test
	if err != nil {
		return err
	}
	var machines []vminfra.Machine
	if err := json.Unmarshal(text, &machines); err != nil {
		return err
	}
	for _, m := range machines {
		if err := c.create(ctx, m, filepath.Join(dir, m.ID)); err != nil {
			return err
		}
	}
	return nil
}
