package e2e_test

import (
	"testing"

	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/internal/e2e/vminfra"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestRegistryCluster: two VNFs of one Manager: a cluster runs pods whose image only the registry has. It does so with
// what the instance of the registry tells, also when that has been healed.
func TestRegistryCluster(t *testing.T) {
	t.Parallel()
	y := newRegistryYard(t, func(y *yard, spec *vmhost.Spec) { spec.Tree, spec.Files = y.parts.NodeTree(), nil })
	y.machines.Change = func(m vminfra.Machine, spec *vmhost.Spec) {
		if m.VDU != registryVDU {
			spec.Data = map[string]string{"/var/lib/containerd": y.parts.Images()}
		}
	}
	ctx := t.Context()
	id, request := y.registry(protected(t, registryName, registryPassword), `{"private_registry_installation_param": {"packages": {"source": "installed"}}}`)
	y.must(y.Instantiate(ctx, id, request))
	y.fill(id)

	cluster, clusterRequest := y.cluster("simple", y.toldBy(id))
	y.must(y.Instantiate(ctx, cluster, clusterRequest))
	y.wantNodes(cluster, 1, 1)
	y.pulls(cluster, 1)

	y.kill(y.machine(id))
	y.must(y.Heal(ctx, id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{y.machine(id).ID}}))
	y.fill(id)
	y.pulls(cluster, 1)
	y.wantCredentials(cluster)
}

// fill puts what a cluster pulls into a registry.
func (y *yard) fill(id string) {
	y.t.Helper()
	r := y.from(y.connection(id, registryUser, registryPassword))
	for _, image := range []string{"team/web:1", "team/probe:1"} {
		must(y.t, r.push(y.t.Context(), y.parts.Image("pause"), image))
	}
}
