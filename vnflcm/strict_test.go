package vnflcm_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestTyposAreRefused checks that a misspelt attribute does not extend a request to the whole VNF.
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

// TestEmptyHealIsRefused checks for callers in Go that an empty list does not mean the whole VNF.
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

// TestHalfSurrogatePairs checks that every request with half a surrogate pair is refused, because encoding/json replaces it by another
// character.
func TestHalfSurrogatePairs(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]struct {
		into  any
		paths []string
	}{
		`{"vnfdId":"v","vnfInstanceName":"\ud83d\ude00 \\ud800 \u00fc"}`:                                 {&vnflcm.CreateVnfRequest{}, nil},
		`{"vnfdId":"v","vnfInstanceName":"\ud800","metadata":{"a":[{"b":"\uDC00\ud800"}, "\\\udfff"]}}`:  {&vnflcm.CreateVnfRequest{}, []string{"vnfInstanceName", "metadata.a[0].b", "metadata.a[1]"}},
		`{"flavourId":"f", "additionalParams" : {"p": {"\ud800x":1, "q":"\ud800\u0041"}, "r":"\udbff"}}`: {&vnflcm.InstantiateVnfRequest{}, []string{"additionalParams.p.\ufffdx", "additionalParams.p.q", "additionalParams.r"}},
		`{"vnfcInstanceId":["w1","\ud800"]}`:                                                             {&vnflcm.HealVnfRequest{}, []string{"vnfcInstanceId[1]"}},
	} {
		_, err := vnflcm.DecodeRequest([]byte(body), want.into)
		if want.paths == nil {
			if err != nil {
				t.Errorf("%s: %v", body, err)
			}
			continue
		}
		wantFaults(t, err, want.paths...)
	}
}

// TestHalfSurrogatePairsInGo checks the same for Params of callers in Go, whose JSON is stored unchanged. An instance of an earlier version
// with half a surrogate pair can still be healed and changed.
func TestHalfSurrogatePairsInGo(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	half := params(t, `{"a":{"b":"\ud800"}}`)
	_, err := x.Instantiate(t.Context(), x.create(), vnflcm.InstantiateVnfRequest{FlavourID: "plain", AdditionalParams: half})
	wantFaults(t, err, "additionalParams.a.b")
	id := x.instantiated("plain")
	_, err = x.Heal(t.Context(), id, vnflcm.HealVnfRequest{AdditionalParams: half})
	wantFaults(t, err, "additionalParams.a.b")
	_, err = x.Adopt(t.Context(), vnflcm.VnfInstance{VnfdID: toyVNFD, Extensions: half}, vnflcm.InstantiateVnfRequest{FlavourID: "plain"}, "r")
	wantFaults(t, err, "extensions.a.b")
}
