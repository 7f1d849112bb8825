package kubespray

import (
	"context"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/clusternodes"
	"github.com/vnfkit/vnfkit/mgmt/internal/nodedrain"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// runFindMembers finds the machines that leave and are nodes of the cluster. It is a step, so that resuming uses the answer
// from before any change.
func runFindMembers(ctx context.Context, d *deployment, _ mgmt.Node) (err error) {
	d.members, err = vnflcm.Run(ctx, d.op, vnflcm.Step[[]string]{Name: "members", Do: func(ctx context.Context) (have []string, err error) {
		err = mgmt.Within(ctx, d.config.Timeouts.Ready, func(ctx context.Context) error {
			nodes, err := d.kube.Nodes(ctx)
			for _, n := range d.leaving() {
				for _, node := range nodes {
					if node.Address == n.IP {
						have = append(have, n.ID)
					}
				}
			}
			return err
		})
		return have, err
	}})
	return err
}

func (d *deployment) isMember(n mgmt.Node) bool { return slices.Contains(d.members, n.ID) }

// isReset reports whether remove-node.yml resets a machine while it still runs.
func (d *deployment) isReset(n mgmt.Node) bool {
	return d.shape.resets() && d.isMember(n) && d.alive.Of(n.ID) && !d.isDown(n)
}

func runCheckAlive(ctx context.Context, d *deployment, n mgmt.Node) error {
	alive, err := clusternodes.Alive(ctx, d.op, n)
	d.alive.Set(n.ID, alive)
	return err
}

func runRecordNode(ctx context.Context, d *deployment, n mgmt.Node) error {
	if !d.isMember(n) || d.isReset(n) {
		return nil
	}
	return d.leave.Record(ctx, n)
}

func runStopMachine(ctx context.Context, d *deployment, n mgmt.Node) error {
	return d.leave.Stop(ctx, n)
}

// runDrain drains a node. If kubespray does not reset it, its machine is removed even if not every pod could be moved.
func runDrain(ctx context.Context, d *deployment, n mgmt.Node) error {
	if !d.isMember(n) {
		return nil
	}
	return d.leave.Drain(ctx, n, !d.isReset(n))
}

// runAwaitDetached waits for the volumes of a node. Volumes that stay attached do not stop a heal or a rollback.
func runAwaitDetached(ctx context.Context, d *deployment, n mgmt.Node) error {
	if !d.isMember(n) {
		return nil
	}
	return d.leave.AwaitDetached(ctx, n, !d.shape.resets())
}

// reset returns the workers that remove-node.yml resets.
func (d *deployment) reset() []mgmt.Node {
	return slices.DeleteFunc(d.leaving(), func(n mgmt.Node) bool { return !d.isReset(n) })
}

func runWriteAll(ctx context.Context, d *deployment, _ mgmt.Node) error {
	if len(d.reset()) == 0 {
		return nil
	}
	return d.writeInventory(ctx, "inventory-before", slices.Concat(d.withoutDown(d.staying()), d.reset()))
}

func runRemoveNodes(ctx context.Context, d *deployment, _ mgmt.Node) error {
	var names []string
	for _, n := range d.reset() {
		names = append(names, n.HostName)
	}
	if len(names) == 0 {
		return nil // without the variable node, remove-node.yml removes every node of the inventory
	}
	// The steps drain and detach have applied drain_policy. Without allow_ungraceful_removal the playbook fails because of pods that the
	// policy has left, and, since kubespray 2.23, because of volumes that pods of DaemonSets use.
	vars := map[string]any{"node": strings.Join(names, ","), "skip_confirmation": true, "delete_nodes_confirmation": "yes", "allow_ungraceful_removal": true}
	return d.run(ctx, play{step: "remove-node", playbook: d.p.Ansible.Root + "/" + removePlaybook, vars: vars})
}

func runDeleteNode(ctx context.Context, d *deployment, n mgmt.Node) error {
	return d.leave.Delete(ctx, n)
}

// runForget deletes the host keys and the connections of machines that no longer exist.
func runForget(ctx context.Context, d *deployment, _ mgmt.Node) error {
	return nodedrain.Forget(ctx, d.op, d.config.Pool, slices.Concat(d.op.Change.Removed, d.op.Change.Replaced))
}
