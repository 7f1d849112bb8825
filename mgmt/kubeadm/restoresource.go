package kubeadm

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/clusternodes"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/controlplane"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/members"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// restoreState is the state key of the last restore.
const restoreState = "restore"

// restoreRecord is the value of restoreState: what heal_start decides for heal_end.
type restoreRecord struct {
	Operation string                        `json:"operation"`
	Source    string                        `json:"source"` // id of the VNFC whose data are restored
	Members   []controlplane.RestoredMember `json:"members"`
	Lost      []netip.Addr                  `json:"lost"` // addresses of the machines that are replaced
}

func (r restoreRecord) restore() controlplane.Restore {
	return controlplane.Restore{ID: r.Operation, Members: r.Members}
}

// runChooseSource chooses the data that are restored, and stores the choice before any machine is changed.
func runChooseSource(ctx context.Context, e *environment, _ mgmt.Node) error {
	return vnflcm.Do(ctx, e.op, "restore-source", "", func(ctx context.Context) error {
		chosen, latest, err := choose(ctx, e)
		if err != nil {
			return err
		}
		e.op.Warn(ctx, lossOf(ctx, latest))
		return e.op.State().Put(ctx, restoreState, chosen)
	})
}

// survivor is a control-plane node that stays, with its member of etcd.
type survivor struct {
	node   mgmt.Node
	member members.Survivor
	err    error // why the member is not known
}

// lookAtSurvivors asks the members of etcd on nodes.
func lookAtSurvivors(ctx context.Context, parallel int, nodes []mgmt.Node) []survivor {
	out := make([]survivor, len(nodes))
	var positions []int
	for i, n := range nodes {
		out[i].node = n
		positions = append(positions, i)
	}
	_ = vnflcm.Each(ctx, parallel, positions, func(ctx context.Context, i int) error { // errors are in out
		out[i].member, out[i].err = members.Ask(ctx, nodes[i])
		return nil
	})
	return out
}

// choose returns the restore from the survivor with the latest data. Before, it starts members of etcd that an earlier restore has stopped.
func choose(ctx context.Context, e *environment) (out restoreRecord, latest *survivor, err error) {
	out = restoreRecord{Operation: e.op.ID}
	for _, n := range e.op.Change.Replaced {
		for _, lost := range e.nodes() {
			if lost.ID == n.ID {
				out.Lost = append(out.Lost, lost.IP)
			}
		}
	}
	err = vnflcm.Each(ctx, e.config.Parallel, e.up, func(ctx context.Context, n mgmt.Node) error {
		return e.refuseRestore(ctx, checkSurvivors, controlplane.ResumeEtcd(ctx, n))
	})
	if err != nil {
		return out, nil, err
	}
	survivors := lookAtSurvivors(ctx, e.config.Parallel, e.up)
	for _, s := range survivors {
		if err := e.refuseRestore(ctx, checkSurvivors, s.err); err != nil {
			return out, nil, err
		}
		if s.err == nil {
			out.Members = append(out.Members, controlplane.RestoredMember{VNFC: s.node.ID, Name: s.member.Name, PeerURL: s.member.PeerURL})
		}
	}
	if latest = latestOf(survivors); latest == nil {
		return out, nil, errors.New("kubeadm: etcd runs on no control-plane node that stays")
	}
	out.Source = latest.node.ID
	return out, latest, e.checkSource(ctx, latest)
}

// latestOf returns the survivor with the latest data, nil if no member is known.
func latestOf(survivors []survivor) (latest *survivor) {
	for i := range survivors {
		if s := &survivors[i]; s.err == nil && (latest == nil || s.member.Index > latest.member.Index) {
			latest = s
		}
	}
	return latest
}

// checkSource returns an error if etcd needs no restore, or the machine with the data lacks space.
func (e *environment) checkSource(ctx context.Context, s *survivor) error {
	var quorum error
	if s.member.Leader != 0 {
		quorum = errors.New("etcd has a quorum, so that a heal without restore keeps all data")
	}
	return errors.Join(e.refuseRestore(ctx, checkQuorum, quorum), e.refuseRestore(ctx, checkSpace, controlplane.CheckRestoreSpace(ctx, s.node)))
}

// refuseRestore returns what a check of a restore has found, nil without a finding. A check that the request passes over is a warning.
func (e *environment) refuseRestore(ctx context.Context, check string, finding error) error {
	switch {
	case finding == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case slices.Contains(restoreParamOf(e.op).PassOver, check):
		e.op.Warn(ctx, fmt.Sprintf("passed over by the request: %s: %v", check, finding))
		return nil
	}
	return fmt.Errorf("kubeadm: the check %s (restore_pass_over): %w", check, finding)
}

var _ vnflcm.LossTeller = (*Driver)(nil)

// Losses implements vnflcm.LossTeller: what a restore of etcd gives up, as the control-plane nodes that stay show it within 20 s, and in other
// heals and in scale-ins the local volumes of nodes, as the cluster shows them within 20 s.
func (d *Driver) Losses(ctx context.Context, op *vnflcm.Operation) ([]string, error) {
	if endsMachines(op) {
		e, err := d.open(ctx, op)
		if err != nil {
			return nil, err
		}
		defer e.Close()
		return e.localLosses(ctx), context.Cause(ctx)
	}
	if op.Heal == nil || op.WholeVNF() || !restoreParamOf(op).restores() {
		return nil, nil
	}
	controlPlane, _, err := d.clusterMachines(ctx, op)
	if err != nil {
		return nil, err
	}
	var text string
	err = mgmt.Within(ctx, lookLimit, func(ctx context.Context) error {
		staying := clusternodes.Without(controlPlane, clusternodes.Among(controlPlane, op.HealTargets()))
		text = lossOf(ctx, latestOf(lookAtSurvivors(ctx, d.config.Parallel, staying)))
		return nil
	})
	return []string{text}, err
}

// lossOf says what a restore from a survivor gives up.
func lossOf(ctx context.Context, s *survivor) string {
	if s == nil {
		return "it is not known what is lost: etcd answers on no control-plane node that stays"
	}
	age := "at an unknown time"
	if ago, err := controlplane.SinceLastWrite(ctx, s.node); err == nil {
		age = ago.String() + " ago"
	}
	return fmt.Sprintf("etcd is restored from the data of %s at revision %d, of which the last was stored %s: later changes that only lost nodes have stored are lost, also if clients know them as stored",
		s.node.Name, s.member.Revision, age)
}

// runReadSource reads the choice of heal_start.
func runReadSource(ctx context.Context, e *environment, _ mgmt.Node) error {
	var r restoreRecord
	err := e.op.State().Get(ctx, restoreState, &r)
	if errors.Is(err, vnflcm.ErrNotFound) {
		return nil // forgetSource has run: nothing is left to restore
	}
	e.restored.Set("", r)
	return err
}

func runForgetSource(ctx context.Context, e *environment, _ mgmt.Node) error {
	return e.op.State().Delete(ctx, restoreState)
}
