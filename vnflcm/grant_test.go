package vnflcm_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
)

type granter = vnflcm.GranterFunc

// defined returns the definition of a VNFC in a request for a grant.
func defined(verb, vdu string, number int) vnflcm.ResourceDefinition {
	return vnflcm.ResourceDefinition{ID: fmt.Sprintf("%s-%s-%d", verb, vdu, number), Type: "COMPUTE", VduID: vdu, ResourceTemplateID: vdu}
}

func TestGrantIsJournaledAndReachesDrivers(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	var request vnflcm.GrantRequest
	grant := &vnflcm.Grant{ID: "g1", Zones: []vnflcm.ZoneInfo{{ID: "z1", ZoneID: "nova"}},
		AdditionalParams: params(t, `{"key":"value"}`)}
	x := newToys(t, func(cfg *vnflcm.Config) {
		cfg.Granter = granter(func(_ context.Context, r vnflcm.GrantRequest) (*vnflcm.Grant, error) {
			asked.Add(1)
			request = r
			return grant, nil
		})
	})
	var got *vnflcm.Grant
	x.watch(func(op *vnflcm.Operation) { got = op.Grant })
	x.world.failAt("instantiate_end/init/", errCut)
	id := x.create()
	occ, _ := x.instantiate(id, "plain", vnflcm.FailedTemp)
	x.world.failAt("instantiate_end/init/", nil)
	x.start() // a new process: the answer comes from the journal
	x.wait(occ.ID, x.Retry(t.Context(), occ.ID), vnflcm.Completed)
	// The Manager completes the grant: it names each resource.
	grant.VnfInstanceID, grant.VnfLcmOpOccID = id, occ.ID
	grant.AddResources = []vnflcm.GrantInfo{{ResourceDefinitionID: "add-master-0"}, {ResourceDefinitionID: "add-worker-1"}, {ResourceDefinitionID: "add-worker-2"}}
	if diff := cmp.Diff(grant, got); diff != "" || asked.Load() != 1 || occ.GrantID != "g1" {
		t.Errorf("asked %d times, grantId %q, the driver saw:\n%s", asked.Load(), occ.GrantID, diff)
	}
	want := vnflcm.GrantRequest{VnfInstanceID: id, VnfLcmOpOccID: occ.ID, VnfdID: toyVNFD, FlavourID: "plain", Operation: vnflcm.OpInstantiate,
		AddResources: []vnflcm.ResourceDefinition{defined("add", "master", 0), defined("add", "worker", 1), defined("add", "worker", 2)},
		VimConstraints: []vnflcm.VimConstraint{{Resource: []vnflcm.ConstraintResourceRef{
			{IDType: "GRANT", ResourceID: "add-master-0"}, {IDType: "GRANT", ResourceID: "add-worker-1"}, {IDType: "GRANT", ResourceID: "add-worker-2"}}}}}
	if diff := cmp.Diff(want, request); diff != "" {
		t.Errorf("grant request:\n%s", diff)
	}
}

func TestGrantRejected(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]error{
		"rejected": fmt.Errorf("%w: no quota", vnflcm.ErrGrantRejected), "unreachable": errCut, "no answer": nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newToys(t, func(cfg *vnflcm.Config) {
				cfg.Granter = granter(func(context.Context, vnflcm.GrantRequest) (*vnflcm.Grant, error) { return nil, answer })
			})
			id := x.create()
			_, err := x.instantiate(id, "plain", vnflcm.RolledBack)
			if answer != nil {
				wantIs(t, err, answer)
			}
			if n := len(x.world.state(id).Machines); n > 0 {
				t.Errorf("%d machines were created without a grant", n)
			}
			must(t, x.Delete(t.Context(), id, "")) // the instance is unlocked and has no resources
		})
	}
}
