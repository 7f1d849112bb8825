package kubespray

import (
	"context"

	"github.com/vnfkit/vnfkit/mgmt"
)

// action does the work of a task on a machine. The machine is the zero Node if the task is for the whole cluster.
type action func(ctx context.Context, d *deployment, n mgmt.Node) error

// repeated returns a task that is not a step: a resumed operation runs it again.
func repeated(name, why string, do action) task {
	return task{Name: name, Why: why, Repeats: true, Do: do}
}

// sometimes returns a task that does something only under a condition, which is known when it runs.
func sometimes(name, why, when string, do action) task {
	return task{Name: name, Why: why, If: when, Do: do}
}

// playbook returns a task that runs a playbook of kubespray.
func playbook(name, why, file string) task {
	return task{Name: name, Why: why, Do: func(ctx context.Context, d *deployment, _ mgmt.Node) error {
		return d.run(ctx, play{step: name, playbook: d.p.Ansible.Root + "/" + file})
	}}
}

// inventoryOf returns a task that writes the inventory of the control-plane nodes and these workers, as the step name.
func inventoryOf(name, why string, workers func(*deployment) []mgmt.Node) task {
	return task{Name: name, Why: why, Do: func(ctx context.Context, d *deployment, _ mgmt.Node) error {
		return d.writeInventory(ctx, name, workers(d))
	}}
}

// ifJoined returns the task for rolling back: it does nothing if no machine that leaves had become a node. The next operation
// writes a new inventory.
func ifJoined(t task) task {
	do := t.Do
	t.If = "a machine that leaves had become a node"
	t.Do = func(ctx context.Context, d *deployment, n mgmt.Node) error {
		if len(d.members) == 0 {
			return nil
		}
		return do(ctx, d, n)
	}
	return t
}

// The Ansible server.
var (
	checkServer    = task{Name: "ansible", Why: "the Ansible server has kubespray, and what it needs", Do: runCheckServer}
	claimDirectory = task{Name: "directory", Why: "the directory of the inventory belongs to this VNF", Do: runClaimDirectory}
	measureMTU     = task{Name: "mtu", Why: "packets of pods fit into the network of the nodes", Do: runMeasureMTU}
	measureMTUOnce = sometimes("mtu", measureMTU.Why, "no earlier operation has measured it", runMeasureMTUOnce)
	findDown       = task{Name: "down", Why: "a playbook fails if one worker of the inventory does not answer", Do: runFindDown}
	writeInventory = inventoryOf("inventory", "the inventory has all nodes that there are after the operation, except workers that are down",
		func(d *deployment) []mgmt.Node { return d.withoutDown(d.workers) })
	writeStaying = inventoryOf("inventory", writeInventory.Why,
		func(d *deployment) []mgmt.Node { return d.withoutDown(d.staying()) })
	writeAll        = sometimes("inventory-before", "remove-node.yml finds the nodes that leave", oneIsReset, runWriteAll)
	forgetRuns      = repeated("forget-runs", "the records of runs are not kept on the Ansible server", runForgetRuns)
	removeDirectory = sometimes("remove-directory", "nothing of the VNF is left on the Ansible server", "the VNF has a directory there", runRemoveDirectory)
)

// oneIsReset is the condition of the tasks that remove nodes by kubespray.
const oneIsReset = "a node that leaves lets us log in"

// Nodes that join.
var (
	recordSettings = repeated("settings", "later operations know the networks of pods and services", runRecordSettings)
	reach          = task{Name: "reach", Why: "the machine lets us log in, and cloud-init has finished",
		Do: func(ctx context.Context, d *deployment, n mgmt.Node) error {
			return n.Reach(ctx, d.op, d.config.Timeouts.Boot)
		}}
	createCluster = playbook("cluster", clusterPlaybook+" makes the machines a cluster", clusterPlaybook)
	findFacts     = task{Name: "find-facts", Why: "releases of kubespray have the playbook that gathers facts in different places", Do: runFindFacts}
	gatherFacts   = sometimes("facts", "tasks of "+scalePlaybook+" on new nodes need facts of all nodes", "this release has a playbook for that", runGatherFacts)
	joinWorkers   = task{Name: "scale", Why: scalePlaybook + " makes the new machines workers", Do: runJoinWorkers}
	awaitReady    = task{Name: "ready", Why: "the new nodes are Ready", Do: runAwaitReady}
)

// Nodes that leave.
var (
	findMembers   = task{Name: "members", Why: "which of the machines are nodes is known before anything is changed", Do: runFindMembers}
	checkAlive    = task{Name: "alive", Why: "a machine that does not answer cannot be reset, and its connections need not end", Do: runCheckAlive}
	recordNode    = sometimes("record-node", "the Node object is known when its machine is gone", "the machine is a node that kubespray does not reset", runRecordNode)
	stopMachine   = sometimes("stop-machine", "pods on a machine that does not answer write to no volume any more", "the node is not Ready", runStopMachine)
	drain         = sometimes("drain", "the pods of the node move to other nodes", "the machine is a node", runDrain)
	awaitDetached = sometimes("detach", "other nodes can attach the volumes of the node's pods", "the machine is a node, and the VIM has not confirmed that it is off", runAwaitDetached)
	removeNodes   = sometimes("remove-node", removePlaybook+" removes the nodes from the cluster and resets their machines", oneIsReset, runRemoveNodes)
	deleteNode    = task{Name: "delete-node", Why: "the machine is gone: Kubernetes may start its pods elsewhere", Do: runDeleteNode}
	forget        = repeated("forget", "connections to machines that go, and their host keys, are not kept", runForget)
)

// Access to the API and to services.
var (
	installBalancer = task{Name: "load-balancer", Why: "the machine is a load balancer", Do: runInstallBalancer}
	route           = task{Name: "routes", Why: "the load balancer leads to all nodes", Do: runRoute}
	routeStaying    = task{Name: "routes", Why: "the load balancer leads to nodes that stay only", Do: runRouteStaying}
	drainRoutes     = sometimes("drain-routes", "connections to the services on nodes that leave have ended", "one of the machines is alive", runDrainRoutes)
	restoreParts    = task{Name: "parts", Why: "the services of CNFs are reached through the new load balancer", Do: runRestoreParts}
	registerVIM     = task{Name: "register-vim", Why: "CNFs can be instantiated on the cluster", Do: runRegisterVIM}
	removeVIM       = task{Name: "remove-vim", Why: "no CNF can be instantiated on the cluster any more", Do: runRemoveVIM}
	removeAccount   = task{Name: "remove-account", Why: "the token of the VIM entry has no effect any more", Do: runRemoveAccount}
)
