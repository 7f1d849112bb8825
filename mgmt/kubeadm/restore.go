package kubeadm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/plan"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/controlplane"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// restoreParam are the parameters of a heal after etcd has lost its quorum, and of a revert to a snapshot. They hold for one request.
type restoreParam struct {
	Restore     string   `json:"restore"`           // restoreSurvivor, restoreLatest, restoreNone, or the id of a snapshot
	ConfirmLoss bool     `json:"confirm_loss"`      // the operator has seen what is lost
	PassOver    []string `json:"restore_pass_over"` // checks whose refusal is a warning
}

// The values of restore.
const (
	restoreSurvivor = "survivor" // from the latest data of the control-plane nodes that stay
	restoreLatest   = "latest"   // from the newest snapshot that can be read
	restoreNone     = "none"     // the data are given up
)

// Names of checks before a restore, for restore_pass_over.
const (
	checkQuorum    = "quorum"    // etcd has no quorum
	checkSurvivors = "survivors" // every control-plane node that stays answers
	checkSpace     = "space"     // space for the copies of etcd's data
	checkVersion   = "version"   // the snapshot has the version of Kubernetes of the cluster
	checkAuthority = "authority" // nodes that stay have the CA of the snapshot
)

var (
	restoreChecks = []string{checkQuorum, checkSurvivors, checkSpace, checkVersion, checkAuthority}
	revertChecks  = []string{checkSpace, checkVersion} // of a revert, which needs every control-plane node of the cluster of the snapshot
)

// restoreParamOf returns the parameters of a heal request or a request to revert. Those of the instantiation have no effect.
func restoreParamOf(op *vnflcm.Operation) (p restoreParam) {
	if op.Heal != nil || op.RevertToSnapshot != nil {
		_, _ = op.RequestParams().Decode(&p) // faults are reported by read
	}
	if op.RevertToSnapshot != nil {
		p.Restore = op.RevertToSnapshot.VnfSnapshotInfoID
	}
	return p
}

// lookLimit bounds how long the machines may take to show their data before a request is accepted. A machine that does not answer is lost.
const lookLimit = 20 * time.Second

// checkLoss refuses a request that gives up the data of the cluster without saying so. It asks control-plane nodes, before the first machine is
// replaced: in package hookrun each hook checks the request, also heal_end.
func (d *Driver) checkLoss(ctx context.Context, op *vnflcm.Operation, p *parameters) error {
	switch {
	case op.Phase() == string(vnflcm.HealEnd):
		return nil
	case p.ConfirmLoss && p.fromSnapshot():
		_, err := findSnapshot(ctx, op, p.Restore)
		return err
	case p.restores() && !p.ConfirmLoss:
		losses, err := d.Losses(ctx, op)
		if err != nil {
			return err
		}
		return &vnflcm.ParamError{Path: "additionalParams.confirm_loss", Reason: "must be true: " + strings.Join(losses, "; ")}
	case op.WholeVNF() && p.Restore == "":
		return d.checkWholeHeal(ctx, op)
	}
	return nil
}

