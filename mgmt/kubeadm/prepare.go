package kubeadm

import (
	"context"
	"slices"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/nodeprep"
)

// preparation is how machines are made ready for kubeadm.
func (d *environment) preparation() nodeprep.Settings {
	return nodeprep.Settings{Version: d.version(), Packages: d.p.Packages, Swap: d.p.swapAllowed(), CgroupFS: d.p.Kubelet["cgroupDriver"] == "cgroupfs",
		Env: d.proxyEnvironment(), Secrets: d.proxySecrets(), Artifacts: mgmt.Artifacts(d.op)}
}

// prepares is the action of a task that prepares a machine.
func prepares(do func(nodeprep.Settings, context.Context, mgmt.Node) error) action {
	return func(ctx context.Context, e *environment, n mgmt.Node) error { return do(e.preparation(), ctx, n) }
}

// on is the action of a task that needs to know the machine only.
func on(do func(context.Context, mgmt.Node) error) action {
	return func(ctx context.Context, _ *environment, n mgmt.Node) error { return do(ctx, n) }
}

// runWriteHosts puts all nodes, and what the registries and the package's script name, into the hosts file.
func runWriteHosts(ctx context.Context, e *environment, n mgmt.Node) error {
	return nodeprep.WriteHosts(ctx, n, e.nodes(), slices.Concat(e.scriptHosts(), e.p.Registries.HostEntries()))
}

// proxyEnvironment is the proxy setting of the nodes.
func (d *environment) proxyEnvironment() map[string]string {
	return d.p.Proxy.Environment(d.p.Master.PodCIDR, d.p.Master.ClusterCIDR, d.api.String(),
		d.p.Proxy.NodeNetwork(d.masters[0].IP))
}

func (d *environment) proxySecrets() []string {
	return []string{d.p.Proxy.HTTPProxy.Reveal(), d.p.Proxy.HTTPSProxy.Reveal()}
}
