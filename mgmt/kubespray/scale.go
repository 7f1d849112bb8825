package kubespray

import (
	"context"
	"strings"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/cluster"
	"github.com/vnfkit/vnfkit/mgmt/internal/clusternodes"
	"github.com/vnfkit/vnfkit/mgmt/internal/nodedrain"
	"github.com/vnfkit/vnfkit/mgmt/internal/vnfbalancer"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// scaleStart removes the nodes from the cluster whose machines will be removed.
func (d *Driver) scaleStart(ctx context.Context, op *vnflcm.Operation) error {
	if op.Scale.Type != vnflcm.ScaleIn {
		return nil
	}
	dep, err := d.open(ctx, op)
	if err != nil {
		return err
	}
	defer dep.close()
	return dep.withdraw(ctx, clusternodes.Among(dep.workers, op.Change.Removed), dep.balancers)
}

// scaleEnd sets up new machines as workers, or deletes what is left of removed machines.
func (d *Driver) scaleEnd(ctx context.Context, op *vnflcm.Operation) error {
	dep, err := d.open(ctx, op)
	if err != nil {
		return err
	}
	defer dep.close()
	if op.Scale.Type == vnflcm.ScaleIn {
		if err := nodedrain.DeleteNodes(ctx, op, dep.kube, d.config.Parallel, op.Change.Removed); err != nil {
			return err
		}
		return d.forget(ctx, op, op.Change.Removed)
	}
	if err := dep.prepare(ctx); err != nil {
		return err
	}
	if err := dep.addWorkers(ctx, clusternodes.Among(dep.workers, op.Change.Added)); err != nil {
		return err
	}
	if err := dep.route(ctx, "routes", dep.balancers, dep.workers); err != nil {
		return err
	}
	return dep.finish(ctx)
}

// addWorkers joins new machines to the running cluster, and waits until they are Ready.
func (d *deployment) addWorkers(ctx context.Context, added []mgmt.Node) error {
	if len(added) == 0 {
		return nil
	}
	if err := d.reach(ctx, added); err != nil {
		return err
	}
	if err := d.measure(ctx, false); err != nil {
		return err
	}
	if err := d.writeInventory(ctx, "inventory", d.workers); err != nil {
		return err
	}
	facts, err := d.factsPlaybook(ctx)
	if err != nil {
		return err
	}
	if facts != "" {
		if err := d.run(ctx, play{step: "facts", playbook: facts}); err != nil {
			return err
		}
	}
	// The tasks of scale.yml on new nodes need facts of all nodes. The limit prevents scale.yml from gathering them.
	if err := d.run(ctx, play{step: "scale", playbook: d.p.Ansible.Root + "/" + scalePlaybook, limit: added}); err != nil {
		return err
	}
	return clusternodes.AwaitReady(ctx, d.op, d.kube, added, d.config.Timeouts.Ready)
}

// factsPlaybook returns the path of the playbook that gathers facts, which depends on kubespray's release, or "" if there
// is none.
func (d *deployment) factsPlaybook(ctx context.Context) (string, error) {
	return vnflcm.Run(ctx, d.op, vnflcm.Step[string]{Name: "find-facts", Do: func(ctx context.Context) (string, error) {
		for _, name := range []string{"playbooks/facts.yml", "facts.yml"} {
			name = d.p.Ansible.Root + "/" + name
			there, err := holds(ctx, d.server.Host, "test", "-f", name)
			if there || err != nil {
				return name, err
			}
		}
		return "", nil
	}})
}

// withdraw removes workers from the cluster: it ends new connections, drains the pods, then removes the node. A worker that
// remove-node.yml cannot reset remains a node until its machine has been deleted (nodedrain.Withdraw). machines are the
// load balancers to configure.
func (d *deployment) withdraw(ctx context.Context, gone, machines []mgmt.Node) error {
	if len(gone) == 0 {
		return nil
	}
	staying := clusternodes.Without(d.workers, gone)
	members, err := d.known(ctx, gone)
	if err != nil {
		return err
	}
	alive, err := vnfbalancer.Alive(ctx, d.op, d.config.Parallel, gone)
	if err != nil {
		return err
	}
	if err := d.release(ctx, machines, alive, staying); err != nil {
		return err
	}
	removable := clusternodes.Among(members, clusternodes.VNFCs(alive))
	if d.op.Heal != nil || d.op.RollingBack {
		removable = nil // healing replaces the machines and rolling back deletes them, so kubespray does not log in to them
	}
	if err := d.empty(ctx, members, removable); err != nil {
		return err
	}
	if len(members) == 0 && d.op.RollingBack {
		return d.finish(ctx) // the failed operation changed no node; the next operation writes a new inventory
	}
	if err := d.prepare(ctx); err != nil {
		return err
	}
	if err := d.measure(ctx, false); err != nil {
		return err
	}
	if err := d.removeNodes(ctx, removable); err != nil {
		return err
	}
	if err := d.writeInventory(ctx, "inventory", staying); err != nil {
		return err
	}
	return d.finish(ctx)
}

// known returns the machines that are nodes of the cluster. It is a step, so that resuming uses the answer from before any
// change.
func (d *deployment) known(ctx context.Context, gone []mgmt.Node) ([]mgmt.Node, error) {
	have, err := vnflcm.Run(ctx, d.op, vnflcm.Step[[]string]{Name: "members", Do: func(ctx context.Context) (have []string, err error) {
		err = mgmt.Within(ctx, d.config.Timeouts.Ready, func(ctx context.Context) error {
			nodes, err := d.kube.Nodes(ctx)
			for _, n := range gone {
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
	return only(gone, have), err
}

// only returns the nodes with these ids.
func only(nodes []mgmt.Node, ids []string) []mgmt.Node {
	var vnfcs []vnflcm.VNFC
	for _, id := range ids {
		vnfcs = append(vnfcs, vnflcm.VNFC{ID: id})
	}
	return clusternodes.Among(nodes, vnfcs)
}

// empty drains nodes. removable are the nodes that remove-node.yml will reset while their machines still run.
func (d *deployment) empty(ctx context.Context, nodes, removable []mgmt.Node) error {
	return vnflcm.Each(ctx, d.config.Parallel, nodes, func(ctx context.Context, n mgmt.Node) error {
		o := cluster.DrainOptions{Timeout: d.config.Timeouts.Drain, Force: true, Policy: d.p.Drain}
		if len(clusternodes.Among(removable, []vnflcm.VNFC{n.VNFC})) == 0 {
			return nodedrain.Withdraw(ctx, d.op, d.kube, n, o)
		}
		o.Force = false
		return nodedrain.Drain(ctx, d.op, d.kube, n, o)
	})
}

// removeNodes runs remove-node.yml for these nodes.
func (d *deployment) removeNodes(ctx context.Context, nodes []mgmt.Node) error {
	if len(nodes) == 0 {
		return nil // without the variable node, remove-node.yml removes every node of the inventory
	}
	if err := d.writeInventory(ctx, "inventory-before", d.workers); err != nil {
		return err
	}
	vars := map[string]any{"node": strings.Join(hostNames(nodes), ","), "skip_confirmation": true, "delete_nodes_confirmation": "yes"}
	return d.run(ctx, play{step: "remove-node", playbook: d.p.Ansible.Root + "/" + removePlaybook, vars: vars})
}

func hostNames(nodes []mgmt.Node) (out []string) {
	for _, n := range nodes {
		out = append(out, n.HostName)
	}
	return out
}
