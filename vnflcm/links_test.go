package vnflcm_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
)

func link(id, network string, cpds ...string) []vnflcm.ExtVirtualLinkData {
	l := vnflcm.ExtVirtualLinkData{ID: id, ResourceID: network}
	for _, cpd := range cpds {
		l.ExtCps = append(l.ExtCps, vnflcm.VnfExtCpData{CpdID: cpd})
	}
	return []vnflcm.ExtVirtualLinkData{l}
}

func links(lists ...[]vnflcm.ExtVirtualLinkData) (out []vnflcm.ExtVirtualLinkData) {
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}

// connected returns an instance whose connection points are on one link.
func (x *toys) connected() string {
	x.t.Helper()
	id := x.create()
	opID, err := x.Instantiate(x.t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "plain", ExtVirtualLinks: link("a", "net-a", "master_cp", "worker_cp")})
	x.wait(opID, err, vnflcm.Completed)
	return id
}

func TestChangeOfConnectivity(t *testing.T) {
	t.Parallel()
	one, two := vnflcm.ExtCpConfigs{{CpInstanceID: "1"}}, vnflcm.ExtCpConfigs{{CpInstanceID: "2"}}
	for name, c := range map[string]struct{ before, change, want []vnflcm.ExtVirtualLinkData }{
		"a connection point moves": {link("a", "net-a", "master_cp", "worker_cp"), link("b", "net-b", "worker_cp"),
			links(link("a", "net-a", "master_cp"), link("b", "net-b", "worker_cp"))},
		"a link is another network": {link("a", "net-a", "master_cp", "worker_cp"), link("a", "net-c", "worker_cp"),
			link("a", "net-c", "master_cp", "worker_cp")},
		"nothing is left on a link": {link("a", "net-a", "worker_cp"), link("b", "net-b", "worker_cp"), link("b", "net-b", "worker_cp")},
		"one of two configurations moves": {
			[]vnflcm.ExtVirtualLinkData{{ID: "a", ResourceID: "net-a", ExtCps: []vnflcm.VnfExtCpData{{CpdID: "worker_cp", CpConfig: append(one[:1:1], two...)}}}},
			[]vnflcm.ExtVirtualLinkData{{ID: "b", ResourceID: "net-b", ExtCps: []vnflcm.VnfExtCpData{{CpdID: "worker_cp", CpConfig: two}}}},
			[]vnflcm.ExtVirtualLinkData{{ID: "a", ResourceID: "net-a", ExtCps: []vnflcm.VnfExtCpData{{CpdID: "worker_cp", CpConfig: one}}},
				{ID: "b", ResourceID: "net-b", ExtCps: []vnflcm.VnfExtCpData{{CpdID: "worker_cp", CpConfig: two}}}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newToys(t, nil)
			id := x.create()
			opID, err := x.Instantiate(t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "plain", ExtVirtualLinks: c.before})
			x.wait(opID, err, vnflcm.Completed)
			opID, err = x.ChangeExtConn(t.Context(), id, vnflcm.ChangeExtVnfConnectivityRequest{ExtVirtualLinks: c.change})
			occ, _ := x.wait(opID, err, vnflcm.Completed)
			if diff := cmp.Diff(c.want, x.world.state(id).Links); diff != "" {
				t.Error(diff)
			}
			shown := x.get(id).InstantiatedVnfInfo.ExtVirtualLinkInfo
			if len(shown) != len(c.want) || shown[len(shown)-1].ResourceHandle.ResourceID != c.change[0].ResourceID {
				t.Errorf("the instance shows %+v", shown)
			}
			changed := occ.ChangedExtConnectivity
			if len(changed) == 0 || changed[len(changed)-1].ResourceHandle.ResourceID != c.change[0].ResourceID {
				t.Errorf("the operation shows %+v", changed)
			}
			// Later operations see the same links.
			var seen []vnflcm.ExtVirtualLinkData
			x.watch(func(op *vnflcm.Operation) { seen = op.Connectivity })
			opID, err = x.Scale(t.Context(), id, scale(vnflcm.ScaleOut, 1))
			x.wait(opID, err, vnflcm.Completed)
			if diff := cmp.Diff(c.want, seen); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestChangeOfConnectivityThatFails(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*toys, string) error{
		"rolled back": func(x *toys, op string) error { return x.Rollback(x.t.Context(), op) },
		"failed":      func(x *toys, op string) error { return x.Fail(x.t.Context(), op) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newToys(t, nil)
			id := x.connected()
			x.world.failAt("change_external_connectivity/connect/", errCut)
			opID, err := x.ChangeExtConn(t.Context(), id, vnflcm.ChangeExtVnfConnectivityRequest{ExtVirtualLinks: link("b", "net-b", "worker_cp")})
			x.wait(opID, err, vnflcm.FailedTemp)
			must(t, end(x, opID))
			occ, _ := x.Wait(t.Context(), opID)
			if !occ.OperationState.Final() {
				t.Errorf("the operation is %s", occ.OperationState)
			}
			if name == "rolled back" { // rolling back restores the former links
				if diff := cmp.Diff(link("a", "net-a", "master_cp", "worker_cp"), x.world.state(id).Links); diff != "" {
					t.Error(diff)
				}
			}
			if shown := x.get(id).InstantiatedVnfInfo.ExtVirtualLinkInfo; len(shown) != 1 || shown[0].ID != "a" {
				t.Errorf("the instance shows %+v", shown)
			}
		})
	}
}

func TestFaultyChangeOfConnectivity(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	id := x.connected()
	two := append(link("b", "", "worker_cp", "workr_cp"), link("b", "net-b")...)
	_, err := x.ChangeExtConn(t.Context(), id, vnflcm.ChangeExtVnfConnectivityRequest{ExtVirtualLinks: two})
	want := []string{"extVirtualLinks[0].resourceId", "extVirtualLinks[0].extCps[1].cpdId", "extVirtualLinks[1].id", "extVirtualLinks[1].extCps"}
	if diff := cmp.Diff(want, faults(err)); diff != "" {
		t.Error(diff)
	}
	if known := "the flavour has no such connection point; it has worker_cp, master_cp"; !strings.Contains(err.Error(), known) {
		t.Errorf("%q is not in: %v", known, err)
	}
	_, err = x.ChangeExtConn(t.Context(), id, vnflcm.ChangeExtVnfConnectivityRequest{})
	if diff := cmp.Diff([]string{"extVirtualLinks"}, faults(err)); diff != "" {
		t.Error(diff)
	}
}

// fixedCloud has no ChangeExtConn.
type fixedCloud struct{ vnflcm.InfraDriver }

func TestDriverThatCannotChangeConnectivity(t *testing.T) {
	t.Parallel()
	x := newToys(t, func(c *vnflcm.Config) { c.Infra["toy"] = fixedCloud{c.Infra["toy"]} })
	id := x.connected()
	_, err := x.ChangeExtConn(t.Context(), id, vnflcm.ChangeExtVnfConnectivityRequest{ExtVirtualLinks: link("b", "net-b", "worker_cp")})
	wantIs(t, err, vnflcm.ErrNotSupported)
}

// TestGrantedLinksAndZones checks that links of the grant override links of the request, and that zones are assigned by VDU.
func TestGrantedLinksAndZones(t *testing.T) {
	t.Parallel()
	x := newToys(t, func(c *vnflcm.Config) {
		c.Granter = granter(func(_ context.Context, r vnflcm.GrantRequest) (*vnflcm.Grant, error) {
			g := &vnflcm.Grant{ID: "g", Zones: []vnflcm.ZoneInfo{{ID: "1", ZoneID: "north"}, {ID: "2", ZoneID: "south"}}, ExtVirtualLinks: link("g", "net-g", "worker_cp")}
			for i, add := range r.AddResources {
				if add.VduID == "worker" {
					g.AddResources = append(g.AddResources, vnflcm.GrantInfo{ResourceDefinitionID: add.ID, ZoneID: []string{"2", "1"}[i%2]})
				}
			}
			return g, nil
		})
	})
	var zones [][]string
	var seen []vnflcm.ExtVirtualLinkData
	x.watch(func(op *vnflcm.Operation) {
		zones, seen = [][]string{op.GrantedZones("worker"), op.GrantedZones("master")}, op.Connectivity
	})
	x.connected()
	if diff := cmp.Diff([][]string{{"north", "south"}, {""}}, zones); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(links(link("a", "net-a", "master_cp"), link("g", "net-g", "worker_cp")), seen); diff != "" {
		t.Error(diff)
	}
}
