package kubeadm

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/clusternodes"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/controlplane"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/kubeversion"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/members"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/nodeprep"
)

// etcdBefore37 is the version that every member of etcd must have before one of them gets 3.7 (etcd.io, "Upgrade etcd from v3.6 to v3.7").
// kubeadm 1.36 leaves 3.6.8.
var etcdBefore37 = kubeversion.Version{Major: 3, Minor: 6, Patch: 11}

// firstWithEtcd37 is the minor version of Kubernetes whose kubeadm deploys etcd 3.7.
const firstWithEtcd37 = 37

// etcdBefore37Tag is the tag of the image of etcdBefore37.
var etcdBefore37Tag = etcdBefore37.String() + "-0"

func (h hop) needsEtcdBefore() bool { return h.version().Minor >= firstWithEtcd37 }

// preparationOf returns the settings with which the packages of a version are installed.
func (e *environment) preparationOf(version string) nodeprep.Settings {
	s := e.preparation()
	s.Version, s.KubeletVersion = version, version
	return s
}

// runRestoreManifests repairs what a kubeadm that was ended has left.
func runRestoreManifests(ctx context.Context, e *environment, n mgmt.Node) error {
	if err := settle(ctx, e, n); err != nil {
		return err
	}
	restored, err := controlplane.RestoreManifests(ctx, n)
	if restored != "" {
		e.op.Report(ctx, "an earlier kubeadm has left no manifest of "+restored+": restored")
	}
	return err
}

// isPast reports whether the cluster has a newer version than the hop: it was upgraded by hand.
func (h hop) isPast(ctx context.Context, e *environment) (bool, error) {
	stored, err := storedVersion(ctx, e)
	return err == nil && stored.Compare(h.version()) > 0, err
}

// snapshotFile is the file with the snapshot of etcd before an upgrade to a version.
func snapshotFile(h hop) string { return "/var/lib/vnfkit/etcd-before-" + string(h) + ".db" }

// runSnapshot saves the data of etcd, unless a control-plane node has been upgraded already: in the Snapshots of the composition or, if it keeps
// none, in a file on the first control-plane node.
func runSnapshot(ctx context.Context, e *environment, n mgmt.Node, h hop) error {
	servers, err := e.kube.StaticPodTags(ctx, controlplane.StaticAPIServer)
	if err != nil {
		return err
	}
	for _, tag := range servers {
		if kubeversion.AtLeast(tag, h.version()) {
			return nil
		}
	}
	if e.op.KeepsSnapshots() {
		_, err := e.op.TakeSnapshot(ctx, "before-"+string(h), e.Driver)
		return e.refuse(ctx, checkSnapshot, err)
	}
	return e.refuse(ctx, checkSnapshot, members.Save(ctx, n, snapshotFile(h)))
}

// runUpgradeEtcd brings the member of a node to the version that its successor requires. Afterwards the manifest differs from the one that
// kubeadm would write, which the upgrade to 1.37 replaces.
func runUpgradeEtcd(ctx context.Context, e *environment, n mgmt.Node, _ hop) error {
	versions, err := e.etcd().Versions(ctx, []mgmt.Node{n})
	if err != nil || kubeversion.AtLeast(versions[n.ID], etcdBefore37) {
		return err
	}
	if err := e.etcd().MoveLeader(ctx, []mgmt.Node{n}); err != nil {
		return err
	}
	if err := controlplane.SetTag(ctx, n, controlplane.StaticEtcd, etcdBefore37Tag); err != nil {
		return err
	}
	if err := e.kube.WaitStaticPodTag(ctx, n.IP, controlplane.StaticEtcd, atLeast(etcdBefore37)); err != nil {
		return err
	}
	return e.etcd().Await(ctx, e.controlPlane, nil)
}

func atLeast(version kubeversion.Version) func(string) bool {
	return func(tag string) bool { return kubeversion.AtLeast(tag, version) }
}

// runRestoreLeft is runRestoreManifests for nodes that may be dead: the checks, or the tasks that need the node, report it.
func runRestoreLeft(ctx context.Context, e *environment, n mgmt.Node) error {
	err := runRestoreManifests(ctx, e, n)
	if clusternodes.Unreachable(ctx, err) {
		return nil
	}
	return err
}

func runBegin(ctx context.Context, e *environment, n mgmt.Node, _ hop) error {
	return runRestoreManifests(ctx, e, n)
}

func runMoveLeaderAway(ctx context.Context, e *environment, n mgmt.Node, _ hop) error {
	return e.etcd().MoveLeader(ctx, []mgmt.Node{n})
}

