package kubeadm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/cluster"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/controlplane"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/kubeversion"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// cordonedState is the prefix of the state keys of nodes that an upgrade has cordoned, by VNFC id. The value is the UID of the Node.
const cordonedState = "cordoned/"

// nodeOf returns the Node object of a machine, and whether the hop has nothing to do on it: its kubelet has the version or a newer one, or
// the control plane has a newer one already and a later hop brings the kubelet there.
func (h hop) nodeOf(ctx context.Context, e *environment, n mgmt.Node) (node cluster.Node, done bool, err error) {
	node, found, err := e.kube.NodeAt(ctx, n.IP)
	if err == nil && !found {
		err = fmt.Errorf("kubeadm: %s is no node of the cluster", n.Label())
	}
	if err != nil {
		return node, false, err
	}
	if kubeversion.AtLeast(node.Status.NodeInfo.KubeletVersion, h.version()) {
		return node, !e.p.newRuntime(e.versions), nil
	}
	past, err := h.isPast(ctx, e)
	return node, past, err
}

// newRuntime reports whether the request asks for a version of containerd.
func (p *clusterParam) newRuntime(v clusterVersions) bool {
	_, given := v.given["packages"]
	return given && p.Packages.ContainerdVersion != ""
}

// runCordon cordons a node, and records that the upgrade has done so, unless the node is cordoned already.
func runCordon(ctx context.Context, e *environment, n mgmt.Node, h hop) error {
	node, done, err := h.nodeOf(ctx, e, n)
	if done || err != nil || node.Spec.Unschedulable {
		return err
	}
	if err := e.op.State().Put(ctx, cordonedState+n.ID, node.UID); err != nil {
		return err
	}
	return e.kube.SetUnschedulable(ctx, node.Name, true)
}

// runUncordon uncordons a node that an upgrade has cordoned.
func runUncordon(ctx context.Context, e *environment, n mgmt.Node, _ hop) error {
	var uid types.UID
	err := e.op.State().Get(ctx, cordonedState+n.ID, &uid)
	if errors.Is(err, vnflcm.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	node, found, err := e.kube.NodeAt(ctx, n.IP)
	if err != nil {
		return err
	}
	if found && node.UID == uid {
		if err := e.kube.SetUnschedulable(ctx, node.Name, false); err != nil {
			return err
		}
	}
	return e.op.State().Delete(ctx, cordonedState+n.ID)
}

// runDrainForUpgrade drains a node. A node whose pods did not leave accepts pods again: it stays as it was.
func runDrainForUpgrade(ctx context.Context, e *environment, n mgmt.Node, h hop) error {
	node, done, err := h.nodeOf(ctx, e, n)
	if done || err != nil {
		return err
	}
	if err := runCordon(ctx, e, n, h); err != nil {
		return err
	}
	err = e.kube.Drain(ctx, node.Name, cluster.DrainOptions{Timeout: e.config.Timeouts.Drain, Policy: e.p.DrainPolicy, Warn: func(err error) {
		e.op.Warn(ctx, fmt.Sprintf("%s is upgraded with pods on it: %v", node.Name, err))
	}})
	if _, blocked := errors.AsType[*cluster.DrainError](err); blocked && ctx.Err() == nil {
		return errors.Join(err, runUncordon(ctx, e, n, h))
	}
	return err
}

// runConfigureKubelet installs kubeadm on a worker, and lets it write the configuration of the kubelet.
func runConfigureKubelet(ctx context.Context, e *environment, n mgmt.Node, h hop) error {
	if _, done, err := h.nodeOf(ctx, e, n); done || err != nil {
		return err
	}
	if err := settle(ctx, e, n); err != nil {
		return err
	}
	if err := e.preparationOf(string(h)).UpgradePackages(ctx, n, "kubeadm", "kubectl"); err != nil {
		return err
	}
	options, err := e.upgradeOptions(ctx, n)
	if err != nil {
		return err
	}
	return controlplane.UpgradeWorker(ctx, n, options)
}

// runRestartKubelet installs the kubelet, and restarts it.
func runRestartKubelet(ctx context.Context, e *environment, n mgmt.Node, h hop) error {
	if _, done, err := h.nodeOf(ctx, e, n); done || err != nil {
		return err
	}
	dropped, err := controlplane.DropKubeletFlags(ctx, n, h.version())
	if err != nil {
		return err
	}
	if len(dropped) > 0 {
		e.op.Warn(ctx, fmt.Sprintf("%s: the kubelet runs without the flags %s, which Kubernetes %s does not have", n.Label(), strings.Join(dropped, ", "), h))
	}
	s, names := e.preparationOf(string(h)), []string{"kubelet"}
	if e.p.newRuntime(e.versions) {
		names = append(names, s.Runtime())
	}
	if err := s.UpgradePackages(ctx, n, names...); err != nil {
		return err
	}
	if err := s.SetPause(ctx, n); err != nil {
		return err
	}
	if err := n.Root().Run(ctx, "systemctl", "daemon-reload"); err != nil {
		return err
	}
	return n.Root().Unit(ctx, "restart", "kubelet")
}

// runAwaitNode waits until a node is Ready with the version, and reports how many nodes have it.
func runAwaitNode(ctx context.Context, e *environment, n mgmt.Node, h hop) error {
	if past, err := h.isPast(ctx, e); past || err != nil {
		return err
	}
	err := e.kube.WaitKubelet(ctx, n.IP, atLeast(h.version()), func(message string) { e.op.Report(ctx, message) })
	if err != nil {
		return err
	}
	return runCountNodes(ctx, e, n)
}

// runCountNodes counts the nodes of the request that have the version of the request.
func runCountNodes(ctx context.Context, e *environment, _ mgmt.Node) error {
	servers, err := e.kube.StaticPodTags(ctx, controlplane.StaticAPIServer)
	if err != nil {
		return err
	}
	nodes, err := e.kube.Nodes(ctx)
	if err != nil {
		return err
	}
	u := e.shape.Upgrade
	changed := u.Kubelets
	if len(changed) == 0 {
		changed = e.shape.ControlPlane
	}
	var count vnflcm.MachineCount
	for _, m := range changed {
		n := e.Node(m)
		i := slices.IndexFunc(nodes, func(node cluster.Node) bool { return node.Address == n.IP })
		kubelet := len(u.Kubelets) == 0 || i >= 0 && kubeversion.AtLeast(nodes[i].Status.NodeInfo.KubeletVersion, u.target())
		server := !u.ControlPlane || !e.isControlPlane(n) || kubeversion.AtLeast(servers[n.IP], u.target())
		if kubelet && server {
			count.Done++
		} else {
			count.Left++
		}
	}
	e.op.Report(ctx, fmt.Sprintf("%d of %d nodes have Kubernetes %s", count.Done, len(changed), u.target()))
	return e.op.Count(ctx, count)
}

// runAwaitStaticPods waits until the static pods of a control-plane node run with its kubelet.
func runAwaitStaticPods(ctx context.Context, e *environment, n mgmt.Node, _ hop) error {
	return e.kube.WaitStaticPods(ctx, n.IP, controlplane.StaticEtcd, controlplane.StaticAPIServer, controlplane.StaticControllerManager, controlplane.StaticScheduler)
}
