package kubeadm

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/nodedrain"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/controlplane"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/nodeprep"
)

// action does the work of a task on a machine. The machine is the zero Node if the task is for the whole cluster.
type action func(ctx context.Context, e *environment, n mgmt.Node) error

// step returns a task whose action is one step with this name in the journal, bounded by limit.
func step(name, why string, limit func(Timeouts) time.Duration, do action) task {
	return task{Name: name, Why: why, Do: func(ctx context.Context, e *environment, n mgmt.Node) error {
		return n.Do(ctx, e.op, name, limit(e.config.Timeouts), func(ctx context.Context) error { return do(ctx, e, n) })
	}}
}

// repeated returns a task that is not a step: a resumed operation runs it again.
func repeated(name, why string, do action) task {
	return task{Name: name, Why: why, Repeats: true, Do: do}
}

// inQuorumOrder returns the task for leaving control-plane nodes. It runs on the nodes in the order that decideQuorum has
// returned.
func inQuorumOrder(t task) task {
	do := t.Do
	t.Why += "; quorum decides which node is next"
	t.Do = func(ctx context.Context, e *environment, n mgmt.Node) error { return do(ctx, e, e.inQuorumOrder(n)) }
	return t
}

func installLimit(t Timeouts) time.Duration { return t.Install }
func readyLimit(t Timeouts) time.Duration   { return t.Ready }
func oneMinute(Timeouts) time.Duration      { return time.Minute }
func twoMinutes(Timeouts) time.Duration     { return 2 * time.Minute }

// Machines.
var (
	reach = task{Name: "reach", Why: "the machine lets us log in, and cloud-init has finished",
		Do: func(ctx context.Context, e *environment, n mgmt.Node) error {
			return n.Reach(ctx, e.op, e.config.Timeouts.Boot)
		}}
	checkPlatform   = step("platform", "the operating system is one that the driver knows", installLimit, on(nodeprep.CheckPlatform))
	checkPackages   = step("package-sources", "the machine has the packages of a node, or can install them", installLimit, runCheckPackages)
	writeHosts      = step("hosts", "the hosts file has all nodes", installLimit, runWriteHosts)
	updateHosts     = step("hosts", "the hosts file has all nodes that there are after the operation", oneMinute, runUpdateHosts)
	setHostName     = step("hostname", "the host name is the name of the node", installLimit, on(nodeprep.SetHostName))
	setUpSystem     = step("system", "swap is off, kernel modules and settings are those of a node", installLimit, prepares(nodeprep.Settings.SetUpSystem))
	installPackages = step("packages", "kubelet, kubeadm, kubectl and containerd have the version of the cluster", installLimit, prepares(nodeprep.Settings.InstallPackages))
	setUpRuntime    = step("runtime", "containerd is set up for the kubelet", installLimit, prepares(nodeprep.Settings.SetUpRuntime))
	writeUserFiles  = step("kubeadm-files", "patches of kubeadm and files of the control plane are where kubeadm and the static pods read them", installLimit, runWriteUserFiles)
	uploadScript    = step("script", "the package's script is on the machine", installLimit, runUploadScript)
)

