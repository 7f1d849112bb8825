package kubeadm

import (
	"context"
	"time"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/nodeprep"
)

// action does the work of a task on a machine. The machine is the zero Node if the task is for the whole cluster.
type action func(ctx context.Context, e *environment, n mgmt.Node) error

// task is one kind of task: its description in a plan, and the code that runs it.
type task struct {
	name, why        string
	when             string // the condition under which the task does something; "" is always
	repeats, cleanup bool
	alone            string
	do               action
}

// step returns a task whose action is one step with this name in the journal, bounded by limit.
func step(name, why string, limit func(Timeouts) time.Duration, do action) task {
	return task{name: name, why: why, do: func(ctx context.Context, e *environment, n mgmt.Node) error {
		return n.Do(ctx, e.op, name, limit(e.config.Timeouts), func(ctx context.Context) error { return do(ctx, e, n) })
	}}
}

// repeated returns a task that is not a step: a resumed operation runs it again.
func repeated(name, why string, do action) task {
	return task{name: name, why: why, repeats: true, do: do}
}

// inQuorumOrder returns the task for leaving control-plane nodes. It runs on the nodes in the order that decideQuorum has
// returned.
func inQuorumOrder(t task) task {
	do := t.do
	t.why += "; quorum decides which node is next"
	t.do = func(ctx context.Context, e *environment, n mgmt.Node) error { return do(ctx, e, e.inQuorumOrder(n)) }
	return t
}

func installLimit(t Timeouts) time.Duration { return t.Install }
func readyLimit(t Timeouts) time.Duration   { return t.Ready }
func oneMinute(Timeouts) time.Duration      { return time.Minute }
func twoMinutes(Timeouts) time.Duration     { return 2 * time.Minute }

// Machines.
var (
	reach = task{name: "reach", why: "the machine lets us log in, and cloud-init has finished",
		do: func(ctx context.Context, e *environment, n mgmt.Node) error {
			return n.Reach(ctx, e.op, e.config.Timeouts.Boot)
		}}
	checkPlatform   = step("platform", "the operating system is one that the driver knows", installLimit, on(nodeprep.CheckPlatform))
	checkPackages   = step("package-sources", "the machine has the packages of a node, or can install them", installLimit, prepares(nodeprep.Settings.CheckPackages))
	writeHosts      = step("hosts", "the hosts file has all nodes", installLimit, runWriteHosts)
	updateHosts     = step("hosts", "the hosts file has all nodes that there are after the operation", oneMinute, runUpdateHosts)
	setHostName     = step("hostname", "the host name is the name of the node", installLimit, on(nodeprep.SetHostName))
	setUpSystem     = step("system", "swap is off, kernel modules and settings are those of a node", installLimit, prepares(nodeprep.Settings.SetUpSystem))
	installPackages = step("packages", "kubelet, kubeadm, kubectl and containerd have the version of the cluster", installLimit, prepares(nodeprep.Settings.InstallPackages))
	setUpRuntime    = step("runtime", "containerd is set up for the kubelet", installLimit, prepares(nodeprep.Settings.SetUpRuntime))
	uploadScript    = step("script", "the package's script is on the machine", installLimit, runUploadScript)
)

// The control plane and its nodes.
var (
	recordSettings = repeated("settings", "later operations know the networks, the version and the API's address", runRecordSettings)
	checkEndpoint  = repeated("endpoint", "the API is where the nodes of the cluster look for it", runCheckEndpoint)
	readCluster    = task{name: "cluster", why: "a running control-plane node tells the version, the CA and the address of the API", do: runReadCluster}
	initCluster    = task{name: "init", why: "kubeadm init makes the first control-plane node", do: runInitCluster}
	revokeTokens   = step("revoke-tokens", "no machine can join with the token that kubeadm init makes", oneMinute, runRevokeTokens)
	applyNetwork   = step("network", "the cluster has a pod network", readyLimit, runApplyNetwork)
	joinWorker     = task{name: "join", why: "kubeadm join makes the machine a worker", do: runJoinWorker}
	joinMaster     = task{name: "join", why: "kubeadm join makes the machine a control-plane node and adds its etcd member", alone: "etcd",
		do: runJoinMaster}
	revokeCredentials = task{name: "revoke-credentials", why: "no machine can join with the tokens and certificates of this operation",
		repeats: true, cleanup: true, do: runRevokeCredentials}
	awaitReady = task{name: "ready", why: "the new nodes are Ready", do: runAwaitReady}
	label      = task{name: "labels", why: "the Node has the labels and taints that its kubelet may not set",
		when: "the request gives labels or taints, or the VIM tells where the machine is", do: runLabel}
	decideQuorum = task{name: "quorum", why: "etcd keeps its majority without these nodes; the result is the order in which they leave",
		do: runDecideQuorum}
	removeMember = step("remove-member", "etcd does not wait for a member that is about to end", twoMinutes, runRemoveMember)
	awaitMembers = step("members", "the new node is a healthy voting member of etcd before the next one joins", readyLimit, runAwaitMembers)
	reset        = step("reset", "kubeadm reset ends what runs on the machine", oneMinute, runReset)
)

// Nodes that leave.
var (
	recordNode  = task{name: "record-node", why: "the Node object is known when its machine is gone", do: runRecordNode}
	stopMachine = task{name: "stop-machine", why: "pods on a machine that does not answer write to no volume any more", when: "the node is not Ready",
		do: runStopMachine}
	drain      = task{name: "drain", why: "the pods of the node move to other nodes", do: runDrain}
	drainAll   = task{name: "drain", why: "the pods of the node end as they would like to", do: runDrainAll}
	deleteNode = task{name: "delete-node", why: "the machine is gone: Kubernetes may start its pods elsewhere", do: runDeleteNode}
	forget     = repeated("forget", "connections to machines that go, their host keys and unfinished joins are not kept", runForget)
)

// Access to the API.
var (
	setUpVirtualAddress = step("load-balancer", "haproxy and keepalived serve the API at the virtual address", installLimit, runSetUpVirtualAddress)
	rebalance           = task{name: "balance", why: "haproxy and keepalived know the control-plane nodes that there are from now on", do: runRebalance}
	installBalancer     = task{name: "load-balancer", why: "the machine is a load balancer", do: runInstallBalancer}
	routeFirst          = task{name: "first-routes", why: "the API is reached through the load balancer before nodes join", do: runRouteFirst}
	route               = task{name: "routes", why: "the load balancer leads to all nodes", do: runRoute}
	routeStaying        = task{name: "routes", why: "the load balancer leads to nodes that stay only", do: runRouteStaying}
	checkAlive          = task{name: "alive", why: "the connections of a node that is dead need not end", do: runCheckAlive}
	drainRoutes         = task{name: "drain-routes", why: "connections to the services on nodes that leave have ended", when: "one of the nodes is alive",
		do: runDrainRoutes}
	restoreParts = task{name: "parts", why: "the services of CNFs are reached through the new load balancer", do: runRestoreParts}
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
	installHelm        = task{name: "helm", why: "the package's script installs Helm", do: runInstallHelm}
	restoreHelm        = step("restore-helm", "the new node has the repositories and charts of a node that stayed", installLimit, runRestoreHelm)
	registerVIM        = task{name: "register-vim", why: "CNFs can be instantiated on the cluster", do: runRegisterVIM}
	removeVIM          = task{name: "remove-vim", why: "no CNF can be instantiated on the cluster any more", do: runRemoveVIM}
	removeAccount      = task{name: "remove-account", why: "the token of the VIM entry has no effect any more", do: runRemoveAccount}
)
