// Package members changes the members of etcd on control-plane nodes. It works on given machines and does not depend on
// operations of a cluster.
package members

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"github.com/vnfkit/vnfkit/internal/retry"
	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/cluster"
	"github.com/vnfkit/vnfkit/mgmt/internal/clusternodes"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/etcd"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// Etcd is the etcd of a cluster.
type Etcd struct {
	Ask []mgmt.Node       // control-plane nodes through which requests are sent to etcd
	Op  *vnflcm.Operation // for reports and warnings
}

// Order checks that etcd keeps its quorum without the members of all these nodes, and returns the ids of the VNFCs in the
// order in which their members may be removed. The error wraps etcd.ErrQuorum if they may not be removed.
func (e Etcd) Order(ctx context.Context, leaving []mgmt.Node) (ids []string, err error) {
	return ids, withEtcd(ctx, e.Ask, leaving, func(client *etcd.Client, members []etcd.Member) error {
		order, err := e.planRemoval(ctx, client, members, leaving)
		if err != nil {
			return err
		}
		ids = inOrder(leaving, members, order)
		return nil
	})
}

// inOrder returns the ids of the targets in the order of their members. Targets without a member come first.
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

// etcdPort is the port of etcd for clients on a control-plane node (kubeadm, constants.EtcdListenClientPort).
const etcdPort = "2379"

// etcdAttempt bounds the requests to etcd through one control-plane node.
const etcdAttempt = 30 * time.Second

// openEtcd returns a client of the etcd member on a node. The client connects through SSH and uses the client certificate
// that kubeadm made on the node.
func openEtcd(ctx context.Context, n mgmt.Node) (*etcd.Client, error) {
	files := map[string][]byte{}
	for _, path := range []string{etcd.CAFile, etcd.CertFile, etcd.KeyFile} {
		content, err := n.Root().ReadFile(ctx, path)
		if err != nil {
			return nil, err
		}
		files[path] = content
	}
	config, err := etcd.TLS(files[etcd.CAFile], files[etcd.CertFile], files[etcd.KeyFile])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", n.Label(), err)
	}
	return etcd.Open(etcd.Config{Endpoint: "https://" + net.JoinHostPort(n.IP.String(), etcdPort), TLS: config, Dial: n.SSH.DialContext})
}

// withEtcd calls fn with a client of the first of these nodes whose etcd answers and has a leader. If no etcd has a leader,
// it uses a node whose etcd answers. The members on targets are not asked for their health.
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
		defer client.Close() //nolint:errcheck // all requests have been answered
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

// onOne reports whether the member runs on one of the nodes, by its address.
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

// planRemoval checks that all members of the targets may be removed, and that their replacements can join afterwards, unless the operation
// scales. If
// the remaining members are a majority without the targets, the targets are not asked. Otherwise the answer depends on
// which targets are alive, so the node that is asked connects to the etcd port of each target.
func (e Etcd) planRemoval(ctx context.Context, client *etcd.Client, members []etcd.Member, targets []mgmt.Node) (order []uint64, err error) {
	order, err = etcd.PlanRemoval(members, idsOn(members, targets)...)
	if errors.Is(err, etcd.ErrQuorum) {
		if members, err = client.Members(ctx, nil); err != nil {
			return nil, err
		}
		order, err = etcd.PlanRemoval(members, idsOn(members, targets)...)
	}
	if err != nil || e.Op.Scale != nil {
		return order, err
	}
	return order, etcd.CheckJoin(members, idsOn(members, targets)...)
}

