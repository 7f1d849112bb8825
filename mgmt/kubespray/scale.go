package kubespray

import (
	"context"
	"strings"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/cluster"
	"github.com/vnfkit/vnfkit/mgmt/internal/clustervnf"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// scaleStart takes the nodes that will go out of the cluster.
func (d *Driver) scaleStart(ctx context.Context, op *vnflcm.Operation) error {
	if op.Scale.Type != vnflcm.ScaleIn {
		return nil
	}
	dep, err := d.open(ctx, op)
	if err != nil {
		return err
	}
	defer dep.close()
	return dep.withdraw(ctx, clustervnf.Among(dep.workers, op.Change.Removed), dep.balancers)
}

// scaleEnd makes new machines nodes, and forgets those that are gone.
func (d *Driver) scaleEnd(ctx context.Context, op *vnflcm.Operation) error {
	if op.Scale.Type == vnflcm.ScaleIn {
		return d.forget(ctx, op, op.Change.Removed)
	}
	dep, err := d.open(ctx, op)
	if err != nil {
		return err
	}
	defer dep.close()
	if err := dep.prepare(ctx); err != nil {
		return err
	}
	if err := dep.addWorkers(ctx, clustervnf.Among(dep.workers, op.Change.Added)); err != nil {
		return err
	}
	if err := dep.route(ctx, "routes", dep.balancers, dep.workers); err != nil {
		return err
	}
	return dep.finish(ctx)
}

// addWorkers joins new machines to the running cluster.
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
	// What scale.yml does on the new nodes needs facts of the others, which the limit keeps it from gathering.
	if err := d.run(ctx, play{step: "scale", playbook: d.p.Ansible.Root + "/" + scalePlaybook, limit: added}); err != nil {
		return err
	}
	return clustervnf.AwaitReady(ctx, d.op, d.kube, added, d.config.Timeouts.Ready)
}

// factsPlaybook is the playbook that gathers facts, "" where the tree has none: its place has changed.
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

// withdraw takes workers out of the cluster: no new connections, no pods, then no node. Those of them that are dead are
// not waited for. machines are the load balancers that are asked.
func (d *deployment) withdraw(ctx context.Context, gone, machines []mgmt.Node) error {
	if len(gone) == 0 {
		return nil
	}
	staying := clustervnf.Without(d.workers, gone)
	members, err := d.known(ctx, gone)
	if err != nil {
		return err
	}
	alive, err := clustervnf.Alive(ctx, d.op, d.config.Parallel, gone)
	if err != nil {
		return err
	}
	if err := d.release(ctx, machines, alive, staying); err != nil {
		return err
	}
	if err := d.empty(ctx, members, alive); err != nil {
		return err
	}
	if len(members) == 0 && d.op.RollingBack {
		return d.finish(ctx) // nothing that was begun had come to the nodes: the next change renders the inventory anew
	}
	if err := d.prepare(ctx); err != nil {
		return err
	}
	if err := d.measure(ctx, false); err != nil {
		return err
	}
	if err := d.removeNodes(ctx, members, alive); err != nil {
		return err
	}
	if err := d.writeInventory(ctx, "inventory", staying); err != nil {
		return err
	}
	return d.finish(ctx)
}

// known are those of the machines that the cluster has as nodes: it is asked before anything is changed.
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

// only are the nodes with these ids.
func only(nodes []mgmt.Node, ids []string) []mgmt.Node {
	var vnfcs []vnflcm.VNFC
	for _, id := range ids {
		vnfcs = append(vnfcs, vnflcm.VNFC{ID: id})
	}
	return clustervnf.Among(nodes, vnfcs)
}

// force reports whether nodes go whatever is on them: they are replaced, or what made them is undone.
func (d *deployment) force() bool { return d.op.Heal != nil || d.op.RollingBack }

// empty drains nodes. A dead one is no node any more from then on: kubespray would try to drain it too, and wait for pods
// that nobody ends.
func (d *deployment) empty(ctx context.Context, members, alive []mgmt.Node) error {
	return vnflcm.Each(ctx, d.config.Parallel, members, func(ctx context.Context, n mgmt.Node) error {
		dead := len(clustervnf.Among(alive, []vnflcm.VNFC{n.VNFC})) == 0
		err := clustervnf.Drain(ctx, d.op, d.kube, n,
			cluster.DrainOptions{Timeout: d.config.Timeouts.Drain, Force: d.force() || dead, Policy: d.p.Drain})
		if err != nil || !dead {
			return err
		}
		return clustervnf.DeleteNode(ctx, d.op, d.kube, n)
	})
}

// removeNodes has kubespray take nodes out. Those that are dead, or replaced anyway, are not logged in to.
func (d *deployment) removeNodes(ctx context.Context, members, alive []mgmt.Node) error {
	if len(members) == 0 {
		return nil
	}
	if err := d.writeInventory(ctx, "inventory-before", d.workers); err != nil {
		return err
	}
	graceful := clustervnf.Among(members, vnfcs(alive))
	if d.force() {
		graceful = nil
	}
	for _, group := range []struct {
		step  string
		nodes []mgmt.Node
		vars  map[string]any
	}{
		{"remove-node", graceful, nil},
		{"remove-node-by-force", clustervnf.Without(members, graceful), map[string]any{"reset_nodes": false, "allow_ungraceful_removal": true}},
	} {
		if len(group.nodes) == 0 {
			continue // without node, remove-node.yml is for every node there is
		}
		vars := map[string]any{"node": strings.Join(hostNames(group.nodes), ","), "skip_confirmation": true, "delete_nodes_confirmation": "yes"}
		for name, value := range group.vars {
			vars[name] = value
		}
		if err := d.run(ctx, play{step: group.step, playbook: d.p.Ansible.Root + "/" + removePlaybook, vars: vars}); err != nil {
			return err
		}
	}
	return nil
}

func vnfcs(nodes []mgmt.Node) (out []vnflcm.VNFC) {
	for _, n := range nodes {
		out = append(out, n.VNFC)
	}
	return out
}

func hostNames(nodes []mgmt.Node) (out []string) {
	for _, n := range nodes {
		out = append(out, n.HostName)
	}
	return out
}
