package e2e_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/infra/openstack"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestRegistryPackageOnOpenStack: the machine of the sample package of the registry VNF is made, healed in both forms
// and removed, and its volume is attached to the new machine each time. What the driver does on it is proved by the part registry.
func TestRegistryPackageOnOpenStack(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	l := newStackLab(t, openstack.VimTypeV2, registryDir)
	request, err := instantiation(registryDir, "instantiate.json", "volume")
	must(t, err)
	request.VimConnectionInfo = vnflcm.VimConnections{{VimID: "cloud"}}
	request.ExtVirtualLinks[0].ResourceID = l.networks[1]
	vnfcs, last := l.must(l.Instantiate(ctx, l.id, request)), ""
	volumes := l.wantVolumes(vnfcs, "RegistryVolume")
	for _, whole := range []bool{false, true} {
		last = l.wantRegistry(vnfcs, last)
		var heal vnflcm.HealVnfRequest
		if !whole {
			heal.VnfcInstanceID = slices.Collect(maps.Keys(vnfcs))
		}
		vnfcs = l.must(l.Heal(ctx, l.id, heal))
	}
	l.wantRegistry(vnfcs, last)
	if diff := cmp.Diff(volumes, l.wantVolumes(vnfcs, "RegistryVolume")); diff != "" {
		t.Errorf("healing has replaced the volume:\n%s", diff)
	}
	l.terminate(vnflcm.TerminateForceful)
}

// wantRegistry checks that there is one machine of a registry, on another server than the last, and returns that.
func (l *stackLab) wantRegistry(vnfcs map[string]vnflcm.VnfcResourceInfo, last string) (now string) {
	l.t.Helper()
	for _, v := range vnfcs {
		now = server(v)
		if v.VduID != registryVDU || now == last || len(v.VnfcCpInfo) != 1 || v.VnfcCpInfo[0].CpdID != "CP1" {
			l.t.Errorf("VNFC %+v, whose server was %s", v, last)
		}
	}
	if len(vnfcs) != 1 {
		l.t.Fatalf("VNFCs %v", vnfcs)
	}
	return now
}
