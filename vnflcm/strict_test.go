package vnflcm_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestTyposAreRefused checks that a misspelt attribute does not extend a request to more than the client meant, at any depth.
func TestTyposAreRefused(t *testing.T) {
	t.Parallel()
	const beside = ", which is given beside additionalParams?"
	for body, want := range map[string]struct {
		into  any
		fault string
	}{
		`{"vnfcInstanceIds":["w1"]}`:                                        {&vnflcm.HealVnfRequest{}, `vnfcInstanceIds: is no attribute of this request; did you mean "vnfcInstanceId"?`},
		`{"VNFCINSTANCEID":["w1"]}`:                                         {&vnflcm.HealVnfRequest{}, `VNFCINSTANCEID: is no attribute of this request; did you mean "vnfcInstanceId"?`},
		`{"vnfc_instance_id":["w1"]}`:                                       {&vnflcm.HealVnfRequest{}, `vnfc_instance_id: is no attribute of this request; did you mean "vnfcInstanceId"?`},
		`{"nodes":["w1"]}`:                                                  {&vnflcm.HealVnfRequest{}, `nodes: is no attribute of this request`},
		`{"vnfcInstanceId":[]}`:                                             {&vnflcm.HealVnfRequest{}, `vnfcInstanceId: names no VNFC: leave the attribute out to heal the whole VNF`},
		`{"vnfcInstanceId":null}`:                                           {&vnflcm.HealVnfRequest{}, `vnfcInstanceId: names no VNFC: leave the attribute out to heal the whole VNF`},
		`{"type":"SCALE_IN","aspectId":"a","numberofSteps":1}`:              {&vnflcm.ScaleVnfRequest{}, `numberofSteps: is no attribute of this request; did you mean "numberOfSteps"?`},
		`{"scaleInfo":[{"aspectId":"a","scaleLevel":1,"vnfdid":"v"}]}`:      {&vnflcm.ScaleVnfToLevelRequest{}, `scaleInfo[0].vnfdid: is no attribute of this request; did you mean "vnfdId"?`},
		`{"terminationType":"GRACEFUL","gracefulTerminationTimeouts":"60"}`: {&vnflcm.TerminateVnfRequest{}, `gracefulTerminationTimeouts: is no attribute of this request; did you mean "gracefulTerminationTimeout"?`},
		`{"extVirtualLinks":[{"id":"l","extCps":[{"cpdId":"c","cpConfig":{"a":{"linkportId":"p"}}}]}]}`: {&vnflcm.ChangeExtVnfConnectivityRequest{},
			`extVirtualLinks[0].extCps[0].cpConfig[0].linkportId: is no attribute of this request; did you mean "linkPortId"?`},
		`{"vimConnectionInfo":{"v":{"vimid":"x"}}}`: {&vnflcm.ChangeExtVnfConnectivityRequest{}, `vimConnectionInfo[0].vimid: is no attribute of this request; did you mean "vimId"?`},

		`{"additionalParams":{"vnfcInstanceId":["w1"]}}`:  {&vnflcm.HealVnfRequest{}, `additionalParams.vnfcInstanceId: has no effect there: give it beside additionalParams`},
		`{"additionalParams":{"vnfcInstanceIds":["w1"]}}`: {&vnflcm.HealVnfRequest{}, `additionalParams.vnfcInstanceIds: did you mean "vnfcInstanceId"` + beside},
		`{"additionalParams":{"al":false}}`:               {&vnflcm.HealVnfRequest{}, `additionalParams.al: did you mean "all"?`},
		`{"additionalParams":{"ALL":"false"}}`:            {&vnflcm.HealVnfRequest{}, `additionalParams.ALL: did you mean "all"?`},

		`{}`: {&vnflcm.HealVnfRequest{}, ""},
		`{"additionalParams":{"all":false,"ball":true}}`:             {&vnflcm.HealVnfRequest{}, ""},
		`{"additionalParams":{"call":"me","k8s":{"al":true}}}`:       {&vnflcm.HealVnfRequest{}, ""},
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

// TestStandardAttributesAreAccepted checks that strict requests are not refused for attributes of later versions of SOL003 and of Tacker.
// Each attribute without effect is named.
func TestStandardAttributesAreAccepted(t *testing.T) {
	t.Parallel()
	const body = `{"extVirtualLinks":[{"id":"l","vimConnectionId":"v","resourceProviderId":"p","resourceId":"n","extNetAttDefResourceData":[{"netAttDefResourceId":"a"}],
		"extCps":[{"cpdId":"c","cpConfig":{"a":{"parentCpConfigId":"x","linkPortId":"p","createExtLinkPort":true,"netAttDefResourceId":["a"],"cpProtocolData":[
			{"layerProtocol":"IP_OVER_ETHERNET","virtualCpAddress":{"type":"IPV4"},"ipOverEthernet":{"segmentationId":"7","segmentationType":"VLAN"}}]}}}],
		"extLinkPorts":[{"id":"p","trunkResourceId":"t","resourceHandle":{"resourceId":"r","vimLevelResourceType":"LINKPORT","containerNamespace":"n",
			"vimLevelAdditionalResourceInfo":{"hostName":"h"}}}]}],
		"vimConnectionInfo":[{"id":"v","vimType":"t","vimConnectionId":"of Tacker's sample"}]}`
	warnings, err := vnflcm.DecodeRequest([]byte(body), &vnflcm.ChangeExtVnfConnectivityRequest{})
	must(t, err)
	var want []string
	for _, path := range []string{"extCps[0].cpConfig[0].cpProtocolData[0].ipOverEthernet.segmentationId", "extCps[0].cpConfig[0].cpProtocolData[0].ipOverEthernet.segmentationType",
		"extCps[0].cpConfig[0].cpProtocolData[0].virtualCpAddress", "extCps[0].cpConfig[0].createExtLinkPort", "extCps[0].cpConfig[0].netAttDefResourceId",
		"extCps[0].cpConfig[0].parentCpConfigId", "extLinkPorts[0].resourceHandle.containerNamespace", "extLinkPorts[0].resourceHandle.vimLevelAdditionalResourceInfo",
		"extLinkPorts[0].trunkResourceId", "extNetAttDefResourceData", "vimConnectionId"} {
		want = append(want, "extVirtualLinks[0]."+path+": has no effect in vnfkit")
	}
	want = append(want, "vimConnectionInfo[0].vimConnectionId: has no effect in vnfkit")
	if diff := cmp.Diff(want, warnings); diff != "" {
		t.Error(diff)
	}
}

// TestManyMisspeltAttributes checks that all are reported, and a name suggested for the first 100.
func TestManyMisspeltAttributes(t *testing.T) {
	t.Parallel()
	body := map[string]int{}
	for i := range 1000 {
		body[fmt.Sprintf("flavourId%03d", i)] = i
	}
	text, err := json.Marshal(body)
	must(t, err)
	warnings, err := vnflcm.DecodeRequest(text, &vnflcm.InstantiateVnfRequest{})
	must(t, err)
	suggested := 0
	for _, w := range warnings {
		if strings.HasSuffix(w, `did you mean "flavourId"?`) {
			suggested++
		}
	}
	if len(warnings) != 1000 || suggested != 100 {
		t.Errorf("%d warnings, %d of them with a name", len(warnings), suggested)
	}
}

// TestEmptyHealIsRefused checks for callers in Go that neither an empty list nor a list in the wrong place means the whole VNF.
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
	_, err := x.Heal(t.Context(), id, vnflcm.HealVnfRequest{AdditionalParams: params(t, `{"vnfcInstanceId":["w1"]}`)})
	wantFaults(t, err, "additionalParams.vnfcInstanceId")
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
