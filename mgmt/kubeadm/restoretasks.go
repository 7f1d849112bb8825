package kubeadm

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/clusternodes"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/controlplane"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/members"
)

// ifMember is the condition of tasks on control-plane nodes that stay.
const ifMember = "the node answers"

var (
	chooseSource = task{Name: "restore-source", Why: "the data that are restored are chosen before a machine is changed", Do: runChooseSource}
	readSource   = repeated("restore-choice", "the tasks read which data were chosen", runReadSource)

	saveSnapshot = step("restore-snapshot", "the node with the latest data has a snapshot of them", installLimit, runSaveSnapshot)
	copySnapshot = restoreStep("restore-copy", "each member is restored from the same snapshot", "another node has the snapshot", func(ctx context.Context, e *environment, n mgmt.Node) error {
		if source, found := e.source(); found && source.ID != n.ID {
			return controlplane.CopySnapshot(ctx, source, n)
		}
		return nil
	})
	uploadSnapshot = restoreStep("restore-copy", "the node has the data of the snapshot", ifMember, func(ctx context.Context, e *environment, n mgmt.Node) error {
		return e.readSnapshot(ctx, func(from io.Reader, _ []controlplane.File) error { return controlplane.WriteSnapshot(ctx, n, from) })
	})
	unpackSnapshot = restoreStep("restore-unpack", "etcdutl makes the data of the member, with later revisions than any client has seen", ifMember, func(ctx context.Context, e *environment, n mgmt.Node) error {
		if e.restored.Of("").Snapshot != "" {
			image, err := controlplane.EtcdImage(ctx, n)
			if err != nil {
				return err
			}
			return e.restored.Of("").restore().UnpackWith(ctx, n, image)
		}
		if err := controlplane.ResumeEtcd(ctx, n); err != nil {
			return err
		}
		return e.restored.Of("").restore().Unpack(ctx, n)
	})
	stopControlPlane = restoreStep("restore-stop", "nothing of the control plane runs while its data are replaced", ifMember, func(ctx context.Context, _ *environment, n mgmt.Node) error {
		return controlplane.StopStatic(ctx, n, controlplane.StaticPods...)
	})
	replaceData = onMember(step("restore-data", "the restored data are in place; those before are renamed and stay", installLimit, func(ctx context.Context, e *environment, n mgmt.Node) error {
		return e.restored.Of("").restore().Replace(ctx, n)
	}))
	startRestoredEtcd = started("restore-etcd", "etcd starts with the restored data", controlplane.StaticEtcd)
	awaitRestoredEtcd = step("restore-members", "etcd has a quorum, of the nodes that stay", readyLimit, runAwaitRestored)
	startRestoredAPI  = started("restore-api", "the API answers", controlplane.StaticAPIServer)

	startRestoredControllers = started("restore-controllers", "the controllers begin when the API answers", controlplane.StaticControllerManager, controlplane.StaticScheduler)

	restoreVolumes  = step("persistent-volumes", "pods can claim the volumes of the storage server; volumes that the snapshot has at another address stay so", readyLimit, runRestoreVolumes)
	restartKubelet  = step("restart-kubelet", "the kubelet reads all pods again: its own can be later than the restored ones", twoMinutes, runRestartKubeletOf)
	restartNetwork  = step("restart-network", "kube-proxy, the pod network and CoreDNS read the restored objects", twoMinutes, runRestartNetwork)
	deleteLostNodes = step("delete-lost-nodes", "Kubernetes starts the pods of replaced machines elsewhere", twoMinutes, runDeleteLostNodes)
	forgetSource    = repeated("forget-choice", "the choice of the data is not kept", runForgetSource)
	compareUsers    = repeated("compare", "VNF instances on the cluster that differ from their records are named in warnings", runCompareUsers)
)

// onMember returns a task for the nodes that have members.
func onMember(t task) task {
	t.If = ifMember
	return ifRestored(t)
}

// restoreStep returns a task on a control-plane node that stays. It does nothing on a node without a member, and if Replace has begun on the
// node.
func restoreStep(name, why, condition string, do action) task {
	t := step(name, why, installLimit, func(ctx context.Context, e *environment, n mgmt.Node) error {
		done, err := e.restored.Of("").restore().IsDone(ctx, n)
		if done || err != nil {
			return err
		}
		return do(ctx, e, n)
	})
	t.If = condition
	return ifRestored(t)
}

// ifRestored returns a task that leaves out nodes without a member: a check that the request has passed over found that they do not answer.
func ifRestored(t task) task {
	do := t.Do
	t.Do = func(ctx context.Context, e *environment, n mgmt.Node) error {
		if !e.isRestored(n) {
			return nil
		}
		return do(ctx, e, n)
	}
	return t
}

