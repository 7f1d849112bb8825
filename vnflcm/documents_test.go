package vnflcm_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// shownParams returns the operationParams of an operation as its document shows them.
func shownParams(t *testing.T, occ *vnflcm.VnfLcmOpOcc) (shown map[string]any) {
	t.Helper()
	text, err := json.Marshal(occ)
	must(t, err)
	var doc struct{ OperationParams map[string]any }
	must(t, json.Unmarshal(text, &doc))
	return doc.OperationParams
}

func TestOperationParamsShowWhatIsDeclared(t *testing.T) {
	t.Parallel()
	x := newToys(t, func(cfg *vnflcm.Config) {
		cfg.PublicParams = []string{"additionalParams.site", "additionalParams.notes[].text", "additionalParams.token_ttl", "additionalParams.quoted",
			"additionalParams.password", "extensions.zones[]", "vimConnectionInfo[].interfaceInfo.endpoint"}
	})
	opID, err := x.Instantiate(t.Context(), x.create(), vnflcm.InstantiateVnfRequest{FlavourID: "plain",
		AdditionalParams: params(t, `{"replicas":3,"password":"canary-1","declared":[{"inner":"canary-2","other":1}],"labels":{"a":"b","c":{"d":"e"}},
			"site":"north","notes":[{"text":"t","more":true}],"token_ttl":"1h","quoted":"uses canary-1","undeclared":"u","none":null,"empty":[{}],
			"notes[].text":"x","declared.inner":"x"}`),
		Extensions: params(t, `{"zones":["a","b"],"other":["c"]}`),
		VimConnectionInfo: vnflcm.VimConnections{{ID: "v", VimType: "toy", AccessInfo: params(t, `{"password":"canary-3","user":"u"}`),
			InterfaceInfo: params(t, `{"endpoint":"https://vim/v3","port":443}`)},
			{ID: "w", VimType: "toy", InterfaceInfo: params(t, `{"endpoint":"https://u:canary-4@vim/v3"}`)}}})
	occ, _ := x.wait(opID, err, vnflcm.Completed)
	vims := []any{
		map[string]any{"id": "v", "vimType": "toy", "accessInfo": map[string]any{"password": "***", "user": "***"},
			"interfaceInfo": map[string]any{"endpoint": "https://vim/v3", "port": "***"}},
		map[string]any{"id": "w", "vimType": "toy", "interfaceInfo": map[string]any{"endpoint": "***"}},
	}
	extensions := map[string]any{"zones": []any{"a", "b"}, "other": []any{"***"}}
	want := map[string]any{"flavourId": "plain", "additionalParams": map[string]any{"replicas": 3.0, "password": "***",
		"declared": []any{map[string]any{"inner": "***", "other": "***"}}, "labels": map[string]any{"a": "b", "c": map[string]any{"d": "***"}},
		"site": "north", "notes": []any{map[string]any{"text": "t", "more": "***"}}, "token_ttl": "1h", "quoted": "***", "undeclared": "***",
		"none": nil, "empty": []any{map[string]any{}}, "notes[].text": "***", "declared.inner": "***"},
		"extensions": extensions, "vimConnectionInfo": vims}
	if diff := cmp.Diff(want, shownParams(t, occ)); diff != "" {
		t.Errorf("operationParams:\n%s", diff)
	}
	text, err := json.Marshal(x.get(occ.VnfInstanceID))
	must(t, err)
	var inst struct{ Extensions, VimConnectionInfo any }
	must(t, json.Unmarshal(text, &inst))
	if diff := cmp.Diff([]any{extensions, vims}, []any{inst.Extensions, inst.VimConnectionInfo}); diff != "" {
		t.Errorf("the instance:\n%s", diff)
	}

	// Nothing is public of a driver that the composition no longer has.
	x.cfg.PublicParams, x.cfg.Mgmt = nil, nil
	x.start()
	occ, err = x.Operation(t.Context(), opID)
	must(t, err)
	if got := shownParams(t, occ)["additionalParams"].(map[string]any); got["replicas"] != "***" || got["site"] != "***" {
		t.Errorf("without the driver: %v", got)
	}
}

func TestMisspelledPublicParams(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	for _, path := range []string{"site", "additionalParams", "additionalParams.", "vimConnectionInfo.accessInfo.x", "flavourId"} {
		x.cfg.PublicParams = []string{path}
		if _, err := vnflcm.New(x.cfg); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestMaskedValuesAreRefused: who writes back what he has read destroys what was masked.
func TestMaskedValuesAreRefused(t *testing.T) {
	t.Parallel()
	const body = `{"flavourId":"***","additionalParams":{"a":[{"b":"***"}],"c":"d***"},"extensions":"***","unknown":["***"],
		"vimConnectionInfo":{"v":{"vimType":"toy","accessInfo":{"password":"***"}}}}`
	want := []string{"additionalParams.a[0].b", "extensions", "flavourId", "unknown[0]", "vimConnectionInfo[0].accessInfo.password"}
	_, err := vnflcm.DecodeRequest([]byte(body), new(vnflcm.InstantiateVnfRequest))
	if diff := cmp.Diff(want, faults(err)); diff != "" {
		t.Errorf("DecodeRequest: %v\n%s", err, diff)
	}

	x := newToys(t, nil)
	masked := params(t, `{"deep":["***"]}`)
	_, err = x.Instantiate(t.Context(), x.create(), vnflcm.InstantiateVnfRequest{FlavourID: "plain", AdditionalParams: masked})
	if diff := cmp.Diff([]string{"additionalParams.deep[0]"}, faults(err)); diff != "" || !errors.Is(err, vnflcm.ErrInvalidRequest) {
		t.Errorf("Instantiate: %v\n%s", err, diff)
	}
	err = x.VIMs().Put(t.Context(), vnflcm.VimConnectionInfo{VimID: "v", VimType: "toy", AccessInfo: masked})
	if diff := cmp.Diff([]string{"accessInfo.deep[0]"}, faults(err)); diff != "" {
		t.Errorf("VIMs().Put: %v\n%s", err, diff)
	}
}
