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

// restoreParam are the parameters of a heal after etcd has lost its quorum. They hold for one request.
type restoreParam struct {
	Restore     string   `json:"restore"`           // restoreSurvivor or restoreNone
	ConfirmLoss bool     `json:"confirm_loss"`      // the operator has seen what is lost
	PassOver    []string `json:"restore_pass_over"` // checks whose refusal is a warning
}

// The values of restore.
const (
	restoreSurvivor = "survivor" // from the latest data of the control-plane nodes that stay
	restoreNone     = "none"     // the data are given up
)

// Names of checks before a restore, for restore_pass_over.
const (
	checkQuorum    = "quorum"    // etcd has no quorum
	checkSurvivors = "survivors" // every control-plane node that stays answers
	checkSpace     = "space"     // space for the copies of etcd's data
)

var restoreChecks = []string{checkQuorum, checkSurvivors, checkSpace}

// restoreParamOf returns the parameters of a heal request. Those of the instantiation have no effect.
func restoreParamOf(op *vnflcm.Operation) (p restoreParam) {
	if op.Heal != nil {
		_, _ = op.RequestParams().Decode(&p) // faults are reported by read
	}
	return p
}

// lookLimit bounds how long the machines may take to show their data before a request is accepted. A machine that does not answer is lost.
const lookLimit = 20 * time.Second

// checkLoss refuses a request that gives up the data of the cluster without saying so. It asks control-plane nodes, before the first machine is
// replaced: in package hookrun each hook checks the request, also heal_end.
func (d *Driver) checkLoss(ctx context.Context, op *vnflcm.Operation, p *parameters) error {
	switch {
	case op.Heal == nil, op.Phase() == string(vnflcm.HealEnd):
		return nil
	case p.restores() && !op.WholeVNF() && !p.ConfirmLoss:
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

// checkWholeHeal refuses to heal the whole VNF while a machine has the data of the cluster, unless the request has restore.
func (d *Driver) checkWholeHeal(ctx context.Context, op *vnflcm.Operation) error {
	controlPlane, _, err := d.clusterMachines(ctx, op)
	if err != nil {
		return nil // the faults of the parameters are reported by read
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
	if len(names) == 0 {
		return nil
	}
	return &vnflcm.ParamError{Path: "additionalParams.restore", Reason: fmt.Sprintf("is required: %s has the data of the cluster, which end when the whole VNF is healed. "+
		"To keep them, name the VNFCs that are lost (vnfcInstanceId), with restore if etcd has no quorum. To give them up, let restore be none", strings.Join(names, ", "))}
}

// restores reports whether the request is to restore etcd.
func (p restoreParam) restores() bool { return p.Restore != "" && p.Restore != restoreNone }

// checkRestore finds the faults of a request to restore etcd, without looking at machines.
func (p *parameters) checkRestore(op *vnflcm.Operation) error {
	if op.Heal == nil {
		return nil
	}
	var faults []error
	fault := func(path, value, reason string) {
		faults = append(faults, &vnflcm.ParamError{Path: path, Value: value, Reason: reason})
	}
	for _, name := range p.PassOver {
		if !slices.Contains(restoreChecks, name) {
			fault("additionalParams.restore_pass_over", name, "is no check of a restore: quorum, survivors and space are")
		}
	}
	_, hasStart := op.Flavour.Hooks[string(vnflcm.HealStart)]
	switch {
	case !p.restores():
	case !hasStart:
		fault("additionalParams.restore", p.Restore, "needs the hook heal_start in the VNFD, in which the data are chosen")
	case p.Restore != restoreSurvivor:
		fault("additionalParams.restore", p.Restore, "must be survivor or none")
	case op.WholeVNF():
		fault("additionalParams.restore", p.Restore, "needs vnfcInstanceId with the control-plane nodes that are lost: the data are taken from those that stay")
	case !slices.ContainsFunc(op.HealTargets(), func(v vnflcm.VNFC) bool { _, is := v.CP(p.Cluster.Master.SSHCPName); return is }):
		fault("vnfcInstanceId", "", "names no control-plane node, and without a lost one etcd needs no restore")
	}
	return errors.Join(faults...)
}

// restore replaces control-plane nodes without which etcd has no quorum. The machines are replaced before etcd is restored on those that stay: a
// machine that only seems dead could serve clients with other data.
func restore(c clusterShape) *operationPlan {
	p := &planner{clusterShape: c}
	p.Begin(vnflcm.HealStart)
	p.Once(forget, p.Once(chooseSource))

	p.Begin(vnflcm.HealEnd)
	survivors := plan.Staying(p.ControlPlane)
	last := p.Once(saveSnapshot, p.Once(readSource))
	for _, t := range []task{copySnapshot, unpackSnapshot, stopControlPlane, replaceData, startRestoredEtcd} {
		last = p.Each(survivors, t, last)
	}
	last = p.Once(awaitRestoredEtcd, last)
	for _, t := range []task{startRestoredAPI, startRestoredControllers} {
		last = p.Each(survivors, t, last)
	}
	last = p.Each(plan.Staying(p.nodes()), restartKubelet, last)
	cleaned := p.Once(deleteLostNodes, p.Once(restartNetwork, last))
	changed := p.changeRegistries(cleaned)
	p.healBalancers(p.Once(checkEndpoint, changed))
	p.healNodes(p.Once(readCluster, p.All()))
	p.healStorage(changed)
	p.Once(forgetSource, p.Once(compareUsers, p.All()))
	return &p.operationPlan
}