// The control plane and its nodes.
var (
	recordSettings    = repeated("settings", "later operations know the networks, the version and the API's address", runRecordSettings)
	checkEndpoint     = repeated("endpoint", "the API is where the nodes of the cluster look for it", runCheckEndpoint)
	readCluster       = task{Name: "cluster", Why: "a running control-plane node tells the version, the CA and the address of the API", Do: runReadCluster}
	initCluster       = task{Name: "init", Why: "kubeadm init makes the first control-plane node", Do: runInitCluster}
	revokeTokens      = step("revoke-tokens", "no machine can join with the token that kubeadm init makes", oneMinute, runRevokeTokens)
	applyNetwork      = step("network", "the cluster has a pod network", readyLimit, runApplyNetwork)
	joinWorker        = task{Name: "join", Why: "kubeadm join makes the machine a worker", Do: runJoinWorker}
	joinControlPlane  = task{Name: "join", Why: "kubeadm join makes the machine a control-plane node and adds its etcd member", Do: runJoinControlPlane}
	revokeCredentials = task{Name: "revoke-credentials", Why: "no machine can join with the tokens and certificates of this operation",
		Repeats: true, Cleanup: true, Do: runRevokeCredentials}
	awaitReady = task{Name: "ready", Why: "the new nodes are Ready", Do: runAwaitReady}
	label      = task{Name: "labels", Why: "the Node has the labels and taints that its kubelet may not set",
		If: "the request gives labels or taints, or the VIM tells where the machine is", Do: runLabel}
	decideQuorum = task{Name: "quorum", Why: "etcd keeps its majority without these nodes; the result is the order in which they leave",
		Do: runDecideQuorum}
	saveBefore       = step("snapshot", "the data of etcd can be restored; a snapshot that fails does not stop the heal", saveLimit, runSaveBefore)
	saveBeforeChange = step("snapshot", "the data of etcd can be restored; without a snapshot the change stops", installLimit, runSaveBeforeChange)
	// The two tasks that remove a member are the same step. Which one does it depends on record-node.
	removeDeadMember = task{Name: "remove-member", Why: "etcd does not wait for a member that has ended", If: "the node is not Ready", Do: runRemoveDeadMember}
	moveLeader       = task{Name: "move-leader", Why: "etcd needs no election when the member is removed", If: "the node is Ready", Do: runMoveLeader}
	removeLiveMember = task{Name: "remove-member", Why: "the kubelet needs the API server of its node, which ends with the member, until the pods have left",
		If: "the node is Ready", Do: runRemoveLiveMember}
	awaitMembers = step("members", "the new node is a healthy voting member of etcd before the next one joins", readyLimit, runAwaitMembers)
	reset        = step("reset", "kubeadm reset ends what runs on the machine", oneMinute, runReset)
)

// notOff is the condition of the task that waits for volumes. A machine that is off writes to none.
const notOff = "the VIM has not confirmed that the machine is off"

// Nodes that leave.
var (
	recordNode  = task{Name: "record-node", Why: "the Node object is known when its machine is gone", Do: leaves((*nodedrain.Leaving).Record)}
	stopMachine = task{Name: "stop-machine", Why: "pods on a machine that does not answer write to no volume any more", If: "the node is not Ready",
		Do: leaves((*nodedrain.Leaving).Stop)}
	drain         = task{Name: "drain", Why: "the pods of the node move to other nodes", Do: forced((*nodedrain.Leaving).Drain)}
	awaitDetached = task{Name: "detach", Why: "other nodes can attach the volumes of the node's pods", If: notOff, Do: forced((*nodedrain.Leaving).AwaitDetached)}
	drainAll      = task{Name: "drain", Why: "the pods of the node end as they would like to", Do: runDrainAll}
	deleteNode    = task{Name: "delete-node", Why: "the machine is gone: Kubernetes may start its pods elsewhere", Do: leaves((*nodedrain.Leaving).Delete)}
	forget        = repeated("forget", "connections to machines that go, their host keys and unfinished joins are not kept", runForget)
)

// Certificates.
var (
	checkEtcd = repeated("etcd", "every member of etcd is healthy: the renewal restarts one after the other", runCheckEtcd)

	readConfiguration  = task{Name: "configuration", Why: "kubeadm renews certificates as the cluster is configured", Do: runReadConfiguration}
	renewNode          = step("renew", "kubeadm renews the certificates of the node", twoMinutes, runRenewNode)
	restartEtcd        = step("restart-etcd", "etcd uses the new certificates", readyLimit, runRestartEtcd)
	awaitRestarted     = step("members", "every member of etcd is healthy before the next one is restarted", readyLimit, runAwaitMembers)
	restartAPIServer   = step("restart-api-server", "the API server uses the new certificates", readyLimit, runRestartAPIServer)
	restartControllers = step("restart-controllers", "the controller manager and the scheduler use the new certificates", readyLimit, runRestartControllers)
	copyAdmin          = step("kubeconfig", "copies of admin.conf of root and the login user have the new certificate", oneMinute, on(controlplane.CopyAdmin))
	checkKubelet       = repeated("kubelet", "the kubelet renews its certificate by itself", runCheckKubelet)
)

