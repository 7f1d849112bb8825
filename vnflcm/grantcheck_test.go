package vnflcm_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// exactGranter returns grants as they are.
type exactGranter func(request vnflcm.GrantRequest) *vnflcm.Grant

func (g exactGranter) Ask(_ context.Context, request vnflcm.GrantRequest) (vnflcm.GrantAnswer, error) {
	return vnflcm.GrantAnswer{Grant: g(request)}, nil
}

func (exactGranter) Poll(context.Context, string) (vnflcm.GrantAnswer, error) {
	return vnflcm.GrantAnswer{}, errCut
}

// grantOf grants each resource of a request, and makes further changes.
func grantOf(r vnflcm.GrantRequest, change func(*vnflcm.Grant)) *vnflcm.Grant {
	g := &vnflcm.Grant{ID: "g", VnfInstanceID: r.VnfInstanceID, VnfLcmOpOccID: r.VnfLcmOpOccID}
	for _, d := range r.AddResources {
		g.AddResources = append(g.AddResources, vnflcm.GrantInfo{ResourceDefinitionID: d.ID})
	}
	for _, d := range r.RemoveResources {
		g.RemoveResources = append(g.RemoveResources, vnflcm.GrantInfo{ResourceDefinitionID: d.ID})
	}
	for _, d := range r.UpdateResources {
		g.UpdateResources = append(g.UpdateResources, vnflcm.GrantInfo{ResourceDefinitionID: d.ID})
	}
	change(g)
	return g
}

// TestGrantThatDoesNotFit refuses grants that the operation cannot follow, before anything is changed, and names other decisions without
// effect in a warning.
func TestGrantThatDoesNotFit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change   func(*vnflcm.Grant)
		faults   []string
		warnings []string
	}{
		"fits": {change: func(*vnflcm.Grant) {}},
		"another operation": {change: func(g *vnflcm.Grant) { g.VnfLcmOpOccID, g.VnfInstanceID = "o", "" },
			faults: []string{`grant g: vnfLcmOpOccId: "o" is another operation`, `vnfInstanceId: "" is another VNF instance`}},
		"other resources": {change: func(g *vnflcm.Grant) {
			g.AddResources[0].ResourceDefinitionID = "add-router-0"
			g.AddResources[2] = g.AddResources[1]
		}, faults: []string{`grant g: addResources[0].resourceDefinitionId: "add-router-0" was not requested, or is granted twice`,
			`addResources[2].resourceDefinitionId: "add-worker-1" was not requested, or is granted twice`, `addResources: has no decision about add-master-0, add-worker-2`}},
		"no resources": {change: func(g *vnflcm.Grant) { g.AddResources = nil },
			faults: []string{`grant g: addResources: has no decision about add-master-0, add-worker-1, add-worker-2`}},
		"no such zone": {change: func(g *vnflcm.Grant) { g.AddResources[1].ZoneID = "z" }, faults: []string{`grant g: addResources[1].zoneId: "z" is no id of zones`}},
		"a placement that the driver does not know": {change: func(g *vnflcm.Grant) { g.AddResources[1].ResourceGroupID, g.ComputeReservationID = "r", "c" },
			faults: []string{`grant g: computeReservationId: the driver of VIM type toy cannot place resources so`, `resourceGroupId of add-worker-1: the driver of VIM type toy cannot place resources so`}},
		"several VIMs": {change: func(g *vnflcm.Grant) {
			g.AddResources[0].VimConnectionID, g.AddResources[1].VimConnectionID = "a", "b"
		}, faults: []string{`grant g: vimConnectionId: the resources are on several VIM connections (a, b), and a VNF of this VNFM is on one`}},
		"an unknown VIM": {change: func(g *vnflcm.Grant) { g.AddResources[0].VimConnectionID = "a" },
			faults: []string{`grant g: vimConnectionId: "a" is no VIM connection of the grant or of the VNF instance`}},
		"a VIM that is not registered": {change: func(g *vnflcm.Grant) { g.VimConnectionInfo = vnflcm.VimConnections{{ID: "a", VimID: "vim9"}} },
			faults: []string{`grant g: vimConnectionInfo[0].vimId: "vim9": is no registered VIM: register it, or give vimType, interfaceInfo and accessInfo in the request`}},
		"links": {change: func(g *vnflcm.Grant) {
			g.ExtVirtualLinks = []vnflcm.ExtVirtualLinkData{{ID: "l", ExtCps: []vnflcm.VnfExtCpData{{CpdID: "router_cp"}}}}
		}, faults: []string{`grant g: extVirtualLinks[0].resourceId: is required`, `extVirtualLinks[0].extCps[0].cpdId: the flavour has no connection point "router_cp"`}},
		"decisions without effect": {change: func(g *vnflcm.Grant) {
			g.VimAssets = &vnflcm.VimAssets{SoftwareImages: []vnflcm.VimSoftwareImage{{VnfdSoftwareImageID: "worker", VimSoftwareImageID: "i"}},
				ComputeResourceFlavours: []vnflcm.VimComputeResourceFlavour{{VnfdVirtualComputeDescID: "worker", VimFlavourID: "f"}}}
		}, warnings: []string{"the grant decides vimAssets.computeResourceFlavours, which has no effect: no driver of the VNF reads it",
			"the grant decides vimAssets.softwareImages, which has no effect: no driver of the VNF reads it"}},
		"the VIM of the VNF": {change: func(g *vnflcm.Grant) {
			g.AddResources[0].VimConnectionID = "vim1"
			g.Zones, g.AddResources[0].ZoneID = []vnflcm.ZoneInfo{{ID: "z", ZoneID: "north"}}, "z"
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newToys(t, func(cfg *vnflcm.Config) {
				cfg.Granter = exactGranter(func(r vnflcm.GrantRequest) *vnflcm.Grant { return grantOf(r, c.change) })
			})
			want := vnflcm.Completed
			if len(c.faults) > 0 {
				want = vnflcm.RolledBack
			}
			occ, _ := x.instantiate(x.create(), "plain", want)
			var got []string
			if occ.Error != nil {
				got = strings.Split(occ.Error.Detail, "\n")
			}
			if diff := cmp.Diff(c.faults, got); diff != "" || occ.GrantID != "g" {
				t.Errorf("grant %q, faults:\n%s", occ.GrantID, diff)
			}
			if diff := cmp.Diff(c.warnings, occ.Warnings); diff != "" {
				t.Errorf("warnings:\n%s", diff)
			}
			if len(c.faults) > 0 && len(x.world.state(occ.VnfInstanceID).Machines) > 0 {
				t.Error("machines were created")
			}
		})
	}
}

