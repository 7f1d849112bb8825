package kubeadm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/vnfkit/vnfkit/internal/fanout"
	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/cluster"
	"github.com/vnfkit/vnfkit/mgmt/internal/clusternodes"
	"github.com/vnfkit/vnfkit/mgmt/internal/plan"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/apiaccess"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/controlplane"
	"github.com/vnfkit/vnfkit/vnflcm"
)

var (
	checkGrowth = repeated("etcd", "every member of etcd is healthy before a machine is made: kubeadm lets no control-plane node join otherwise", runCheckGrowth)
	updateNames = step("names", "certificates of API servers that are made from now on have the names of all control-plane nodes", oneMinute, overRestart(runUpdateNames))

	announcePeers = task{Name: "peers", Why: "keepalived on a new node hears which node has the virtual address, and does not take it", Do: runAnnouncePeers}

	checkStaying = step("staying", "every control-plane node that stays works: the cluster depends on these nodes alone", twoMinutes, runCheckStaying)
	awaitJoins   = repeated("await-joins", "no kubeadm that an earlier process has started still adds a member of etcd", runAwaitJoins)

	saveBeforeScaleIn = step("snapshot", "the data of etcd can be restored before members of etcd are removed", saveLimit, runSaveBeforeScaleIn)
	releaseAddress    = step("release-address", "the virtual address moves to a node that stays", oneMinute, runReleaseAddress)
	stopAPIServer     = task{Name: "stop-api-server", Why: "clients of this API server end their requests and use another one, before etcd ends here", If: "the node is Ready", Do: runStopAPIServer}
	resetLive         = task{Name: "reset", Why: reset.Why, If: "the node is Ready", Do: unlessSilent(reset.Do)}
)

// runCheckGrowth fails if a member of etcd is not healthy.
func runCheckGrowth(ctx context.Context, e *environment, _ mgmt.Node) error {
	err := mgmt.Within(ctx, min(e.config.Timeouts.Ready, etcdLimit), func(ctx context.Context) error {
		return e.etcd().Await(ctx, e.up, e.having(e.controlPlane, plan.IsAdded))
	})
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("%w. Heal the node first", err)
	}
	return err
}

// runUpdateNames writes the names of the control-plane nodes into the configuration of the cluster, which kubeadm on a node that joins
// reads. Certificates that exist keep their names: no client asks a node by the name of another one.
func runUpdateNames(ctx context.Context, e *environment, _ mgmt.Node) error {
	before, err := clusterConfiguration(ctx, e)
	if err != nil {
		return err
	}
	given, _ := controlplane.At(e.p.userSettings().Cluster, []string{"apiServer", "certSANs"})
	now, err := before.WithNames(e.certSANs(), func(name string) bool {
		users, _ := given.([]any)
		return !slices.Contains(users, any(name)) && slices.Contains(e.namesOfRemoved(), name)
	})
	if err != nil || now == before {
		return err
	}
	manifest, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "kubeadm-config", "namespace": "kube-system"},
		"data": map[string]any{"ClusterConfiguration": string(now)}})
	if err != nil {
		return err
	}
	return e.kube.Apply(ctx, manifest)
}

// namesOfRemoved returns the names and addresses of control-plane nodes that the operation removes.
func (e *environment) namesOfRemoved() (names []string) {
	for _, v := range e.op.Change.Removed {
		if !plan.IsAt(e.op, v, e.p.Master.SSHCPName) {
			continue
		}
		for _, cp := range v.CPs {
			names = append(names, cp.Floating.String())
			for _, addr := range cp.Fixed {
				names = append(names, addr.String(), mgmt.HostName("master", addr))
			}
		}
	}
	return names
}

// runAnnouncePeers tells keepalived of a node the addresses of new control-plane nodes, before they start keepalived. haproxy follows when
// the new nodes are Ready. A node that cannot be reached may be dead: see balance.
func runAnnouncePeers(ctx context.Context, e *environment, n mgmt.Node) error {
	return n.Do(ctx, e.op, "peers", installLimit(e.config.Timeouts), func(ctx context.Context) error {
		return e.despiteDeath(ctx, n, serve(ctx, e, n, e.up, e.controlPlane))
	})
}

// despiteDeath returns an error other than that a node cannot be reached.
func (e *environment) despiteDeath(ctx context.Context, n mgmt.Node, err error) error {
	if clusternodes.Unreachable(ctx, err) {
		e.op.Log.WarnContext(ctx, "the load balancer of a node could not be brought up to date", "host", n.Label(), "error", err)
		return nil
	}
	return err
}

// runCheckStaying fails if a node that stays has no healthy member of etcd or no API server that answers, or if the address of the API
// would leave. Each such node is named.
func runCheckStaying(ctx context.Context, e *environment, _ mgmt.Node) error {
	dead := fanout.Each(ctx, len(e.up), e.config.Parallel, func(i int) error {
		n := e.up[i]
		if !e.etcd().IsHealthy(ctx, n) {
			return fmt.Errorf("kubeadm: %s stays, and its member of etcd is not healthy: heal it first", n.Label())
		}
		if err := cluster.Ready(ctx, n); err != nil {
			return fmt.Errorf("kubeadm: %s stays, and its API server does not answer: heal it first: %w", n.Label(), err)
		}
		return nil
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return errors.Join(e.p.checkLeavingAddress(e.op), dead)
}

// runAwaitJoins waits for a kubeadm that runs on a machine whose join is rolled back. Machines that do not answer are left out.
func runAwaitJoins(ctx context.Context, e *environment, _ mgmt.Node) error {
	noted, err := e.op.State().Keys(ctx, joiningState)
	if err != nil {
		return err
	}
	for _, n := range e.having(e.controlPlane, plan.IsRemoved) {
		if !slices.Contains(noted, joiningState+n.ResourceID) {
			continue
		}
		if err := settle(ctx, e, n); err != nil && !clusternodes.Unreachable(ctx, err) {
			return err
		}
	}
	return nil
}

// runReleaseAddress stops keepalived of a node that leaves. It tells the other nodes, which do not have to miss it first. A machine that
// cannot be reached may be dead.
func runReleaseAddress(ctx context.Context, e *environment, n mgmt.Node) error {
	return e.despiteDeath(ctx, n, apiaccess.Release(ctx, n))
}

// runStopAPIServer stops the API server of a node that is Ready, and the programs that depend on it.
func runStopAPIServer(ctx context.Context, e *environment, n mgmt.Node) error {
	if e.leave.Silent(n) {
		return nil
	}
	return n.Do(ctx, e.op, "stop-api-server", twoMinutes(e.config.Timeouts), func(ctx context.Context) error {
		err := controlplane.StopStatic(ctx, n, controlplane.StaticScheduler, controlplane.StaticControllerManager, controlplane.StaticAPIServer)
		if err == nil || ctx.Err() != nil || !e.op.RollingBack && !clusternodes.Unreachable(ctx, err) {
			return err
		}
		e.op.Log.WarnContext(ctx, "the API server of a node that leaves could not be stopped", "host", n.Label(), "error", err)
		return nil
	})
}

// unlessSilent returns the action for nodes that were Ready when the operation recorded them.
func unlessSilent(do action) action {
	return func(ctx context.Context, e *environment, n mgmt.Node) error {
		if e.leave.Silent(n) {
			return nil
		}
		return do(ctx, e, n)
	}
}

// isOfManager reports whether an error means that this process must not go on.
func isOfManager(err error) bool {
	return errors.Is(err, vnflcm.ErrLeased) || errors.Is(err, vnflcm.ErrStore) || errors.Is(err, vnflcm.ErrShutdown)
}
