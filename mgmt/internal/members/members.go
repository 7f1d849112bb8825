// Package members changes the members of etcd on control-plane nodes. It knows of machines only, not of operations on a cluster.
package members

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/cluster"
	"github.com/vnfkit/vnfkit/mgmt/internal/clusternodes"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/etcd"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// Etcd is the etcd of a cluster.
type Etcd struct {
	Ask []mgmt.Node       // the control-plane nodes through which etcd is asked
	Op  *vnflcm.Operation // for reports and warnings
}

// Order decides whether etcd keeps its quorum with the members of all these nodes out at once, and returns the ids of the VNFCs in the
// order in which the members may leave. It is an error that is etcd.ErrQuorum if they may not.
func (e Etcd) Order(ctx context.Context, leaving []mgmt.Node) (ids []string, err error) {
	return ids, withEtcd(ctx, e.Ask, leaving, func(client *etcd.Client, members []etcd.Member) error {
		order, err := planRemoval(ctx, client, members, leaving)
		if err != nil {
			return err
		}
		ids = inOrder(leaving, members, order)
		return nil
	})
}

// inOrder sorts the targets as their members are in the order; those that have none come first.
func inOrder(targets []mgmt.Node, members []etcd.Member, order []uint64) (ids []string) {
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

// etcdPort is where etcd has its clients on a control-plane node (kubeadm, constants.EtcdListenClientPort).
const etcdPort = "2379"

// etcdAttempt bounds how long etcd is looked for by way of one control-plane node.
const etcdAttempt = 30 * time.Second

// openEtcd makes a client that asks the member of that node, through SSH, as who kubeadm made for it.
func openEtcd(ctx context.Context, n mgmt.Node) (*etcd.Client, error) {
	files := map[string][]byte{}
	for _, path := range []string{etcd.CAFile, etcd.CertFile, etcd.KeyFile} {
		content, err := n.SSH.ReadFile(ctx, sshexec.File{Path: path, Root: true})
		if err != nil {
			return nil, err
		}
		files[path] = content
	}
	config, err := etcd.TLS(files[etcd.CAFile], files[etcd.CertFile], files[etcd.KeyFile])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", n.HostName, err)
	}
	return etcd.Open(etcd.Config{Endpoint: "https://" + net.JoinHostPort(n.IP.String(), etcdPort), TLS: config, Dial: n.SSH.DialContext})
}

// withEtcd calls fn with a client of the first of these nodes where etcd answers, and has a leader; without one
// anywhere, with that of any that answers. The members at the addresses of targets are not asked.
func withEtcd(ctx context.Context, through, targets []mgmt.Node, fn func(*etcd.Client, []etcd.Member) error) error {
	type answer struct {
		client  *etcd.Client
		members []etcd.Member
	}
	var some *answer
	var errs []error
	for _, n := range through {
		client, members, err := lookAtEtcd(ctx, n, targets)
		if err != nil {
			errs = append(errs, err)
			if ctx.Err() != nil {
				break
			}
			continue
		}
		defer client.Close() //nolint:errcheck // whatever was asked has been answered
		if slices.ContainsFunc(members, func(m etcd.Member) bool { return m.Leader }) {
			return fn(client, members)
		}
		some = &answer{client, members}
	}
	if some == nil {
		return fmt.Errorf("kubeadm: etcd answers on no control-plane node that stays: %w", errors.Join(errs...))
	}
	return fn(some.client, some.members)
}

func lookAtEtcd(ctx context.Context, n mgmt.Node, targets []mgmt.Node) (client *etcd.Client, members []etcd.Member, err error) {
	err = mgmt.Within(ctx, etcdAttempt, func(ctx context.Context) error {
		client, err = openEtcd(ctx, n)
		if err != nil {
			return err
		}
		members, err = client.Members(ctx, func(m etcd.Member) bool { return onOne(m, targets) })
		if err != nil {
			return errors.Join(err, client.Close())
		}
		return nil
	})
	return client, members, err
}

// onOne reports whether the member is that of one of the nodes: whose address it has.
func onOne(m etcd.Member, nodes []mgmt.Node) bool {
	return slices.ContainsFunc(nodes, func(n mgmt.Node) bool { return m.At(n.IP) })
}

