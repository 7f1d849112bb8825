package kubeadm

import (
	"context"
	"errors"
	"slices"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/clusternodes"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/nodeprep"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/preflight"
)

// preparation returns the settings with which machines are prepared for kubeadm.
func (e *environment) preparation() nodeprep.Settings {
	return nodeprep.Settings{Version: e.version(), KubeletVersion: e.running.Of("").Kubelet, Warn: e.op.Warn, Packages: e.p.Packages, Before: e.versions.upgraded.Before, Repository: e.p.ImageRepository,
		Swap: e.p.swapAllowed(), CgroupFS: e.p.Kubelet["cgroupDriver"] == "cgroupfs",
		Env: e.proxyEnvironment(), Secrets: e.proxySecrets(), Artifacts: mgmt.Artifacts(e.op)}
}

// prepares returns the action of a task that prepares a machine.
func prepares(do func(nodeprep.Settings, context.Context, mgmt.Node) error) action {
	return func(ctx context.Context, e *environment, n mgmt.Node) error { return do(e.preparation(), ctx, n) }
}

// on returns the action of a task that depends only on the machine.
func on(do func(context.Context, mgmt.Node) error) action {
	return func(ctx context.Context, _ *environment, n mgmt.Node) error { return do(ctx, n) }
}

// runCheckPackages checks the packages of a node, unless the preflight has found them.
func runCheckPackages(ctx context.Context, e *environment, n mgmt.Node) error {
	if e.sourced.Of(n.ID) {
		return nil
	}
	err := e.findPackages(ctx, n)
	if err != nil && e.p.passesOverFinding(preflight.Packages) {
		e.op.Warn(ctx, "passed over by the request: "+preflight.Packages+": "+err.Error())
		return nil
	}
	return err
}

// findPackages checks the packages of a node. Machines that a cluster gets later may have another containerd in their image.
func (e *environment) findPackages(ctx context.Context, n mgmt.Node) error {
	s := e.preparation()
	err := s.CheckPackages(ctx, n)
	if !e.makesCluster() {
		return err
	}
	return errors.Join(err, s.CheckOffered(ctx, n))
}

// runWriteHosts writes all nodes, the hosts of the registries and the names of the package's script into the hosts file.
func runWriteHosts(ctx context.Context, e *environment, n mgmt.Node) error {
	return nodeprep.WriteHosts(ctx, n, e.nodes(), slices.Concat(e.scriptHosts(), e.p.Registries.HostEntries()))
}

// proxyEnvironment returns the environment variables for the proxy of the nodes.
func (e *environment) proxyEnvironment() map[string]string {
	return e.p.Proxy.Environment(e.p.Master.PodCIDR, e.p.Master.ClusterCIDR, e.api.String(),
		e.p.Proxy.NodeNetwork(e.controlPlane[0].IP))
}

func (e *environment) proxySecrets() []string {
	return []string{e.p.Proxy.HTTPProxy.Reveal(), e.p.Proxy.HTTPSProxy.Reveal()}
}

// runUpdateHosts updates the hosts file of a machine that stays. It ignores a machine that cannot be reached, because the
// machine may be dead, and healing it writes the file again.
func runUpdateHosts(ctx context.Context, e *environment, n mgmt.Node) error {
	err := runWriteHosts(ctx, e, n)
	if clusternodes.Unreachable(ctx, err) {
		e.op.Log.WarnContext(ctx, "the hosts file of a node could not be brought up to date", "host", n.Label(), "error", err)
		return nil
	}
	return err
}