// leadAway returns the task that leads clients of the API to all control-plane nodes but one, by its position. suffix ends the name of the step.
func leadAway(i int, suffix string) task {
	return step(fmt.Sprintf("lead-away-%d%s", i+1, suffix), "clients of the API use the other control-plane nodes", installLimit, func(ctx context.Context, e *environment, n mgmt.Node) error {
		return leadAPI(ctx, e, n, slices.Delete(slices.Clone(e.controlPlane), i, i+1))
	})
}

// leadBack returns the task that leads clients of the API to all control-plane nodes.
func leadBack(i int, suffix string) task {
	return step(fmt.Sprintf("lead-back-%d%s", i+1, suffix), "clients of the API use all control-plane nodes", installLimit, func(ctx context.Context, e *environment, n mgmt.Node) error {
		return leadAPI(ctx, e, n, e.controlPlane)
	})
}

// Access to the API.
var (
	setUpVirtualAddress = step("load-balancer", "haproxy and keepalived serve the API at the virtual address", installLimit, runSetUpVirtualAddress)
	rebalance           = task{Name: "balance", Why: "haproxy and keepalived know the control-plane nodes that there are from now on", Do: runRebalance}
	installBalancer     = task{Name: "load-balancer", Why: "the machine is a load balancer", Do: runInstallBalancer}
	routeFirst          = task{Name: "first-routes", Why: "the API is reached through the load balancer before nodes join", Do: runRouteFirst}
	route               = task{Name: "routes", Why: "the load balancer leads to all nodes", Do: runRoute}
	routeStaying        = task{Name: "routes", Why: "the load balancer leads to nodes that stay only", Do: runRouteStaying}
	checkAlive          = task{Name: "alive", Why: "the connections of a node that is dead need not end", Do: runCheckAlive}
	drainRoutes         = task{Name: "drain-routes", Why: "connections to the services on nodes that leave have ended", If: "one of the nodes is alive",
		Do: runDrainRoutes}
	restoreParts = task{Name: "parts", Why: "the services of CNFs are reached through the new load balancer", Do: runRestoreParts}
)

// Parts of the cluster other than nodes.
var (
	connectRegistries  = step("registries", "the node pulls from the private registries", installLimit, runConnectRegistries)
	changeRegistriesOf = step("registries", "the node pulls from the registries that the request gives", installLimit, runChangeRegistriesOf)
	keepRegistries     = repeated("keep-registries", "later operations know the registries", runKeepRegistries)
	exportVolumes      = step("nfs-server", "the storage server mounts its volumes and exports directories over NFS", installLimit, runExportVolumes)
	installNFSClient   = step("nfs-client", "kubelets can mount NFS", installLimit, runInstallNFSClient)
	registerVolumes    = step("persistent-volumes", "pods can claim the volumes of the storage server", readyLimit, runRegisterVolumes)
	releaseVolumes     = step("release-volumes", "the volumes of the storage server are bound to no claim; their address cannot be changed", twoMinutes, runReleaseVolumes)
	installHelm        = task{Name: "helm", Why: "the package's script installs Helm", Do: runInstallHelm}
	restoreHelm        = step("restore-helm", "the new node has the repositories and charts of a node that stayed", installLimit, runRestoreHelm)
	registerVIM        = task{Name: "register-vim", Why: "CNFs can be instantiated on the cluster", Do: runRegisterVIM}
	removeVIM          = task{Name: "remove-vim", Why: "no CNF can be instantiated on the cluster any more", Do: runRemoveVIM}
	removeAccount      = task{Name: "remove-account", Why: "the token of the VIM entry has no effect any more", Do: runRemoveAccount}
)
