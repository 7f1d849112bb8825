package kubeadm

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/vnfkit/vnfkit/internal/retry"
	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/cluster"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/kubeversion"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// This file has the plan of an upgrade. upgradecontrolplane.go and upgradenodes.go have the code of its tasks.

// upgrade upgrades a running cluster, one minor version after the other. Each time the control plane is first, then the kubelets: no kubelet
// is newer than an API server.
func upgrade(c clusterShape) *operationPlan {
	p := &planner{clusterShape: c}
	p.Begin(vnflcm.MaintenancePhase)
	restored := p.Each(c.ControlPlane, restoreLeft)
	p.Once(checkPath, restored)
	p.Once(checkCluster, restored)
	p.Once(compareClocks)
	p.Each(c.nodes(), checkUpgradable)
	p.Each(c.Workers, findDead, p.All())
	checked := p.Once(countNodes, p.Once(recordPackages, p.All()))
	for i, version := range c.Upgrade.Path {
		checked = p.upgradeTo(version, i == len(c.Upgrade.Path)-1, checked)
	}
	p.Each(p.ControlPlane, copyAdmin, p.Once(countNodes, checked))
	return &p.operationPlan
}

// upgradeTo upgrades the cluster to one version.
func (p *planner) upgradeTo(version string, last bool, after tasks) tasks {
	h := hop(version)
	after = p.checkTarget(h, after)
	if p.Upgrade.ControlPlane {
		after = p.upgradeControlPlane(h, after)
		if last && p.Upgrade.Network {
			after = p.Once(applyNetwork, after)
		}
	}
	var lanes []tasks // workers that are drained one after the other
	for _, n := range p.Upgrade.Kubelets {
		if p.isControlPlane(n) {
			after = p.upgradeControlPlaneKubelet(h, n, after)
		}
	}
	for _, n := range p.Upgrade.Kubelets {
		if p.isControlPlane(n) {
			continue
		}
		if len(lanes) < p.Upgrade.MaxUnavailable {
			lanes = append(lanes, p.upgradeKubelet(h, n, after))
			continue
		}
		lanes = append(lanes[1:], p.upgradeKubelet(h, n, lanes[0]))
	}
	for _, lane := range lanes {
		after = append(after[:len(after):len(after)], lane...)
	}
	return after
}

// checkTarget checks with kubeadm of the version, and pulls the images of the version, before a node of the cluster is changed.
func (p *planner) checkTarget(h hop, after tasks) tasks {
	nodes := p.Upgrade.Kubelets
	var tried tasks
	if p.Upgrade.ControlPlane {
		nodes = p.nodes()
		after = p.On(p.ControlPlane[0], h.installKubeadm(), p.Once(h.await(), after))
		tried = p.On(p.ControlPlane[0], h.tryUpgrade(), after)
	}
	return append(tried, p.Each(nodes, h.pullImages(), after)...)
}

// upgradeControlPlane upgrades the control plane, one node after the other, while the other nodes serve the API.
func (p *planner) upgradeControlPlane(h hop, after tasks) tasks {
	after = p.On(p.ControlPlane[0], h.snapshot(), after)
	if h.needsEtcdBefore() {
		for i, n := range p.ControlPlane {
			away := p.leadAPI(h.leadAway(i, "-etcd"), p.On(n, h.beginEtcd(), after))
			after = p.leadAPI(h.leadBack(i, "-etcd"), p.On(n, h.upgradeEtcd(), away))
		}
	}
	for i, n := range p.ControlPlane {
		begun := p.On(n, h.begin(), after)
		away := p.On(n, h.moveLeader(""), p.leadAPI(h.leadAway(i, ""), begun))
		if i > 0 {
			away = p.On(n, finishes(h.installKubeadm()), away)
		}
		after = p.leadAPI(h.leadBack(i, ""), p.Chain(n, []task{h.upgradeNode(i == 0), h.awaitMembers("")}, away))
		if i == 0 {
			after = p.Once(h.checkConfiguration(), after)
		}
	}
	return p.Once(h.recordVersion(), p.Once(h.awaitAddons(), after))
}

// upgradeKubelet upgrades the kubelet of a worker.
func (p *planner) upgradeKubelet(h hop, n machine, after tasks) tasks {
	return p.Chain(n, []task{h.cordon(), h.drain(), h.configureKubelet(), h.restartKubelet(), h.awaitNode(), h.uncordon()}, after)
}

