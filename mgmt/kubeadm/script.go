package kubeadm

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/clusternodes"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/controlplane"
)

// script returns the package's script. Nodes that are being replaced come last in ControlPlane, because the script creates a new
// cluster on the first one.
func (e *environment) script() controlplane.Script {
	gone := e.replaced(e.controlPlane)
	return controlplane.Script{Name: e.p.ScriptPath, Open: mgmt.Artifacts(e.op), ControlPlane: slices.Concat(clusternodes.Without(e.controlPlane, gone), gone),
		API: e.api.String(), PodSubnet: e.p.Master.PodCIDR, ServiceSubnet: e.p.Master.ClusterCIDR, Env: e.proxyEnvironment(), Registries: e.p.Registries}
}

func runUploadScript(ctx context.Context, e *environment, n mgmt.Node) error {
	return e.script().Upload(ctx, n)
}

// scriptName returns the host name that the script gives a machine (Tacker's contract): its role and the last part of its
// address.
func scriptName(role string, ip netip.Addr) string {
	parts := ip.AsSlice()
	return fmt.Sprintf("%s%d", role, parts[len(parts)-1])
}

// scriptHosts returns the host names that the script sets, for /etc/hosts: sudo looks up the name of its machine, which
// takes long without a name server.
func (e *environment) scriptHosts() (out []mgmt.HostEntry) {
	if e.p.ScriptPath == "" {
		return nil
	}
	for _, n := range e.controlPlane {
		out = append(out, mgmt.HostEntry{IP: n.IP, Name: scriptName("master", n.IP)})
	}
	for _, n := range e.workers {
		out = append(out, mgmt.HostEntry{IP: n.IP, Name: scriptName("worker", n.IP)})
	}
	return out
}

// checkScriptNames refuses machines to which the script would give the same host name.
func (e *environment) checkScriptNames() error {
	var faults []error
	taken := map[string]netip.Addr{}
	for _, entry := range e.scriptHosts() {
		if other, found := taken[entry.Name]; found {
			faults = append(faults, fmt.Errorf("kubeadm: script_path names nodes by the last part of their address: %s and %s would both be %s",
				other, entry.IP, entry.Name))
		}
		taken[entry.Name] = entry.IP
	}
	return errors.Join(faults...)
}