// Remove removes the etcd member of the first of these nodes, if all of them may leave. The remaining nodes in the list
// will leave later.
func (e Etcd) Remove(ctx context.Context, leaving []mgmt.Node) error {
	n, targets := leaving[0], leaving
	return withEtcd(ctx, e.Ask, targets, func(client *etcd.Client, members []etcd.Member) error {
		if _, err := e.planRemoval(ctx, client, members, targets); err != nil {
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

// MoveLeader moves leadership of etcd away from the first of these nodes, if its member leads. The remaining nodes in the list will
// leave later and do not become the leader. It is not an error if the leader refuses.
func (e Etcd) MoveLeader(ctx context.Context, leaving []mgmt.Node) error {
	return withEtcd(ctx, e.Ask, leaving, func(client *etcd.Client, members []etcd.Member) error {
		for _, m := range members {
			if m.Leader && m.At(leaving[0].IP) {
				e.moveLeader(ctx, client, m, members)
			}
		}
		return nil
	})
}

// moveLeader moves leadership to another member before the leader is removed, so that the cluster does not wait for an
// election. The leader itself must do this, and it is alive because it has followers. If it fails, the remaining members
// elect a new leader.
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

// Clear removes members that interrupted joins have left in etcd: learners, because etcd accepts only one at a time, and
// any member at the address of the node that will join. Call Clear while no join is running whose member is a learner, and before
// the machine is reset: etcd removes one of two voting members only while both are alive.
func (e Etcd) Clear(ctx context.Context, n mgmt.Node) error {
	return e.clear(ctx, n, func(m etcd.Member) bool { return m.At(n.IP) || m.Learner })
}

// Release removes the learner of a join that has failed, since other joins wait until etcd has no learner. It is not an error if
// that fails: Clear removes the learner before the next attempt.
func (e Etcd) Release(ctx context.Context, n mgmt.Node) {
	if err := e.clear(ctx, n, func(m etcd.Member) bool { return m.Learner && m.At(n.IP) }); err != nil {
		e.Op.Log.WarnContext(ctx, "the learner of a failed join is left in etcd until the next attempt", "host", n.Label(), "error", err)
	}
}

// clear removes the members that are left over. It asks another node than n.
func (e Etcd) clear(ctx context.Context, n mgmt.Node, isLeft func(etcd.Member) bool) error {
	others := cluster.New(clusternodes.Without(e.Ask, []mgmt.Node{n}))
	defer others.Close()
	leader, err := others.Leader(ctx)
	if err != nil {
		return err
	}
	var refused error
	err = mgmt.Within(ctx, memberRecovery, func(ctx context.Context) error {
		return poll(ctx, func() error {
			refused = e.clearBy(ctx, leader, isLeft)
			if errors.Is(refused, etcd.ErrQuorum) {
				return refused // the member may still be starting: the interrupted join has just made it a voting member
			}
			return nil
		})
	})
	return cmp.Or(refused, err)
}

// memberRecovery bounds how long the etcd of an interrupted join may take to start.
const memberRecovery = time.Minute

func (e Etcd) clearBy(ctx context.Context, leader mgmt.Node, isLeft func(etcd.Member) bool) error {
	return withEtcd(ctx, []mgmt.Node{leader}, nil, func(client *etcd.Client, members []etcd.Member) error {
		var left []uint64
		for _, m := range members {
			if isLeft(m) {
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

// beforeVote is how long no member votes after its join has begun.
const beforeVote = 500 * time.Millisecond

// AwaitVoter waits until etcd has a healthy voting member on a node whose join begins, as another node sees it.
func (e Etcd) AwaitVoter(ctx context.Context, n mgmt.Node) error {
	ask := clusternodes.Without(e.Ask, []mgmt.Node{n})
	if err := retry.Pause(ctx, beforeVote); err != nil {
		return err
	}
	return poll(ctx, func() error {
		return checkVoter(ctx, ask, n)
	})
}

func checkVoter(ctx context.Context, through []mgmt.Node, n mgmt.Node) error {
	return withEtcd(ctx, through, nil, func(_ *etcd.Client, members []etcd.Member) error {
		if !slices.ContainsFunc(members, func(m etcd.Member) bool { return m.At(n.IP) && m.Healthy && !m.Learner }) {
			return fmt.Errorf("kubeadm: etcd has no healthy voting member on %s", n.Label())
		}
		return nil
	})
}

// IsHealthy reports whether etcd has a leader and a healthy voting member on a node, as the node or another one sees it. It is false if no etcd
// answers.
func (e Etcd) IsHealthy(ctx context.Context, n mgmt.Node) bool {
	through := append([]mgmt.Node{n}, clusternodes.Without(e.Ask, []mgmt.Node{n})...)
	return checkVoter(ctx, through, n) == nil
}

// Await waits until etcd has a healthy voting member on each of the joined nodes, and no member outside of joined and
// others.
func (e Etcd) Await(ctx context.Context, joined, others []mgmt.Node) error {
	return poll(ctx, func() error {
		return withEtcd(ctx, joined, nil, func(_ *etcd.Client, members []etcd.Member) error {
			return checkMembers(members, joined, others)
		})
	})
}

// Check returns the faults of the members on the control-plane nodes now.
func (e Etcd) Check(ctx context.Context, nodes []mgmt.Node) error {
	return withEtcd(ctx, nodes, nil, func(_ *etcd.Client, members []etcd.Member) error { return checkMembers(members, nodes, nil) })
}

// checkMembers returns the faults of the members on the nodes that have joined. The nodes in others may have members
// already, from joins that were interrupted or are no longer in the journal.
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
			faults = append(faults, fmt.Errorf("kubeadm: etcd member %s of %s is a learner yet", m, joined[i].Label()))
		case !m.Healthy:
			faults = append(faults, fmt.Errorf("kubeadm: etcd member %s of %s is not healthy", m, joined[i].Label()))
		}
		if i >= 0 {
			seen[joined[i].ID] = true
		}
	}
	for _, n := range joined {
		if !seen[n.ID] {
			faults = append(faults, fmt.Errorf("kubeadm: %s has no etcd member", n.Label()))
		}
	}
	return errors.Join(faults...)
}

// Versions returns the version of etcd of each member that answers, by the id of its VNFC.
func (e Etcd) Versions(ctx context.Context, nodes []mgmt.Node) (map[string]string, error) {
	out := map[string]string{}
	return out, withEtcd(ctx, e.Ask, nil, func(_ *etcd.Client, members []etcd.Member) error {
		for _, n := range nodes {
			if i := slices.IndexFunc(members, func(m etcd.Member) bool { return m.At(n.IP) }); i >= 0 {
				out[n.ID] = members[i].Version
			}
		}
		return nil
	})
}

// Snapshot begins a snapshot of the member on a node. Close it.
func Snapshot(ctx context.Context, n mgmt.Node) (*etcd.Snapshot, error) {
	client, err := openEtcd(ctx, n)
	if err != nil {
		return nil, err
	}
	data, err := client.Snapshot(ctx)
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	data.ReadCloser = withClient{data.ReadCloser, client}
	return data, nil
}

// withClient closes the client of a snapshot.
type withClient struct {
	io.ReadCloser

	client *etcd.Client
}

// Close implements io.Closer.
func (w withClient) Close() error { return errors.Join(w.ReadCloser.Close(), w.client.Close()) }

// Save writes a snapshot of the member on a node into a file of the node, which only root can read.
func Save(ctx context.Context, n mgmt.Node, name string) error {
	data, err := Snapshot(ctx, n)
	if err != nil {
		return err
	}
	defer func() { _ = data.Close() }()
	return n.Root().WriteFrom(ctx, name, data, 0o600)
}

// poll calls try until it succeeds. If ctx ends first, the error has the last error of an attempt that was not cut.
func poll(ctx context.Context, try func() error) error {
	return retry.Policy{First: 100 * time.Millisecond, Most: time.Second}.Do(ctx, try)
}

// HasVoter reports whether etcd has a voting member on a node, healthy or not, as another node sees it.
func (e Etcd) HasVoter(ctx context.Context, n mgmt.Node) (has bool, err error) {
	return has, withEtcd(ctx, clusternodes.Without(e.Ask, []mgmt.Node{n}), []mgmt.Node{n}, func(_ *etcd.Client, members []etcd.Member) error {
		has = slices.ContainsFunc(members, func(m etcd.Member) bool { return m.At(n.IP) && !m.Learner })
		return nil
	})
}
