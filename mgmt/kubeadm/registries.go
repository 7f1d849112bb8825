package kubeadm

import (
	"context"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/registry/client"
)

// registriesParam is the name of the list of private registries.
const registriesParam = "private_registry_connection_info"

// registries checks the private registries. It reads their certificates from the package.
func (c *checker) registries(p *clusterParam) {
	c.Add(p.Registries.Validate(registriesParam, mgmt.Artifacts(c.Op)))
}

// runConnectRegistries connects a machine to the private registries, and pulls the probe images. It runs before kubeadm
// starts the first pods, which need the registries. With a package's script it runs after the script, which installs the
// runtime.
func runConnectRegistries(ctx context.Context, e *environment, n mgmt.Node) error {
	runtime, err := connectRuntime(ctx, e, n)
	if err != nil {
		return err
	}
	return client.Probe(ctx, n.SSH, runtime, e.p.Registries)
}

// restoreRegistries connects the machine to the registries again before kubeadm runs. "kubeadm reset" may have run on the
// machine, in this attempt or in an earlier one, and it deletes the kubelet's directory with the credentials.
func restoreRegistries(ctx context.Context, e *environment, n mgmt.Node) error {
	if e.p.ScriptPath != "" || len(e.p.Registries) == 0 {
		return nil
	}
	_, err := connectRuntime(ctx, e, n)
	return err
}

// connectRuntime configures the container runtime of a machine to use the private registries.
func connectRuntime(ctx context.Context, e *environment, n mgmt.Node) (client.Runtime, error) {
	runtime, err := client.Detect(ctx, n.SSH)
	if err != nil {
		return "", err
	}
	return runtime, client.Connect(ctx, n.SSH, runtime, e.p.Registries, mgmt.Artifacts(e.op))
}
