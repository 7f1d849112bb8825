package kubeadm

import (
	"context"
	"slices"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/nodeprep"
)

// preparation returns the settings with which machines are prepared for kubeadm.
func (d *environment) preparation() nodeprep.Settings {
	return nodeprep.Settings{Version: d.version(), Packages: d.p.Packages, Swap: d.p.swapAllowed(), CgroupFS: d.p.Kubelet["cgroupDriver"] == "cgroupfs",
		Env: d.proxyEnvironment(), Secrets: d.proxySecrets(), Artifacts: mgmt.Artifacts(d.op)}
}

// prepares returns the action of a task that prepares a machine.
func prepares(do func(nodeprep.Settings, context.Context, mgmt.Node) error) action {
	return func(ctx context.Context, e *environment, n mgmt.Node) error { return do(e.preparation(), ctx, n) }
}

// on returns the action of a task that depends only on the machine.
func on(do func(context.Context, mgmt.Node) error) action {
	return func(ctx context.Context, _ *environment, n mgmt.Node) error { return do(ctx, n) }
}

// runWriteHosts writes all nodes, the hosts of the registries and the names of the package's script into the hosts file.
func runWriteHosts(ctx context.Context, e *environment, n mgmt.Node) error {
	return nodeprep.WriteHosts(ctx, n, e.nodes(), slices.Concat(e.scriptHosts(), e.p.Registries.HostEntries()))
}

// proxyEnvironment returns the environment variables for the proxy of the nodes.
func (d *environment) proxyEnvironment() map[string]string {
	return d.p.Proxy.Environment(d.p.Master.PodCIDR, d.p.Master.ClusterCIDR, d.api.String(),
		d.p.Proxy.NodeNetwork(d.masters[0].IP))
}

func (d *environment) proxySecrets() []string {
	return []string{d.p.Proxy.HTTPProxy.Reveal(), d.p.Proxy.HTTPSProxy.Reveal()}
}