// TestGrantChoosesTheVIM instantiates a VNF on the VIM of the grant, where it stays.
func TestGrantChoosesTheVIM(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		entry vnflcm.VimConnectionInfo
		want  string // the vimId of the instance
	}{
		"registered": {vnflcm.VimConnectionInfo{ID: "c", VimID: "vim2"}, "vim2"},
		"with a login": {vnflcm.VimConnectionInfo{ID: "c", VimID: "vim3", VimType: "toy", InterfaceInfo: params(t, `{"endpoint":"http://toy"}`),
			AccessInfo: params(t, `{"password":"canary-1"}`)}, "vim3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			move := true
			x := newToys(t, func(cfg *vnflcm.Config) {
				cfg.Granter = exactGranter(func(r vnflcm.GrantRequest) *vnflcm.Grant {
					return grantOf(r, func(g *vnflcm.Grant) {
						if move {
							g.VimConnectionInfo = vnflcm.VimConnections{c.entry}
						}
					})
				})
			})
			must(t, x.VIMs().Put(t.Context(), vnflcm.VimConnectionInfo{VimID: "vim2", VimType: "toy", AccessInfo: params(t, `{"password":"canary-2"}`)}))
			var seen vnflcm.VimConnectionInfo
			x.watch(func(op *vnflcm.Operation) { seen = op.VIM })
			id := x.instantiated("plain")
			if seen.VimID != c.want || x.get(id).VimConnectionInfo[0].VimID != c.want || seen.AccessInfo.IsZero() {
				t.Errorf("the VNF is on %+v", seen)
			}
			move = false
			x.start()
			opID, err := x.Scale(t.Context(), id, scale(vnflcm.ScaleOut, 1))
			x.wait(opID, err, vnflcm.Completed)
			if seen.VimID != c.want {
				t.Errorf("the VNF is scaled on %s", seen.VimID)
			}
			move, c.entry = true, vnflcm.VimConnectionInfo{ID: "d", VimID: "vim1"}
			opID, err = x.Scale(t.Context(), id, scale(vnflcm.ScaleOut, 1))
			occ, _ := x.wait(opID, err, vnflcm.RolledBack)
			if want := `grant g: vimConnectionInfo: "d" is another VIM than that of the VNF instance, whose resources cannot move`; occ.Error.Detail != want {
				t.Errorf("%q", occ.Error.Detail)
			}
			opID, err = x.Terminate(t.Context(), id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful})
			x.wait(opID, err, vnflcm.Completed) // a termination places nothing
		})
	}
}