// upgradeControlPlaneKubelet upgrades the kubelet of a control-plane node. A kubelet of another minor version starts the static pods again.
func (p *planner) upgradeControlPlaneKubelet(h hop, n machine, after tasks) tasks {
	i := slices.IndexFunc(p.ControlPlane, func(m machine) bool { return m.ID == n.ID })
	drained := p.Chain(n, []task{h.beginKubelet(), h.cordon(), h.drain()}, after)
	away := p.On(n, h.moveLeader("-kubelet"), p.leadAPI(h.leadAway(i, "-kubelet"), drained))
	restarted := p.Chain(n, []task{h.restartKubelet(), h.awaitNode(), h.awaitStaticPods(), h.awaitMembers("-kubelet")}, away)
	return p.On(n, h.uncordon(), p.leadAPI(h.leadBack(i, "-kubelet"), restarted))
}

// hop is an upgrade to one version. Names of its steps end in the version, because an operation may have several hops.
type hop string

func (h hop) version() kubeversion.Version {
	v, _ := kubeversion.Parse(string(h))
	return v
}

// step returns a task of the hop.
func (h hop) step(name, why string, limit func(Timeouts) time.Duration, do func(context.Context, *environment, mgmt.Node, hop) error) task {
	return step(name+"-"+string(h), why, limit, overRestart(func(ctx context.Context, e *environment, n mgmt.Node) error { return do(ctx, e, n, h) }))
}

// repeated returns a task of the hop that is no step.
func (h hop) repeated(name, why string, do func(context.Context, *environment, mgmt.Node, hop) error) task {
	return repeated(name+"-"+string(h), why, overRestart(func(ctx context.Context, e *environment, n mgmt.Node) error { return do(ctx, e, n, h) }))
}

// restartLimit bounds the wait for an API server.
const restartLimit = 2 * time.Minute

// overRestart returns the action that is tried again while no API server answers: the upgrade of the only control-plane node restarts the API
// server, also some time after a task has done so, or before a resumed operation continues.
func overRestart(do action) action {
	return func(ctx context.Context, e *environment, n mgmt.Node) error {
		away := func(err error) bool { return errors.Is(err, cluster.ErrNoAPI) }
		err := do(ctx, e, n)
		if !away(err) || ctx.Err() != nil {
			return err
		}
		p := retry.Policy{First: 200 * time.Millisecond, Most: 2 * time.Second, Within: min(e.config.Timeouts.Ready, restartLimit), If: away, For: "an API server"}
		return p.Do(ctx, func() error { return do(ctx, e, n) })
	}
}

// finishes returns the task for a node on which an earlier task of the hop has begun: a graceful cancel does not stop it.
func finishes(t task) task {
	do := t.Do
	t.Do = func(ctx context.Context, e *environment, n mgmt.Node) error { return do(vnflcm.Finish(ctx), e, n) }
	return t
}

// unlessDead returns the task for nodes that are passed over if they were dead when this attempt of the operation began.
func unlessDead(t task) task {
	do := t.Do
	t.Do = func(ctx context.Context, e *environment, n mgmt.Node) error {
		if e.dead.Of(n.ID) {
			return nil
		}
		return do(ctx, e, n)
	}
	return t
}

// Checks of an upgrade. Their names are those of upgrade.pass_over; upgradechecks.go has the code.
var (
	restoreLeft     = repeated("manifests", "no kubeadm runs, and static pods whose manifests it has moved away run again", runRestoreLeft)
	checkPath       = step("check-versions", "an upgrade leads through each minor version, and no kubelet is left too far behind", oneMinute, overRestart(runCheckPath))
	checkCluster    = step("check-cluster", "API servers, members of etcd and nodes work before one after the other is stopped", twoMinutes, overRestart(runCheckCluster))
	compareClocks   = step("check-clocks", "certificates and leases need clocks that agree", twoMinutes, runCheckClocks)
	checkUpgradable = step("check-machine", "the machine can install and run the programs of each version, and has space for a copy of etcd's data", installLimit, runCheckUpgradable)
	findDead        = repeated("alive", "a worker that is dead when an attempt begins is passed over", runFindDead)
	countNodes      = repeated("count", "the document of the operation has the number of nodes that are done", overRestart(runCountNodes))
	recordPackages  = repeated("keep-packages", "nodes that join or are healed later install packages from the same source", runRecordPackages)
)

// Tasks of the control plane.

func (h hop) await() task {
	return h.repeated("etcd", "every member of etcd is healthy: the upgrade restarts one after the other", func(ctx context.Context, e *environment, _ mgmt.Node, _ hop) error {
		return mgmt.Within(ctx, e.config.Timeouts.Ready, func(ctx context.Context) error { return e.etcd().Await(ctx, e.controlPlane, nil) })
	})
}

func (h hop) snapshot() task {
	return h.step("snapshot", "the data of etcd can be restored; etcd cannot be downgraded", installLimit, runSnapshot)
}

