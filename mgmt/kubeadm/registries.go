package kubeadm

import (
	"context"
	"slices"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/registry/client"
)

// The names of the lists of private registries and of mirrors.
const (
	registriesParam = "private_registry_connection_info"
	mirrorsParam    = "registry_mirrors"
)

// pullSources are the servers that nodes pull images from, beside public registries.
type pullSources struct {
	Registries client.Connections `json:"private_registry_connection_info"`
	Mirrors    client.Mirrors     `json:"registry_mirrors"` // beyond Tacker
}

// connections returns the connections of each node.
func (s pullSources) connections() client.Connections {
	return slices.Concat(s.Registries, s.Mirrors.Connections(s.Registries))
}

// registries checks the private registries and the mirrors. It reads their certificates from the package.
func (c *checker) registries(p *clusterParam) {
	c.Add(p.Registries.Validate(registriesParam, mgmt.Artifacts(c.Op)))
	c.Add(p.Mirrors.Validate(mirrorsParam, p.Registries, registriesParam, mgmt.Artifacts(c.Op)))
	if p.ScriptPath != "" && len(p.Mirrors) > 0 {
		c.Fault(mirrorsParam, "", "has no effect with script_path: the script pulls images before nodes know the mirrors")
	}
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
	if e.p.ScriptPath != "" || len(e.p.connections()) == 0 {
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
	return runtime, client.Connect(ctx, n.SSH, runtime, e.p.connections(), mgmt.Artifacts(e.op))
}
