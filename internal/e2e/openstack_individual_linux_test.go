package e2e_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/infra/openstack"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestIndividualVNFCs has workers that are separate resources instead of members of a group, as in packages for Tacker's
// version 2 API with the class StandardUserData.
func TestIndividualVNFCs(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	pkg := variant(t, "BaseHOT/simple/simple_hot_top.yaml", "  worker_instance:\n", "  workers_of_the_sample:\n")
	name := filepath.Join(pkg, "BaseHOT/simple/simple_hot_top.yaml")
	text, err := os.ReadFile(name) //nolint:gosec // our own
	if err != nil {
		t.Fatal(err)
	}
	before, _, _ := strings.Cut(string(text), "  workers_of_the_sample:\n")
	if err := os.WriteFile(name, []byte(before+`  workerNode:
    type: simple_nested_worker.yaml
    properties:
      flavor: { get_param: [ nfv, VDU, workerNode, computeFlavourId ] }
      image: { get_param: [ nfv, VDU, workerNode, vcImageId ] }
      network: { get_param: [ nfv, CP, workerNode_CP2, network ] }
      user_data: { get_resource: machine_setup }
      security_groups: [ { get_resource: node_ports } ]
`), 0o600); err != nil {
		t.Fatal(err)
	}
	l := newStackLab(t, openstack.VimTypeV2, pkg)
	request, err := stackRequest("instantiate_complex.json", "simple", l.networks[1], 2)
	if err != nil {
		t.Fatal(err)
	}
	class, err := vnflcm.ParseParams([]byte(`{"lcm-operation-user-data": "./UserData/userdata_standard.py", "lcm-operation-user-data-class": "StandardUserData"}`))
	if err == nil {
		request.AdditionalParams, err = request.AdditionalParams.Merge(class)
	}
	if err != nil {
		t.Fatal(err)
	}
	two := l.must(l.Instantiate(ctx, l.id, request))
	four := l.must(l.Scale(ctx, l.id, scale(vnflcm.ScaleOut, 2)))
	l.wantUnchanged(two, four)
	middle := workers(four)[1]
	l.driver.change = func(op *vnflcm.Operation, planned *vnflcm.Change) {
		planned.Removed = slices.DeleteFunc(slices.Clone(op.VNFCs), func(v vnflcm.VNFC) bool { return v.ID != middle })
	}
	three := l.must(l.Scale(ctx, l.id, scale(vnflcm.ScaleIn, 1)))
	l.wantUnchanged(four, three, middle)
	l.driver.change = nil
	// The index that has become free is taken again.
	again := l.must(l.Scale(ctx, l.id, scale(vnflcm.ScaleOut, 1)))
	l.wantUnchanged(three, again)
	if len(workers(two)) != 2 || len(workers(four)) != 4 || len(workers(three)) != 3 || len(workers(again)) != 4 {
		t.Fatalf("%d, %d, %d, %d workers", len(workers(two)), len(workers(four)), len(workers(three)), len(workers(again)))
	}
	sick := workers(again)[0]
	healed := l.must(l.Heal(ctx, l.id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{sick}}))
	l.wantUnchanged(again, healed, sick)
	if server(healed[sick]) == server(again[sick]) {
		t.Error("the server was not replaced")
	}
	l.terminate(vnflcm.TerminateForceful)
}