// source returns the node whose data are restored.
func (e *environment) source() (n mgmt.Node, found bool) {
	i := slices.IndexFunc(e.up, func(m mgmt.Node) bool { return m.ID == e.restored.Of("").Source })
	if i < 0 {
		return n, false
	}
	return e.up[i], true
}

// runSaveSnapshot writes the snapshot, unless the data of the node have been replaced.
func runSaveSnapshot(ctx context.Context, e *environment, _ mgmt.Node) error {
	n, found := e.source()
	if !found {
		return nil
	}
	done, err := e.restored.Of("").restore().IsDone(ctx, n)
	if done || err != nil {
		return err
	}
	if err := controlplane.ResumeEtcd(ctx, n); err != nil {
		return err
	}
	return members.Save(ctx, n, controlplane.SnapshotFile)
}

func (e *environment) isRestored(n mgmt.Node) bool {
	return slices.ContainsFunc(e.restored.Of("").Members, func(m controlplane.RestoredMember) bool { return m.VNFC == n.ID })
}

// started returns the task that starts static pods that stopControlPlane has stopped. The last ones are started when the API answers.
func started(name, why string, pods ...string) task {
	t := step(name, why, readyLimit, func(ctx context.Context, _ *environment, n mgmt.Node) error {
		if err := controlplane.StartStatic(ctx, n, pods...); err != nil {
			return err
		}
		switch pods[0] {
		case controlplane.StaticAPIServer:
			return controlplane.AwaitAPI(ctx, n)
		case controlplane.StaticControllerManager:
			return controlplane.RemoveSnapshot(ctx, n)
		}
		return nil
	})
	return onMember(t)
}

func runAwaitRestored(ctx context.Context, e *environment, _ mgmt.Node) error {
	restored := slices.DeleteFunc(slices.Clone(e.up), func(n mgmt.Node) bool { return !e.isRestored(n) })
	return e.etcd().Await(ctx, restored, e.controlPlane)
}

// runRestartKubeletOf restarts the kubelet of a node that stays. A machine that does not answer may be dead, and needs no kubelet then.
func runRestartKubeletOf(ctx context.Context, e *environment, n mgmt.Node) error {
	err := n.Root().Unit(ctx, "restart", "kubelet")
	if err == nil || ctx.Err() != nil {
		return err
	}
	e.op.Warn(ctx, fmt.Sprintf("the kubelet of %s was not restarted, and may run pods that the restored cluster does not have: heal the machine, or restart it: %v", n.Name, err))
	return nil
}

// runRestartNetwork replaces the pods by which nodes reach pods and services.
func runRestartNetwork(ctx context.Context, e *environment, _ mgmt.Node) error {
	manifest, err := e.networkManifest()
	if err != nil {
		return err
	}
	return e.kube.RestartSystem(ctx, manifest, e.op.ID)
}

// runDeleteLostNodes deletes the Node objects of machines that the VNF has no more, before new ones join, which can have the same names. Nodes that the
// VNF has never had stay.
func runDeleteLostNodes(ctx context.Context, e *environment, _ mgmt.Node) error {
	nodes, err := e.kube.Nodes(ctx)
	if err != nil {
		return err
	}
	present := clusternodes.Without(e.nodes(), e.replaced(e.nodes()))
	if e.shape.Rebuilds {
		present = append(present, e.controlPlane[0])
	}
	for _, node := range nodes {
		stays := slices.ContainsFunc(present, func(n mgmt.Node) bool { return n.IP == node.Address })
		if stays || !slices.Contains(e.restored.Of("").Lost, node.Address) {
			continue
		}
		if err := e.kube.DeleteNode(ctx, node.Name, node.UID); err != nil {
			return err
		}
	}
	return nil
}

// runRestoreVolumes registers the volumes of a new storage server. The address of a volume that the snapshot has cannot be changed.
func runRestoreVolumes(ctx context.Context, e *environment, _ mgmt.Node) error {
	err := runRegisterVolumes(ctx, e, mgmt.Node{})
	if err == nil || ctx.Err() != nil {
		return err
	}
	e.op.Warn(ctx, fmt.Sprintf("the persistent volumes of the storage server are as in the snapshot: %v", err))
	return nil
}

// runCompareUsers warns of VNF instances on the cluster that differ from their records. It removes none of their resources.
func runCompareUsers(ctx context.Context, e *environment, _ mgmt.Node) error {
	findings, err := e.op.InspectUsers(ctx)
	if err != nil {
		return err
	}
	for _, f := range findings {
		e.op.Warn(ctx, fmt.Sprintf("after the restore: VNF instance %s: %s %s %s is %s: %s", f.InstanceID, f.Resource, f.ID, f.Name, f.Kind, f.Detail))
	}
	return nil
}
