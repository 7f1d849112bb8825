package registry_test

import (
	"context"
	"testing"

	"github.com/vnfkit/vnfkit/mgmt/registry"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestMachines logs in to the machine of a registry as the driver does.
func TestMachines(t *testing.T) {
	t.Parallel()
	l := newLab(t, setup{})
	id := l.Instantiated("instantiate.json")
	err := l.Examine(t.Context(), id, func(ctx context.Context, op *vnflcm.Operation, drivers []vnflcm.MgmtDriver) error {
		machines, err := drivers[0].(*registry.Driver).Machines(ctx, op)
		if err != nil || len(machines) != 1 {
			t.Errorf("%d machines, %v", len(machines), err)
			return err
		}
		return machines[0].SSH.Exec(ctx, sshexec.Command{Argv: []string{"true"}})
	})
	if err != nil {
		t.Error(err)
	}
}
