package vnflcm_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestTyposAreRefused holds that a misspelt attribute does not widen a request to the whole VNF.
func TestTyposAreRefused(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]struct {
		into  any
		fault string
	}{
		`{"vnfcInstanceIds":["w1"]}`:                                        {&vnflcm.HealVnfRequest{}, `vnfcInstanceIds: is no attribute of this request; did you mean "vnfcInstanceId"?`},
		`{"nodes":["w1"]}`:                                                  {&vnflcm.HealVnfRequest{}, `nodes: is no attribute of this request`},
		`{"vnfcInstanceId":[]}`:                                             {&vnflcm.HealVnfRequest{}, `vnfcInstanceId: names no VNFC: leave the attribute out to heal the whole VNF`},
		`{"vnfcInstanceId":null}`:                                           {&vnflcm.HealVnfRequest{}, `vnfcInstanceId: names no VNFC: leave the attribute out to heal the whole VNF`},
		`{"type":"SCALE_IN","aspectId":"a","numberofSteps":1}`:              {&vnflcm.ScaleVnfRequest{}, `numberofSteps: is no attribute of this request; did you mean "numberOfSteps"?`},
		`{"terminationType":"GRACEFUL","gracefulTerminationTimeouts":"60"}`: {&vnflcm.TerminateVnfRequest{}, `gracefulTerminationTimeouts: is no attribute of this request; did you mean "gracefulTerminationTimeout"?`},
		`{}`: {&vnflcm.HealVnfRequest{}, ""},
		`{"vnfcInstanceId":["w1"],"additionalParams":{"alll":true}}`: {&vnflcm.HealVnfRequest{}, ""},
		`{"flavourId":"f","flavorId":"f"}`:                           {&vnflcm.InstantiateVnfRequest{}, ""},
	} {
		_, err := vnflcm.DecodeRequest([]byte(body), want.into)
		got := ""
		if err != nil {
			got = err.Error()
			wantIs(t, err, vnflcm.ErrInvalidRequest)
		}
		if diff := cmp.Diff(want.fault, got); diff != "" {
			t.Errorf("%s:\n%s", body, diff)
		}
	}
}

// TestEmptyHealIsRefused holds it for callers in Go too: an empty list is not the whole VNF.
func TestEmptyHealIsRefused(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	id := x.instantiated("plain")
	var fromJSON vnflcm.HealVnfRequest
	must(t, json.Unmarshal([]byte(`{"vnfcInstanceId":[]}`), &fromJSON))
	for _, req := range []vnflcm.HealVnfRequest{{VnfcInstanceID: []string{}}, fromJSON} {
		_, err := x.Heal(t.Context(), id, req)
		wantFaults(t, err, "vnfcInstanceId")
	}
	opID, err := x.Heal(t.Context(), id, vnflcm.HealVnfRequest{})
	x.wait(opID, err, vnflcm.Completed)
}
