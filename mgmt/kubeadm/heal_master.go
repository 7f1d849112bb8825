package kubeadm

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/cluster"
	"github.com/vnfkit/vnfkit/mgmt/internal/clusternodes"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/etcd"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// checkMasters refuses to heal control-plane nodes by themselves when none of them would be left to carry the
// cluster, or the address of the API goes with one of them.
func (p *parameters) checkMasters(op *vnflcm.Operation) error {
	var masters, targets []vnflcm.VNFC
	for _, v := range op.VNFCs {
		if _, isMaster := v.CP(p.Cluster.Master.SSHCPName); !isMaster {
			continue
		}
		masters = append(masters, v)
		if slices.ContainsFunc(op.HealTargets(), func(t vnflcm.VNFC) bool { return t.ID == v.ID }) {
			targets = append(targets, v)
		}
	}
	var faults []error
	for _, v := range targets {
		reason := ""
		switch {
		case len(masters) == 1:
			reason = "is the only control-plane node, and the cluster's data is on it alone: heal the whole VNF, which makes a new cluster"
		case len(targets) == len(masters):
			reason = "would go with all other control-plane nodes, and the cluster's data with them: heal the whole VNF, or some of them at a time"
		case p.endpointOn(op, masters[0], v):
			reason = "has the address of the API, which no node could reach while it is replaced: heal the whole VNF, " +
				"and let cluster_cp_name be a virtual address or a load balancer's"
		default:
			continue
		}
		faults = append(faults, &vnflcm.ParamError{Path: "vnfcInstanceId", Value: v.ID, Reason: reason})
	}
	return errors.Join(faults...)
}

// endpointOn reports whether the API is reached at an address of the machine. It is found as findEndpoint does.
func (p *parameters) endpointOn(op *vnflcm.Operation, first, v vnflcm.VNFC) bool {
	if p.Cluster.Balancer != nil {
		return false
	}
	var api netip.Addr
	if endpoint := p.Cluster.APIEndpoint; endpoint != "" {
		host, _, _ := splitEndpoint(endpoint)
		api, _ = netip.ParseAddr(host) // a name is that of a load balancer outside
	} else {
		for _, cp := range slices.Backward(slices.Concat(op.ConnectionPoints, first.CPs)) {
			if cp.CPD == p.Cluster.Master.ClusterCPName && len(cp.Fixed) > 0 {
				api = cp.Fixed[0]
			}
		}
	}
	return api.IsValid() && slices.ContainsFunc(v.CPs, func(cp vnflcm.ConnectionPoint) bool {
		return cp.Floating == api || slices.Contains(cp.Fixed, api)
	})
}

// decide decides, for all the control-plane nodes that will be replaced and before anything is touched, whether
// etcd keeps its quorum with all of them out at once: that is how heal_start leaves it. It returns them in the
// order in which they may go.
func (d *deployment) decide(ctx context.Context, targets []mgmt.Node) ([]mgmt.Node, error) {
	if len(targets) == 0 {
		return nil, nil
	}
	// Journaled are the ids of VNFCs: whoever resumes goes on in the same order.
	ids, err := vnflcm.Run(ctx, d.op, vnflcm.Step[[]string]{Name: "quorum", Do: func(ctx context.Context) (ids []string, err error) {
		return ids, d.withEtcd(ctx, d.up, targets, func(client *etcd.Client, members []etcd.Member) error {
			order, err := planRemoval(ctx, client, members, targets)
			if err != nil {
				return err
			}
			ids = d.inOrder(targets, members, order)
			return nil
		})
	}})
	if err != nil {
		return nil, err
	}
	var out []mgmt.Node
	for _, id := range ids {
		out = append(out, clusternodes.Among(targets, []vnflcm.VNFC{{ID: id}})...)
	}
	return out, nil
}