func idsOn(members []etcd.Member, nodes []mgmt.Node) (ids []uint64) {
	for _, m := range members {
		if onOne(m, nodes) {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

// planRemoval decides whether the members of the targets may go, all of them, and their replacements can join. If
// the others are a majority without them, nobody asks the targets; otherwise it matters which of them are alive,
// and they are asked, by etcd's own port and from the node that is asked.
func planRemoval(ctx context.Context, client *etcd.Client, members []etcd.Member, targets []mgmt.Node) (order []uint64, err error) {
	order, err = etcd.PlanRemoval(members, idsOn(members, targets)...)
	if errors.Is(err, etcd.ErrQuorum) {
		if members, err = client.Members(ctx, nil); err != nil {
			return nil, err
		}
		order, err = etcd.PlanRemoval(members, idsOn(members, targets)...)
	}
	if err != nil {
		return nil, err
	}
	return order, etcd.CheckJoin(members, idsOn(members, targets)...)
}

// Remove takes the member of the first of these nodes out, when all of them may leave. The other nodes are those that leave later.
func (e Etcd) Remove(ctx context.Context, leaving []mgmt.Node) error {
	n, targets := leaving[0], leaving
	return withEtcd(ctx, e.Ask, targets, func(client *etcd.Client, members []etcd.Member) error {
		if _, err := planRemoval(ctx, client, members, targets); err != nil {
			return err
		}
		for _, m := range members {
			if !m.At(n.IP) {
				continue
			}
			if m.Leader {
				e.moveLeader(ctx, client, m, members)
			}
			if err := client.Remove(ctx, m.ID); err != nil {
				return err
			}
		}
		return nil
	})
}

// moveLeader hands leadership over before the leader goes, so that nobody waits for an election. It is asked
// itself: the others follow it, so it is alive. If it cannot any more, they elect another one.
func (e Etcd) moveLeader(ctx context.Context, client *etcd.Client, leader etcd.Member, members []etcd.Member) {
	i := slices.IndexFunc(members, func(m etcd.Member) bool { return m.Healthy && !m.Learner && m.ID != leader.ID })
	if i < 0 {
		return
	}
	e.Op.Report(ctx, "moving leadership of etcd from "+leader.String()+" to "+members[i].String())
	if err := client.MoveLeader(ctx, leader, members[i].ID); err != nil {
		e.Op.Log.WarnContext(ctx, "leadership of etcd could not be moved; the other members will elect a new leader", "leader", leader.String(), "error", err)
	}
}

// Clear removes what joins that were cut short have left in etcd: learners, of which it takes one at a
// time, and any member at the address of the node that will join. It is called when no join is under way, and
// before the machine is reset: a voting member must still be alive to be taken out of two.
func (e Etcd) Clear(ctx context.Context, n mgmt.Node) error {
	others := cluster.New(clusternodes.Without(e.Ask, []mgmt.Node{n}))
	defer others.Close()
	leader, err := others.Leader(ctx)
	if err != nil {
		return err
	}
	var refused error
	err = mgmt.Within(ctx, memberRecovery, func(ctx context.Context) error {
		return poll(ctx, func() error {
			refused = e.clearBy(ctx, leader, n)
			if errors.Is(refused, etcd.ErrQuorum) {
				return refused // the member may be starting yet: the join that was cut short had just made it vote
			}
			return nil
		})
	})
	return cmp.Or(refused, err)
}

// memberRecovery is how long the etcd of a join that was cut short may take to come up again.
const memberRecovery = time.Minute

func (e Etcd) clearBy(ctx context.Context, leader, n mgmt.Node) error {
	return withEtcd(ctx, []mgmt.Node{leader}, nil, func(client *etcd.Client, members []etcd.Member) error {
		var left []uint64
		for _, m := range members {
			if m.Learner || m.At(n.IP) {
				left = append(left, m.ID)
			}
		}
		order, err := etcd.PlanRemoval(members, left...)
		if err != nil {
			return err
		}
		for _, id := range order {
			e.Op.Report(ctx, "removing the etcd member of a join that was cut short")
			if err := client.Remove(ctx, id); err != nil {
				return err
			}
		}
		return nil
	})
}

// Await waits until etcd has a healthy voting member on each of these nodes, and none that is on neither these nor other nodes.
func (e Etcd) Await(ctx context.Context, joined, others []mgmt.Node) error {
	return poll(ctx, func() error {
		return withEtcd(ctx, joined, nil, func(_ *etcd.Client, members []etcd.Member) error {
			return checkMembers(members, joined, others)
		})
	})
}

// checkMembers finds what is wrong with the members on the nodes that have joined. Others may be members already:
// their joins were cut short, or are journaled no more.
func checkMembers(members []etcd.Member, joined, others []mgmt.Node) error {
	var faults []error
	seen := map[string]bool{}
	for _, m := range members {
		i := slices.IndexFunc(joined, func(n mgmt.Node) bool { return m.At(n.IP) })
		switch {
		case i < 0 && onOne(m, others):
		case i < 0:
			faults = append(faults, fmt.Errorf("kubeadm: etcd has a member %s, which is on none of the control-plane nodes", m))
		case m.Learner:
			faults = append(faults, fmt.Errorf("kubeadm: etcd member %s is a learner yet", m))
		case !m.Healthy:
			faults = append(faults, fmt.Errorf("kubeadm: etcd member %s is not healthy", m))
		}
		if i >= 0 {
			seen[joined[i].ID] = true
		}
	}
	for _, n := range joined {
		if !seen[n.ID] {
			faults = append(faults, fmt.Errorf("kubeadm: %s has no etcd member", n.HostName))
		}
	}
	return errors.Join(faults...)
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