// affinity are rules of the VNFD: workers on different nodes, all VNFCs in one zone, and a link on one node.
const affinity = `    - apart: {type: tosca.policies.nfv.AntiAffinityRule, targets: [worker], properties: {scope: nfvi_node}}
    - together: {type: tosca.policies.nfv.AffinityRule, targets: [all], properties: {scope: zone}}
` + levelPolicy

const placementGroup = "  groups:\n    all: {type: tosca.groups.nfv.PlacementGroup, members: [master, worker], properties: {description: all}}\n  policies:\n"

// TestGrantRequests checks the requests of the operations of a life.
func TestGrantRequests(t *testing.T) {
	t.Parallel()
	var got vnflcm.GrantRequest
	x := newToys(t, func(cfg *vnflcm.Config) {
		changedPlain(levelPolicy, affinity, "  policies:\n", placementGroup)(cfg)
		cfg.Granter = granter(func(_ context.Context, r vnflcm.GrantRequest) (*vnflcm.Grant, error) {
			got = r
			return &vnflcm.Grant{ID: "g"}, nil
		})
	})
	id := x.create()
	handle := func(vnfc, resource string, number int, verb string) vnflcm.ResourceDefinition {
		d := defined(verb, strings.TrimRight(vnfc, "-0123456789"), number)
		d.VnfcID, d.ResourceID = vnfc, &vnflcm.ResourceHandle{VimConnectionID: "vim1", ResourceID: resource}
		return d
	}
	granted := func(id string) vnflcm.ConstraintResourceRef {
		return vnflcm.ConstraintResourceRef{IDType: "GRANT", ResourceID: id}
	}
	existing := func(id string) vnflcm.ConstraintResourceRef {
		return vnflcm.ConstraintResourceRef{IDType: "RES_MGMT", ResourceID: id, VimConnectionID: "vim1"}
	}
	constraints := func(r *vnflcm.GrantRequest, workers, all []vnflcm.ConstraintResourceRef) {
		r.PlacementConstraints = []vnflcm.PlacementConstraint{{AffinityOrAntiAffinity: "ANTI_AFFINITY", Scope: "NFVI_NODE", Resource: workers},
			{AffinityOrAntiAffinity: "AFFINITY", Scope: "ZONE", Resource: all}}
		r.VimConstraints = []vnflcm.VimConstraint{{Resource: all}}
	}
	check := func(want vnflcm.GrantRequest) {
		t.Helper()
		want.VnfInstanceID, want.VnfdID, want.FlavourID, want.VnfLcmOpOccID = id, toyVNFD, "plain", got.VnfLcmOpOccID
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", want.Operation, diff)
		}
	}
	opID, err := x.Instantiate(t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "plain", InstantiationLevelID: "small",
		AdditionalParams: params(t, `{"site":"north","password":"canary-1","hosts":[{"name":"a","ssh_key":"canary-2"}],"proxy":"http://u:canary-3@p",
			"credentials":{"user":"u","value":"canary-4"},"init":["echo canary-1","echo 1"]}`)})
	x.wait(opID, err, vnflcm.Completed)
	want := vnflcm.GrantRequest{Operation: vnflcm.OpInstantiate, InstantiationLevelID: "small", AdditionalParams: params(t, `{"site":"north","hosts":[{"name":"a"}],"init":["echo 1"]}`),
		AddResources: []vnflcm.ResourceDefinition{defined("add", "master", 0), defined("add", "worker", 1), defined("add", "worker", 2)}}
	workers := []vnflcm.ConstraintResourceRef{granted("add-worker-1"), granted("add-worker-2")}
	constraints(&want, workers, append([]vnflcm.ConstraintResourceRef{granted("add-master-0")}, workers...))
	check(want)

	opID, err = x.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{"worker-0"}})
	x.wait(opID, err, vnflcm.Completed)
	want = vnflcm.GrantRequest{Operation: vnflcm.OpHeal, UpdateResources: []vnflcm.ResourceDefinition{handle("worker-0", "vm-worker-0-0", 0, "update")}}
	constraints(&want, []vnflcm.ConstraintResourceRef{granted("update-worker-0"), existing("vm-worker-1-0")},
		[]vnflcm.ConstraintResourceRef{granted("update-worker-0"), existing("vm-master-0-0"), existing("vm-worker-1-0")})
	check(want)

	opID, err = x.Scale(t.Context(), id, scale(vnflcm.ScaleIn, 1))
	x.wait(opID, err, vnflcm.Completed)
	check(vnflcm.GrantRequest{Operation: vnflcm.OpScale, RemoveResources: []vnflcm.ResourceDefinition{handle("worker-1", "vm-worker-1-0", 0, "remove")}})
}
