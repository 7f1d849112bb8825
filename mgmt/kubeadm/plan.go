package kubeadm

import (
	"github.com/vnfkit/vnfkit/mgmt/internal/plan"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// This file defines the tasks of each operation, their machines and their order. Each operation is one function from the shape
// of the cluster, which has no connection to any machine, to a plan. tasks.go says what each task is for and which code runs it.

var operations = plan.Operations[clusterShape, *environment]{Instantiate: instantiate, ScaleOut: scaleOut, ScaleIn: scaleIn, Heal: heal, Terminate: terminate, Operate: operate,
	Maintenance:   map[vnflcm.MaintenanceTask]func(clusterShape) *operationPlan{vnflcm.RenewCertificates: renewCertificates, vnflcm.Upgrade: upgrade},
	ChangePackage: changePackage, Revert: revert}

// instantiate creates a cluster of new machines.
func instantiate(c clusterShape) *operationPlan {
	p := &planner{clusterShape: c}
	p.Begin(vnflcm.InstantiateEnd)
	p.makeCluster()
	return &p.operationPlan
}

// heal replaces machines. In heal_start the old machines may be dead; in heal_end new machines run in their place. So the
// driver asks only machines that stay about the cluster. If the request names no machines, Heal replaces all of them and
// creates a new cluster.
func heal(c clusterShape) *operationPlan {
	switch {
	case c.Rebuilds:
		return rebuild(c)
	case c.Restores:
		return restore(c)
	}
	p := &planner{clusterShape: c}
	p.Begin(vnflcm.HealStart)
	if c.healsNodes() {
		p.Once(nameLocalVolumes)
	}
	if c.Whole {
		p.Once(forget, p.Once(removeVIM), p.All())
		p.Begin(vnflcm.HealEnd)
		p.makeCluster(p.changeRegistries())
		return &p.operationPlan
	}
	p.letGo()
	p.Begin(vnflcm.HealEnd)
	deleted := p.Each(plan.Replaced(c.ControlPlane, c.Workers), deleteNode)
	changed := p.changeRegistries(deleted)
	if len(plan.Replaced(c.Balancers)) > 0 || c.healsNodes() {
		p.healBalancers(p.Once(checkEndpoint, changed))
	}
	if c.healsNodes() {
		p.healNodes(p.Once(readCluster, p.All()))
	}
	if len(plan.Replaced(c.Balancers)) > 0 && len(plan.Replaced(c.ControlPlane)) == 0 {
		p.Once(registerVIM, p.All()) // a replaced load balancer may have another floating address
	}
	p.healStorage(changed)
	return &p.operationPlan
}

// terminate removes the cluster from the VIM registry before its machines are removed.
func terminate(c clusterShape) *operationPlan {
	p := &planner{clusterShape: c}
	p.Begin(vnflcm.TerminateStart)
	closed := p.Once(removeVIM)
	if c.Graceful {
		p.Each(c.Workers, drainAll, closed)
	}
	p.Once(removeAccount, p.All())

	p.Begin(vnflcm.TerminateEnd) // a VNFD may leave out terminate_start
	p.Once(forget, p.Once(removeVIM))
	return &p.operationPlan
}

// renewCertificates renews the certificates of one control-plane node after the other, while the other nodes serve the API. Certificates
// that have ended are renewed before, on all nodes at the same time.
func renewCertificates(c clusterShape) *operationPlan {
	p := &planner{clusterShape: c}
	p.Begin(vnflcm.MaintenancePhase)
	ended := p.Once(findEnded)
	renewed := p.Once(readConfiguration, p.Once(checkEtcd, p.renewEnded(ended)))
	for i, n := range p.ControlPlane {
		away := p.leadAPI(leadAway(i, ""), renewed)
		serving := p.Chain(n, []task{renewNode, restartEtcd, awaitRestarted, restartAPIServer, restartControllers}, away)
		renewed = p.leadAPI(leadBack(i, ""), serving)
	}
	p.Each(p.ControlPlane, copyAdmin, renewed)
	p.Each(p.ControlPlane, checkKubelet, renewed)
	p.Each(p.ControlPlane, checkMachine)
	for _, n := range p.Workers {
		p.On(n, checkKubelet, renewed, p.On(n, renewKubelet, ended))
	}
	p.Once(registerVIM, renewed)
	p.Once(forgetEnded, p.All())
	return &p.operationPlan
}

// leadAPI adds a task on each machine that leads clients to the API servers. A cluster of one control-plane node has no other node to
// lead clients to, and the driver does not set up the load balancer of a script or of api_endpoint.
func (p *planner) leadAPI(t task, after tasks) tasks {
	machines := p.Balancers
	if p.Virtual {
		machines = p.ControlPlane
	}
	if len(machines) == 0 || len(p.ControlPlane) == 1 {
		return after
	}
	return p.Each(machines, t, after)
}

// makeCluster sets up all machines concurrently. The first control-plane node is initialised through the load balancer of
// the VNF, if there is one. The remaining nodes join as soon as they are prepared.
func (p *planner) makeCluster(after ...tasks) {
	recorded := p.Once(recordSettings, after...)
	nodes := p.nodes()
	prepared := p.prepare(nodes, recorded)
	routed := p.balancers(p.Balancers, recorded)
	up := p.initialise(nodes[0], prepared[0], routed)

	ended := p.joinRest(nodes, prepared, up)
	for _, n := range p.Storage {
		ended = append(ended, p.exportVolumes(n, recorded)...)
	}
	ready := p.finish(p.nodes(), up, ended, routed)
	if p.Volumes {
		p.Once(registerVolumes, ready)
	}
	if p.Helm {
		p.Each(p.ControlPlane, installHelm, ready)
	}
	p.Once(registerVIM, p.All())
}

// joinRest has all nodes but the first one join the cluster that the first one has made. prepared are the tasks that prepare the nodes.
func (p *planner) joinRest(nodes []machine, prepared []tasks, up tasks) (joined tasks) {
	for i, n := range nodes[1:] {
		join := p.join
		if p.isControlPlane(n) {
			join = p.joinControlPlane
		}
		joined = append(joined, join(n, prepared[i+1], up)...)
	}
	return joined
}

// prepare prepares machines side by side, and returns the last task of each. Findings refuse an operation that adds machines: then no node is
// prepared before all of them have been checked. The preflight compares the machines of a new cluster with the first one.
func (p *planner) prepare(machines []machine, after tasks) []tasks {
	out := make([]tasks, len(machines))
	var first tasks
	for i, n := range machines {
		reached := p.On(n, reach, after)
		out[i] = p.Chain(n, p.checks(), reached, first)
		if i == 0 && p.isControlPlane(n) {
			first = reached
		}
	}
	if len(plan.Added(machines)) > 0 {
		checked := p.Once(allChecked, out...)
		for i := range out {
			out[i] = checked
		}
	}
	for i, n := range machines {
		out[i] = p.Chain(n, p.preparation(n), out[i])
	}
	return out
}

// checks are the tasks that check a machine before it is changed, in their order.
func (p *planner) checks() []task {
	if p.Script {
		return []task{checkMachine}
	}
	return []task{checkMachine, checkPlatform, checkPackages}
}

// preparation are the tasks that prepare a checked machine for kubeadm or for the package's script, in their order.
func (p *planner) preparation(n machine) []task {
	// writeHosts comes before setHostName: sudo looks up the name of its machine, which takes long without a name server.
	steps := []task{writeHosts, setHostName, setUpSystem, installPackages, setUpRuntime}
	if p.Virtual && p.isControlPlane(n) {
		steps = append(steps, setUpVirtualAddress)
	}
	if p.Script {
		steps = []task{writeHosts, uploadScript}
	}
	if len(p.Storage) > 0 {
		steps = append(steps, installNFSClient)
	}
	if p.Registries && !p.Script {
		steps = append(steps, connectRegistries)
	}
	if p.UserFiles {
		steps = append(steps, writeUserFiles)
	}
	if !p.Script {
		steps = append(steps, pullImages)
	}
	return steps
}

// initialise sets up the first control-plane node.
func (p *planner) initialise(n machine, after ...tasks) tasks {
	up := p.On(n, revokeTokens, p.connectAfterScript(n, p.On(n, initCluster, after...)))
	if p.Network {
		up = p.Once(applyNetwork, up)
	}
	return up
}

func (p *planner) join(n machine, after ...tasks) tasks {
	return p.connectAfterScript(n, p.On(n, joinWorker, after...))
}

func (p *planner) joinControlPlane(n machine, after ...tasks) tasks {
	join := joinControlPlane
	if p.Script {
		join.Alone = "etcd"
	}
	return p.connectAfterScript(n, p.On(n, join, after...))
}

// connectAfterScript connects a node to the registries with TLS, which the package's script does not know.
func (p *planner) connectAfterScript(n machine, after tasks) tasks {
	if p.Script && p.Registries {
		return p.On(n, connectRegistries, after)
	}
	return after
}

// finish revokes the credentials of the joins, and waits until the nodes are Ready.
func (p *planner) finish(nodes []machine, after ...tasks) tasks {
	after = append(after, p.Once(revokeCredentials, after...))
	if p.Virtual && p.changesControlPlane() {
		after = append(after, p.Each(p.ControlPlane, rebalance, after...))
	}
	ready := p.Once(awaitReady, after...)
	p.Each(p.Balancers, route, ready)
	p.Each(nodes, label, ready)
	return ready
}

// changesControlPlane reports whether control-plane nodes have joined or restarted beside others.
func (p *planner) changesControlPlane() bool {
	joined := len(plan.Added(p.ControlPlane)) > 0 && len(plan.Staying(p.ControlPlane)) > 0
	return !p.Whole && (joined || len(plan.Replaced(p.ControlPlane))+len(plan.Restarted(p.ControlPlane)) > 0)
}

// letGo removes machines that will be replaced from the cluster. The member of etcd on a dead control-plane node is removed first,
// that of a live one last.
func (p *planner) letGo() {
	controlPlane, workers := plan.Replaced(p.ControlPlane), plan.Replaced(p.Workers)
	var decided tasks
	if len(controlPlane) > 0 {
		decided = p.Once(decideQuorum)
		if p.Snapshots {
			decided = p.Once(saveBefore, decided)
		}
	}
	if p.Volumes && len(plan.Replaced(p.Storage)) > 0 {
		decided = p.Once(releaseVolumes, decided)
	}
	left := p.leaveRoutes(controlPlane, workers, decided)
	for _, n := range workers {
		p.leave(n, left)
	}
	if len(controlPlane) > 0 {
		left = p.All()
		if p.Virtual {
			left = p.Each(plan.Staying(p.ControlPlane), rebalance, left)
		}
	}
	for _, n := range controlPlane {
		for _, t := range []task{recordNode, removeDeadMember, stopMachine, moveLeader, drain, awaitDetached, removeLiveMember} {
			left = p.On(n, inQuorumOrder(t), left)
		}
	}
	p.Once(forget, p.All())
}

// leave drains a node whose machine will be removed.
func (p *planner) leave(n machine, after ...tasks) tasks {
	return p.Chain(n, []task{recordNode, stopMachine, drain, awaitDetached}, after...)
}

// healNodes sets up new machines in the roles of the replaced nodes.
func (p *planner) healNodes(running tasks) {
	p.updateHosts(running)
	p.joinNodes(plan.Replaced(p.ControlPlane), plan.Replaced(p.Workers), running)
}