// checkWholeHeal refuses to heal the whole VNF while a machine or a snapshot has the data of the cluster, unless the request has restore.
func (d *Driver) checkWholeHeal(ctx context.Context, op *vnflcm.Operation) error {
	controlPlane, _, err := d.clusterMachines(ctx, op)
	if err != nil {
		return nil // the faults of the parameters are reported by read
	}
	var snapshots []vnflcm.VnfSnapshot
	if op.KeepsSnapshots() {
		if snapshots, err = op.Snapshots(ctx); err != nil {
			return err
		}
	}
	var with plan.Result[bool]
	_ = vnflcm.Each(ctx, d.config.Parallel, controlPlane, func(ctx context.Context, n mgmt.Node) error {
		return mgmt.Within(ctx, lookLimit, func(ctx context.Context) error {
			found, err := controlplane.HasData(ctx, n)
			with.Set(n.ID, found && err == nil) // a machine that does not answer is lost
			return nil
		})
	})
	var names []string
	for _, n := range controlPlane {
		if with.Of(n.ID) {
			names = append(names, n.Name)
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	reason := ""
	switch {
	case len(names) > 0:
		reason = fmt.Sprintf("is required: %s has the data of the cluster, which end when the whole VNF is healed. "+
			"To keep them, name the VNFCs that are lost (vnfcInstanceId), with restore if etcd has no quorum. To give them up, let restore be none", strings.Join(names, ", "))
	case len(snapshots) > 0:
		reason = fmt.Sprintf("is required: snapshot %s, taken %s ago, has the data of the cluster. "+
			"To restore them, let restore be latest or the id of a snapshot. To make a new cluster without them, let restore be none", snapshots[0].ID, age(&snapshots[0]))
	default:
		return nil
	}
	return &vnflcm.ParamError{Path: "additionalParams.restore", Reason: reason}
}

// restores reports whether the request is to restore etcd.
func (p restoreParam) restores() bool { return p.Restore != "" && p.Restore != restoreNone }

// fromSnapshot reports whether the request is to restore etcd from a snapshot.
func (p restoreParam) fromSnapshot() bool { return p.restores() && p.Restore != restoreSurvivor }

// checkRestore finds the faults of a request to restore etcd, without looking at machines.
func (p *parameters) checkRestore(op *vnflcm.Operation) error {
	var faults []error
	fault := func(path, value, reason string) {
		faults = append(faults, &vnflcm.ParamError{Path: path, Value: value, Reason: reason})
	}
	checks := restoreChecks
	if op.RevertToSnapshot != nil {
		checks = revertChecks
	}
	for _, name := range p.PassOver {
		if !slices.Contains(checks, name) {
			fault("additionalParams.restore_pass_over", name, "is no check of this request that can be passed over: there are "+strings.Join(checks, ", "))
		}
	}
	_, hasStart := op.Flavour.Hooks[string(vnflcm.HealStart)]
	switch {
	case op.Heal == nil, !p.restores():
	case !hasStart:
		fault("additionalParams.restore", p.Restore, "needs the hook heal_start in the VNFD, in which the data are chosen")
	case p.fromSnapshot() && p.Cluster.ScriptPath != "" && p.isWholeControlPlane(op):
		fault("additionalParams.restore", p.Restore, "needs a control-plane node that stays: the package's script makes a new cluster")
	case op.WholeVNF() && p.fromSnapshot():
	case op.WholeVNF():
		fault("additionalParams.restore", p.Restore, "needs vnfcInstanceId with the control-plane nodes that are lost: the data are taken from those that stay")
	case !slices.ContainsFunc(op.HealTargets(), func(v vnflcm.VNFC) bool { _, is := v.CP(p.Cluster.Master.SSHCPName); return is }):
		fault("vnfcInstanceId", "", "names no control-plane node, and without a lost one etcd needs no restore")
	}
	return errors.Join(faults...)
}

// isWholeControlPlane reports whether a heal replaces every control-plane node.
func (p *parameters) isWholeControlPlane(op *vnflcm.Operation) bool {
	return !slices.ContainsFunc(op.VNFCs, func(v vnflcm.VNFC) bool {
		_, is := v.CP(p.Cluster.Master.SSHCPName)
		return is && !op.WholeVNF() && !slices.ContainsFunc(op.HealTargets(), func(t vnflcm.VNFC) bool { return t.ID == v.ID })
	})
}

// restore replaces control-plane nodes without which etcd has no quorum. The machines are replaced before etcd is restored on those that stay: a
// machine that only seems dead could serve clients with other data.
func restore(c clusterShape) *operationPlan {
	p := &planner{clusterShape: c}
	p.Begin(vnflcm.HealStart)
	p.Once(forget, p.Once(chooseSource))

	p.Begin(vnflcm.HealEnd)
	changed := p.changeRegistries(p.registerNodes(p.Once(deleteLostNodes, p.restoreMembers())))
	p.healBalancers(p.Once(checkEndpoint, changed))
	p.healNodes(p.Once(readCluster, p.All()))
	p.healStorage(changed)
	p.Once(forgetSource, p.Once(compareUsers, p.All()))
	return &p.operationPlan
}

// restoreMembers restores etcd on the control-plane nodes that stay, and starts their control planes with the restored data.
func (p *planner) restoreMembers(after ...tasks) tasks {
	staying := plan.Staying(p.ControlPlane)
	last := p.Once(readSource, after...)
	if p.FromSnapshot {
		last = p.Each(staying, uploadSnapshot, last)
	} else {
		last = p.Each(staying, copySnapshot, p.Once(saveSnapshot, last))
	}
	for _, t := range []task{unpackSnapshot, stopControlPlane, replaceData, startRestoredEtcd} {
		last = p.Each(staying, t, last)
	}
	last = p.Once(awaitRestoredEtcd, last)
	for _, t := range []task{startRestoredAPI, startRestoredControllers} {
		last = p.Each(staying, t, last)
	}
	return last
}

// registerNodes makes the machines that stay nodes of the restored cluster, after deleteLostNodes: a kubelet whose Node object is deleted after its
// restart would not register again.
func (p *planner) registerNodes(cleaned tasks) tasks {
	staying := plan.Staying(p.nodes())
	return p.Each(staying, restoreMarks, p.Once(restartNetwork, p.Each(staying, restartKubelet, cleaned)))
}

// rebuild makes every control-plane node again, with the data of a snapshot on the first one. Workers that are not replaced stay.
func rebuild(c clusterShape) *operationPlan {
	p := &planner{clusterShape: c}
	p.Begin(vnflcm.HealStart)
	p.Once(forget, p.Once(chooseSource))

	p.Begin(vnflcm.HealEnd)
	ready := p.changeRegistries(p.Once(readSource))
	if c.Whole {
		ready = p.Once(recordSettings, ready)
	} else {
		ready = p.Once(checkEndpoint, ready)
	}
	p.updateHosts(ready)
	routed := append(p.balancers(plan.Replaced(p.Balancers), ready), p.Each(plan.Staying(p.Balancers), routeFirst, ready)...)
	made := plan.Replaced(p.nodes())
	prepared := p.prepare(made, ready)
	up := p.Once(deleteLostNodes, p.initialise(made[0], prepared[0], routed))
	joined := slices.Concat(up, p.joinRest(made, prepared, up))
	if len(plan.Staying(p.nodes())) > 0 {
		joined = append(joined, p.registerNodes(up)...)
	}
	ended := p.finish(made, joined, routed)
	p.Each(plan.Replaced(p.Balancers), restoreParts, ended)
	if p.Helm {
		p.Each(p.ControlPlane, installHelm, ended)
	}
	var exported tasks
	for _, n := range plan.Replaced(p.Storage) {
		exported = append(exported, p.exportVolumes(n, ready)...)
	}
	if p.Volumes && len(exported) > 0 {
		p.Once(restoreVolumes, exported, ended)
	}
	p.Once(registerVIM, p.All())
	p.Once(forgetSource, p.Once(compareUsers, p.All()))
	return &p.operationPlan
}
