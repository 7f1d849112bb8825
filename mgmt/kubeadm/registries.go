package kubeadm

import (
	"context"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/registry/client"
)

// registriesParam is the name of the list of private registries.
const registriesParam = "private_registry_connection_info"

// registries checks the private registries. Their certificates are read from the package.
func (c *checker) registries(p *clusterParam) {
	c.Add(p.Registries.Validate(registriesParam, mgmt.Artifacts(c.Op)))
}

// runConnectRegistries connects a machine to the private registries, and pulls the probe images. It runs before kubeadm makes the machine a
// node, so that the first pods find their registry, but after a package's script, which sets up the runtime.
func runConnectRegistries(ctx context.Context, e *environment, n mgmt.Node) error {
	runtime, err := connectRuntime(ctx, e, n)
	if err != nil {
		return err
	}
	return client.Probe(ctx, n.SSH, runtime, e.p.Registries)
}

// restoreRegistries is for our own preparation: "kubeadm reset", which may have run on the machine in this
// attempt or in one that died after it, empties the kubelet's directory, credentials and all.
func restoreRegistries(ctx context.Context, e *environment, n mgmt.Node) error {
	if e.p.ScriptPath != "" || len(e.p.Registries) == 0 {
		return nil
	}
	_, err := connectRuntime(ctx, e, n)
	return err
}

// connectRuntime makes the runtime of a machine use the private registries.
func connectRuntime(ctx context.Context, e *environment, n mgmt.Node) (client.Runtime, error) {
	runtime, err := client.Detect(ctx, n.SSH)
	if err != nil {
		return "", err
	}
	return runtime, client.Connect(ctx, n.SSH, runtime, e.p.Registries, mgmt.Artifacts(e.op))
}
