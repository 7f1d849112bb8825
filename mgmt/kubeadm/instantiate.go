package kubeadm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/clusternodes"
	"github.com/vnfkit/vnfkit/mgmt/internal/clusterparam"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// runRecordSettings records the settings of the cluster for later operations.
func runRecordSettings(ctx context.Context, e *environment, _ mgmt.Node) error {
	if err := e.checkScriptNames(); err != nil {
		return err
	}
	settings := clusterparam.Settings{PodCIDR: e.p.Master.PodCIDR, ClusterCIDR: e.p.Master.ClusterCIDR, KubernetesVersion: e.p.KubernetesVersion}
	return errors.Join(noteEndpoint(ctx, e), settings.Record(ctx, e.op))
}

func (d *environment) isMaster(n mgmt.Node) bool {
	return len(clusternodes.Among(d.masters, []vnflcm.VNFC{n.VNFC})) > 0
}

func runApplyNetwork(ctx context.Context, e *environment, _ mgmt.Node) error {
	manifest, err := e.networkManifest()
	if err != nil {
		return err
	}
	return e.kube.Apply(ctx, manifest)
}

// runAwaitReady waits until the new nodes are Ready. In a new cluster these are all nodes.
func runAwaitReady(ctx context.Context, e *environment, _ mgmt.Node) error {
	nodes := e.nodes()
	if !e.makesCluster() {
		nodes = clusternodes.Among(nodes, slices.Concat(e.op.Change.Added, e.op.Change.Replaced))
	}
	return clusternodes.AwaitReady(ctx, e.op, e.kube, nodes, e.config.Timeouts.Ready)
}

// runLabel sets the labels that a kubelet may not set. If a script has set up the node, runLabel also sets its taints.
func runLabel(ctx context.Context, e *environment, n mgmt.Node) error {
	labels, taints := e.nodeLabels(n), e.taintsAfterScript(n)
	if len(labels) == 0 && len(taints) == 0 {
		return nil
	}
	return n.Do(ctx, e.op, "labels", time.Minute, func(ctx context.Context) error {
		node, found, err := e.kube.NodeAt(ctx, n.IP)
		if err == nil && !found {
			err = fmt.Errorf("kubeadm: no node has the address %s", n.IP)
		}
		if err != nil {
			return err
		}
		if err := e.kube.SetLabels(ctx, node.Name, labels); err != nil {
			return err
		}
		return e.kube.SetTaints(ctx, node.Name, taints)
	})
}
