package kubeadm_test

import (
	"context"
	"testing"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// restoreSteps are the steps that only a restore has.
var restoreSteps = []string{"restore-source", "restore-snapshot", "restore-copy", "restore-unpack", "restore-stop", "restore-data", "restore-etcd", "restore-members", "restore-api",
	"restore-controllers", "restart-kubelet", "restart-network", "delete-lost-nodes"}

var restoreScenarios = []scenario{
	{name: "restore from a survivor", running: true, begin: func(ctx context.Context, m *vnflcm.Manager, l *lab, id string) (string, error) {
		if err := l.World.Stop("masterNode-0"); err != nil {
			return "", err
		}
		if err := l.World.Partition("masterNode-2"); err != nil {
			return "", err
		}
		return m.Heal(ctx, id, l.restoring(id, fromSurvivor, "masterNode-0", "masterNode-2"))
	}, flavour: "complex", only: restoreSteps}, // the other steps are cut in "heal a control-plane node"
	{name: "restore on two nodes", running: true, begin: func(ctx context.Context, m *vnflcm.Manager, l *lab, id string) (string, error) {
		if err := l.World.Stop("masterNode-0"); err != nil {
			return "", err
		}
		return m.Heal(ctx, id, l.restoring(id, `{"restore": "survivor", "confirm_loss": true, "restore_pass_over": ["quorum"]}`, "masterNode-0"))
	}, flavour: "complex", only: restoreSteps, variant: true},
	{name: "restore from a snapshot", running: true, begin: func(ctx context.Context, m *vnflcm.Manager, l *lab, id string) (string, error) {
		if err := l.World.Stop("masterNode-0"); err != nil {
			return "", err
		}
		return m.Heal(ctx, id, vnflcm.HealVnfRequest{AdditionalParams: mustParams(fromLatest)})
	}, only: []string{"restore-source", "init"}, saves: true, restores: true},
	{name: "restore from a snapshot on one node", running: true, begin: func(ctx context.Context, m *vnflcm.Manager, l *lab, id string) (string, error) {
		for _, name := range []string{"masterNode-0", "masterNode-1"} {
			if err := l.World.Stop(name); err != nil {
				return "", err
			}
		}
		return m.Heal(ctx, id, l.restoring(id, fromLatest, "masterNode-0", "masterNode-1"))
	}, flavour: "complex", only: restoreSteps, variant: true, saves: true, restores: true},
	{name: "revert", running: true, begin: func(ctx context.Context, m *vnflcm.Manager, _ *lab, id string) (string, error) {
		list, err := m.Snapshots(ctx, vnflcm.SnapshotQuery{InstanceID: id})
		if err != nil {
			return "", err
		}
		return m.RevertToSnapshot(ctx, id, backTo(list.Items[0].VnfSnapshot))
	}, flavour: "complex", only: append([]string{"labels"}, restoreSteps...), saves: true, restores: true},
}

// TestCrashRestore is TestCrash for restores of etcd.
func TestCrashRestore(t *testing.T) {
	t.Parallel()
	crashIn(t, restoreScenarios)
}
