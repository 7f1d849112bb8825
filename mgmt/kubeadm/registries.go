package kubeadm

import (
	"context"
	"strings"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/registry/client"
)

// registriesParam is the name of the list of private registries.
const registriesParam = "private_registry_connection_info"

// registries checks the private registries. Their certificates are read from the package.
func (c *checker) registries(p *clusterParam) {
	c.Add(p.Registries.Validate(registriesParam, mgmt.Artifacts(c.Op)))
}

// prepareRegistries connects a machine that was prepared by our own steps. That is before it becomes a node: the
// pods that start with it find their registry.
func (d *deployment) prepareRegistries(ctx context.Context, n mgmt.Node) error {
	if d.p.ScriptPath != "" {
		return nil
	}
	return d.registriesStep(ctx, n)
}

// registriesAfterScript does what a package's script does not, which is told only of the registries without TLS.
// It comes after the script, since that sets up the runtime.
func (d *deployment) registriesAfterScript(ctx context.Context, n mgmt.Node) error {
	if d.p.ScriptPath == "" {
		return nil
	}
	return d.registriesStep(ctx, n)
}

func (d *deployment) registriesStep(ctx context.Context, n mgmt.Node) error {
	if len(d.p.Registries) == 0 {
		return nil
	}
	return d.do(ctx, "registries", n, d.config.Timeouts.Install, func(ctx context.Context) error {
		runtime, err := d.connectRegistries(ctx, n)
		if err != nil {
			return err
		}
		return client.Probe(ctx, n.SSH, runtime, d.p.Registries)
	})
}

// restoreRegistries is for our own preparation: "kubeadm reset", which may have run on the machine in this
// attempt or in one that died after it, empties the kubelet's directory, credentials and all.
func (d *deployment) restoreRegistries(ctx context.Context, n mgmt.Node) error {
	if d.p.ScriptPath != "" || len(d.p.Registries) == 0 {
		return nil
	}
	_, err := d.connectRegistries(ctx, n)
	return err
}

// connectRegistries makes the runtime of a machine use the private registries.
func (d *deployment) connectRegistries(ctx context.Context, n mgmt.Node) (client.Runtime, error) {
	runtime, err := client.Detect(ctx, n.SSH)
	if err != nil {
		return "", err
	}
	return runtime, client.Connect(ctx, n.SSH, runtime, d.p.Registries, mgmt.Artifacts(d.op))
}

// httpRegistries is the list of registries without TLS in the form that Tacker's script puts into
// daemon.json: "a:5000","b:5000".
func (d *deployment) httpRegistries() string {
	var out []string
	for _, r := range d.p.Registries {
		if r.Type == client.HTTP {
			out = append(out, `"`+r.Server+`"`)
		}
	}
	return strings.Join(out, ",")
}
