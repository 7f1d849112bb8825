package vnflcm_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestExtents checks that the data that clients store with an instance is limited over all requests together.
func TestExtents(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	long := strings.Repeat("x", 300<<10)
	_, err := x.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: toyVNFD, VnfInstanceName: strings.Repeat("ü", 256),
		VnfInstanceDescription: long, Metadata: vnflcm.KeyValuePairs{"a": long}})
	wantFaults(t, err, "vnfInstanceName", "vnfInstanceDescription", "metadata")

	inst, err := x.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: toyVNFD, VnfInstanceName: strings.Repeat("ü", 255), Metadata: vnflcm.KeyValuePairs{"n": map[string]any{}}})
	must(t, err)
	_, err = x.Instantiate(t.Context(), inst.ID, vnflcm.InstantiateVnfRequest{FlavourID: "plain", Extensions: params(t, `{"a":"`+long+`"}`)})
	wantFaults(t, err, "metadata")
	for n := range 5 {
		patch := vnflcm.VnfInfoModificationRequest{Metadata: vnflcm.KeyValuePairs{"n": map[string]any{fmt.Sprint(n): long[:60<<10]}}}
		opID, err := x.Modify(t.Context(), inst.ID, patch, "")
		if n == 4 {
			wantFaults(t, err, "metadata")
			break
		}
		x.wait(opID, err, vnflcm.Completed)
	}
	if got := len(x.get(inst.ID).Metadata["n"].(map[string]any)); got != 4 {
		t.Errorf("%d values are stored, want 4", got)
	}
}

// TestLargerThanAllowed checks that an instance with more data than the limit can be read, changed, healed and reduced.
func TestLargerThanAllowed(t *testing.T) {
	t.Parallel()
	a := newAdoption(t, nil)
	large := strings.Repeat("x", 300<<10)
	a.known.VnfInstanceDescription, a.known.Extensions, a.known.Metadata = large, params(t, `{"a":"`+large+`"}`), vnflcm.KeyValuePairs{"b": large}
	_, err := a.Adopt(t.Context(), a.known, a.req, "cluster of toys")
	must(t, err)
	id := a.known.ID
	name := "new"
	opID, err := a.Modify(t.Context(), id, vnflcm.VnfInfoModificationRequest{VnfInstanceName: &name}, "")
	a.wait(opID, err, vnflcm.Completed)
	opID, err = a.Heal(t.Context(), id, vnflcm.HealVnfRequest{})
	a.wait(opID, err, vnflcm.Completed)
	_, err = a.Modify(t.Context(), id, vnflcm.VnfInfoModificationRequest{Metadata: vnflcm.KeyValuePairs{"c": 1}}, "")
	wantFaults(t, err, "metadata")
	for _, patch := range []vnflcm.VnfInfoModificationRequest{{Metadata: vnflcm.KeyValuePairs{"b": "short"}}, {Extensions: params(t, `{"a":null}`)}} {
		opID, err := a.Modify(t.Context(), id, patch, "")
		a.wait(opID, err, vnflcm.Completed)
	}
	if page, err := a.Instances(t.Context(), vnflcm.InstanceQuery{}); err != nil || page.Items[0].VnfInstanceName != name || page.Items[0].Metadata["b"] != "short" {
		t.Errorf("%+v, %v", page.Items, err)
	}
}