// inOrder sorts the targets as their members are in the order; those that have none come first.
func (d *deployment) inOrder(targets []mgmt.Node, members []etcd.Member, order []uint64) (ids []string) {
	place := func(n mgmt.Node) int {
		return slices.IndexFunc(order, func(id uint64) bool { return slices.Contains(idsOn(members, []mgmt.Node{n}), id) })
	}
	sorted := slices.Clone(targets)
	slices.SortStableFunc(sorted, func(a, b mgmt.Node) int { return place(a) - place(b) })
	for _, n := range sorted {
		ids = append(ids, n.ID)
	}
	return ids
}

// release takes control-plane nodes out of the cluster, one after the other. Only those that stay are asked.
func (d *deployment) release(ctx context.Context, targets []mgmt.Node) error {
	if len(targets) == 0 {
		return nil
	}
	if err := d.balance(ctx, d.up); err != nil {
		return err
	}
	for i, n := range targets {
		err := d.do(ctx, "remove-member", n, 2*time.Minute, func(ctx context.Context) error {
			return d.removeMember(ctx, n, targets[i:])
		})
		if err != nil {
			return err
		}
		if err := d.evict(ctx, n, true); err != nil {
			return err
		}
	}
	return nil
}

// replace makes new machines what the old ones were. All are prepared at once and the workers join; then the
// control-plane nodes do, one after the other, since etcd takes one new member at a time.
func (d *deployment) replace(ctx context.Context, masters, workers []mgmt.Node) error {
	if err := d.checkScriptNames(); err != nil {
		return err
	}
	stayed := clusternodes.Without(d.masters, masters)
	b, err := d.existing(ctx)
	if err != nil {
		return err
	}
	tokens := &batch{d: d}
	replaced := slices.Concat(masters, workers)
	err = vnflcm.Each(ctx, d.config.Parallel, d.machines(), func(ctx context.Context, n mgmt.Node) error {
		if len(clusternodes.Among(replaced, []vnflcm.VNFC{n.VNFC})) == 0 {
			return d.updateOther(ctx, n)
		}
		if err := d.prepare(ctx, n); err != nil || d.isMaster(n) {
			return err
		}
		return d.join(ctx, n, b, tokens, false)
	})
	if err == nil {
		err = d.rejoin(ctx, masters, b, tokens)
	}
	if err = errors.Join(err, d.revokeTokens(ctx)); err != nil {
		return err
	}
	if err := d.balance(ctx, d.masters); err != nil {
		return err
	}
	if err := clusternodes.AwaitReady(ctx, d.op, d.kube, replaced, d.config.Timeouts.Ready); err != nil {
		return err
	}
	if err := d.route(ctx); err != nil {
		return err
	}
	if err := d.label(ctx, replaced); err != nil {
		return err
	}
	if err := d.bringBackHelm(ctx, stayed, masters); err != nil {
		return err
	}
	return d.registerVIM(ctx)
}

// bringBackHelm gives healed control-plane nodes the Helm of one that stayed.
func (d *deployment) bringBackHelm(ctx context.Context, stayed, healed []mgmt.Node) error {
	if err := d.setUpHelm(ctx, healed); err != nil {
		return err
	}
	kube := cluster.New(stayed)
	defer kube.Close()
	from, err := kube.Leader(ctx)
	if err != nil {
		return err
	}
	for _, n := range healed {
		if err := d.restoreHelm(ctx, from, n); err != nil {
			return err
		}
	}
	return nil
}

// rejoin joins control-plane nodes. Each is a full member of etcd before the next one begins.
func (d *deployment) rejoin(ctx context.Context, masters []mgmt.Node, b bootstrap, tokens *batch) error {
	for _, n := range masters {
		if err := d.join(ctx, n, b, tokens, true); err != nil {
			return err
		}
		d.ask(append(slices.Clone(d.up), n))
		err := d.do(ctx, "members", n, d.config.Timeouts.Ready, func(ctx context.Context) error { return d.awaitMembers(ctx, d.up) })
		if err != nil {
			return err
		}
	}
	return nil
}

// poll calls try until it succeeds; when ctx ends, the last reason is in the error.
func poll(ctx context.Context, try func() error) error {
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = 100*time.Millisecond, 5*time.Second
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w; last: %w", context.Cause(ctx), err)
		case <-time.After(pause.NextBackOff()):
		}
	}
}