// runInstallKubeadm installs the programs that an administrator uses, which are not newer than the API server afterwards.
func runInstallKubeadm(ctx context.Context, e *environment, n mgmt.Node, h hop) error {
	if past, err := h.isPast(ctx, e); past || err != nil {
		return err
	}
	return e.preparationOf(string(h)).UpgradePackages(ctx, n, "kubeadm", "kubectl")
}

// runTryUpgrade checks with kubeadm of the version whether the upgrade would succeed.
func runTryUpgrade(ctx context.Context, e *environment, n mgmt.Node, h hop) error {
	if past, err := h.isPast(ctx, e); past || err != nil {
		return err
	}
	config, err := targetConfiguration(ctx, e, h)
	if err != nil {
		return err
	}
	options, err := e.upgradeOptions(ctx, n)
	if err != nil {
		return err
	}
	return errors.Join(e.refuse(ctx, checkConfiguration, config.Validate(ctx, n)), e.refuse(ctx, checkDryRun, controlplane.TryUpgrade(ctx, n, string(h), options)))
}

// runApply upgrades the first control-plane node, and what the cluster stores. kubeadm is run again if it was ended: only the run that ends
// well has also upgraded the configuration of kubelets.
func runApply(ctx context.Context, e *environment, n mgmt.Node, h hop) error {
	return upgradeNode(ctx, e, n, h, func(o controlplane.UpgradeOptions) error { return controlplane.ApplyUpgrade(ctx, n, string(h), o) })
}

// runUpgradeNode upgrades another control-plane node. kubeadm upgrades it to the version that the cluster stores.
func runUpgradeNode(ctx context.Context, e *environment, n mgmt.Node, h hop) error {
	return upgradeNode(ctx, e, n, h, func(o controlplane.UpgradeOptions) error {
		if err := runCheckConfiguration(ctx, e, n, h); err != nil {
			return err
		}
		return controlplane.UpgradeControlPlane(ctx, n, o)
	})
}

func upgradeNode(ctx context.Context, e *environment, n mgmt.Node, h hop, run func(controlplane.UpgradeOptions) error) error {
	if err := runRestoreManifests(ctx, e, n); err != nil {
		return err
	}
	if err := e.etcd().Await(ctx, e.controlPlane, nil); err != nil {
		return err
	}
	if past, err := h.isPast(ctx, e); past || err != nil {
		return err
	}
	if err := awaitControlPlane(ctx, e); err != nil {
		return err
	}
	options, err := e.upgradeOptions(ctx, n)
	if err != nil {
		return err
	}
	if err := run(options); err != nil {
		return err
	}
	for _, pod := range []string{controlplane.StaticAPIServer, controlplane.StaticControllerManager, controlplane.StaticScheduler} {
		if err := e.kube.WaitStaticPodTag(ctx, n.IP, pod, atLeast(h.version())); err != nil {
			return err
		}
	}
	return controlplane.RemoveBackups(ctx, n)
}

// awaitControlPlane waits until every control-plane node is Ready, which kubeadm requires. A node is not Ready for a while after its API server
// was away, because its kubelet asks only this one.
func awaitControlPlane(ctx context.Context, e *environment) error {
	machines := map[netip.Addr]string{}
	for _, n := range e.controlPlane {
		machines[n.IP] = n.String()
	}
	return mgmt.Within(ctx, e.config.Timeouts.Ready, func(ctx context.Context) error {
		return e.kube.WaitReady(ctx, machines, func(message string) { e.op.Report(ctx, message) })
	})
}

// runCheckConfiguration fails unless the cluster stores the version of the hop or a newer one.
func runCheckConfiguration(ctx context.Context, e *environment, _ mgmt.Node, h hop) error {
	stored, err := storedVersion(ctx, e)
	if err == nil && stored.Compare(h.version()) < 0 {
		err = fmt.Errorf("kubeadm: the ConfigMap kubeadm-config has Kubernetes %s, not %s: the upgrade of the first control-plane node has not ended", stored, h)
	}
	return err
}

// runAwaitAddons waits until kube-proxy has its new image, if kubeadm has installed it.
func runAwaitAddons(ctx context.Context, e *environment, _ mgmt.Node, h hop) error {
	return e.kube.WaitDaemonSetTag(ctx, "kube-system", "kube-proxy", func(tag string) bool {
		v, ok := kubeversion.OfTag(tag)
		return !ok || v.Compare(h.version()) >= 0
	})
}
