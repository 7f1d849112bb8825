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

// restoreRecord is the value of restoreState: what chooseSource decides for later tasks.
type restoreRecord struct {
	Operation string                        `json:"operation"`
	Source    string                        `json:"source,omitempty"`   // id of the VNFC whose data are restored; "": those of Snapshot
	Snapshot  string                        `json:"snapshot,omitempty"` // id of the snapshot whose data are restored
	Version   string                        `json:"version,omitempty"`  // of Kubernetes in the snapshot; "" if it is not known
	Members   []controlplane.RestoredMember `json:"members"`            // of nodes that stay
	Lost      []netip.Addr                  `json:"lost"`               // addresses of machines that are replaced, and of those that the snapshot has and the VNF has not
}

func (r restoreRecord) restore() controlplane.Restore {
	return controlplane.Restore{ID: r.Operation, Members: r.Members}
}

// runChooseSource chooses the data that are restored, and stores the choice before any machine is changed.
func runChooseSource(ctx context.Context, e *environment, _ mgmt.Node) error {
	return vnflcm.Do(ctx, e.op, "restore-source", "", func(ctx context.Context) error {
		chosen := restoreRecord{Operation: e.op.ID}
		for _, n := range clusternodes.Among(e.nodes(), e.op.Change.Replaced) {
			chosen.Lost = append(chosen.Lost, n.IP)
		}
		choose := e.chooseSurvivor
		if e.shape.FromSnapshot {
			choose = e.chooseSnapshot
		}
		loss, err := choose(ctx, &chosen)
		if err != nil {
			return err
		}
		e.op.Warn(ctx, loss)
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

// chooseSurvivor chooses the survivor with the latest data, and returns what is lost. Before, it starts members of etcd that an earlier restore
// has stopped.
func (e *environment) chooseSurvivor(ctx context.Context, out *restoreRecord) (loss string, err error) {
	again := false // an earlier restore was given up
	for _, n := range e.up {
		stopped, err := controlplane.IsStopped(ctx, n)
		if err := e.refuseRestore(ctx, checkSurvivors, err); err != nil {
			return "", err
		}
		again = again || stopped
	}
	err = vnflcm.Each(ctx, e.config.Parallel, e.up, func(ctx context.Context, n mgmt.Node) error {
		return e.refuseRestore(ctx, checkSurvivors, controlplane.ResumeEtcd(ctx, n))
	})
	if err != nil {
		return "", err
	}
	survivors := lookAtSurvivors(ctx, e.config.Parallel, e.up)
	for _, s := range survivors {
		if err := e.refuseRestore(ctx, checkSurvivors, s.err); err != nil {
			return "", err
		}
		if s.err == nil {
			out.Members = append(out.Members, controlplane.RestoredMember{VNFC: s.node.ID, Name: s.member.Name, PeerURL: s.member.PeerURL})
		}
	}
	latest := latestOf(survivors)
	if latest == nil {
		return "", errors.New("kubeadm: etcd runs on no control-plane node that stays")
	}
	out.Source = latest.node.ID
	size, err := controlplane.DataSize(ctx, latest.node)
	if err == nil {
		err = controlplane.CheckRestoreSpace(ctx, latest.node, size)
	}
	err = errors.Join(e.refuseQuorum(ctx, survivors, again), e.refuseRestore(ctx, checkSpace, err))
	return lossOf(ctx, latest), err
}

// refuseQuorum returns an error if etcd has a quorum, unless the request is to revert to a snapshot. After a restore that was given up, only the members that it has restored have one.
func (e *environment) refuseQuorum(ctx context.Context, survivors []survivor, again bool) error {
	if again || e.op.RevertToSnapshot != nil || !slices.ContainsFunc(survivors, func(s survivor) bool { return s.err == nil && s.member.Leader != 0 }) {
		return nil
	}
	return e.refuseRestore(ctx, checkQuorum, errors.New("etcd has a quorum, so that a heal without restore keeps all data"))
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

// refuseRestore returns what a check of a restore has found, nil without a finding. A check that the request passes over is a warning.
func (e *environment) refuseRestore(ctx context.Context, check string, finding error) error {
	switch {
	case finding == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case slices.Contains(restoreParamOf(e.op).PassOver, check):
		e.op.Warn(ctx, fmt.Sprintf("passed over by the request%s: %s: %v", e.bySender(), check, finding))
		return nil
	}
	return fmt.Errorf("kubeadm: the check %s (restore_pass_over): %w", check, finding)
}

var _ vnflcm.LossTeller = (*Driver)(nil)

// Losses implements vnflcm.LossTeller: what a restore of etcd gives up, as control-plane nodes show it within 20 s, and in other
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
	p := restoreParamOf(op)
	if !p.restores() {
		return nil, nil
	}
	controlPlane, _, err := d.clusterMachines(ctx, op)
	if err != nil {
		return nil, err
	}
	var snapshot *vnflcm.VnfSnapshot
	asked := controlPlane
	if !p.fromSnapshot() {
		asked = clusternodes.Without(controlPlane, clusternodes.Among(controlPlane, op.HealTargets()))
	} else if snapshot, err = findSnapshot(ctx, op, p.Restore); err != nil {
		return nil, err
	}
	var text string
	err = mgmt.Within(ctx, lookLimit, func(ctx context.Context) error {
		latest := latestOf(lookAtSurvivors(ctx, d.config.Parallel, asked))
		if snapshot != nil {
			text = lossAfter(snapshot, latest)
		} else {
			text = lossOf(ctx, latest)
		}
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

// runReadSource reads the choice of chooseSource.
func runReadSource(ctx context.Context, e *environment, _ mgmt.Node) error {
	var r restoreRecord
	err := e.op.State().Get(ctx, restoreState, &r)
	if errors.Is(err, vnflcm.ErrNotFound) {
		return nil // forgetSource has run: nothing is left to restore
	}
	e.restored.Set("", r)
	if e.shape.Rebuilds {
		e.running.Set("", controlplane.Bootstrap{Version: r.Version})
	}
	return err
}

func runForgetSource(ctx context.Context, e *environment, _ mgmt.Node) error {
	return e.op.State().Delete(ctx, restoreState)
}