func (h hop) upgradeEtcd() task {
	t := h.step("etcd-first", "etcd's documentation requires "+etcdBefore37.String()+" on every member before 3.7", readyLimit, runUpgradeEtcd)
	t.If = "the member is older than " + etcdBefore37.String()
	return finishes(t)
}

func (h hop) beginEtcd() task {
	return h.step("begin-etcd", "every member of etcd is healthy before one of them restarts", oneMinute, func(ctx context.Context, e *environment, n mgmt.Node, _ hop) error {
		return runCheckEtcd(ctx, e, n)
	})
}

func (h hop) begin() task {
	return h.step("begin", "no kubeadm of an earlier attempt runs on the node, and no manifest that it has moved away is missing", installLimit, runBegin)
}

func (h hop) leadAway(i int, suffix string) task { return finishes(leadAway(i, suffix+"-"+string(h))) }
func (h hop) leadBack(i int, suffix string) task { return finishes(leadBack(i, suffix+"-"+string(h))) }

func (h hop) moveLeader(suffix string) task {
	return finishes(h.step("move-leader"+suffix, "etcd needs no election when the member restarts", twoMinutes, runMoveLeaderAway))
}

func (h hop) installKubeadm() task {
	return h.step("kubeadm", "kubeadm and kubectl have the version", installLimit, runInstallKubeadm)
}

func (h hop) tryUpgrade() task {
	return h.step("check-upgrade", "kubeadm of the version accepts the configuration of the cluster, and would upgrade it", installLimit, runTryUpgrade)
}

func (h hop) pullImages() task {
	return unlessDead(h.step("images", "the node has the images of the version before any node is drained", installLimit, runPullImages))
}

func (h hop) upgradeNode(first bool) task {
	if first {
		return finishes(h.step("control-plane", "kubeadm upgrade apply upgrades the first node, and what the cluster stores; what etcd has written then cannot be read by the version before",
			installLimit, runApply))
	}
	return finishes(h.step("control-plane", "kubeadm upgrade node upgrades the node", installLimit, runUpgradeNode))
}

func (h hop) awaitMembers(suffix string) task {
	return finishes(h.step("members"+suffix, "every member of etcd is healthy before the next one is stopped", readyLimit, func(ctx context.Context, e *environment, n mgmt.Node, _ hop) error {
		if err := runAwaitMembers(ctx, e, n); err != nil {
			return err
		}
		return runCountNodes(ctx, e, n)
	}))
}

func (h hop) checkConfiguration() task {
	return h.repeated("configuration", "kubeadm on the other nodes upgrades to the version in the ConfigMap kubeadm-config", runCheckConfiguration)
}

func (h hop) awaitAddons() task {
	return h.step("addons", "kubeadm has upgraded kube-proxy with the last API server", readyLimit, runAwaitAddons)
}

func (h hop) recordVersion() task {
	return h.repeated("keep-version", "later operations know the version", runRecordVersion)
}

// Tasks of nodes.

func (h hop) cordon() task {
	return unlessDead(h.step("cordon", "the node gets no new pods", oneMinute, runCordon))
}

func (h hop) drain() task {
	limit := func(t Timeouts) time.Duration { return t.Drain + time.Minute }
	return h.node("drain", "the pods of the node move to other nodes", limit, runDrainForUpgrade)
}

func (h hop) configureKubelet() task {
	return h.node("kubelet-configuration", "kubeadm upgrade node writes the configuration of the kubelet", installLimit, runConfigureKubelet)
}

func (h hop) beginKubelet() task {
	return h.step("begin-kubelet", "every member of etcd is healthy before one of them restarts", oneMinute, func(ctx context.Context, e *environment, n mgmt.Node, _ hop) error {
		return runCheckEtcd(ctx, e, n)
	})
}

func (h hop) awaitStaticPods() task {
	return h.node("static-pods", "the static pods, which a kubelet of another minor version starts again, are Ready", readyLimit, runAwaitStaticPods)
}

func (h hop) restartKubelet() task {
	return h.node("kubelet", "the kubelet has the version, and the container runtime the pause image of it", installLimit, runRestartKubelet)
}

func (h hop) awaitNode() task {
	return h.node("node", "the node is Ready with the version", readyLimit, runAwaitNode)
}

func (h hop) uncordon() task {
	return h.node("uncordon", "the node gets pods again, unless another program had cordoned it", oneMinute, runUncordon)
}

// node returns a task for a node that the task cordon has begun with.
func (h hop) node(name, why string, limit func(Timeouts) time.Duration, do func(context.Context, *environment, mgmt.Node, hop) error) task {
	return unlessDead(finishes(h.step(name, why, limit, do)))
}
