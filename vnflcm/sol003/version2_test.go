package sol003_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/sol003"
)

// tree decodes a document. It fails the test if the document could not be encoded.
func tree(t *testing.T) func(text []byte, err error) map[string]any {
	return func(text []byte, err error) (out map[string]any) {
		t.Helper()
		if err == nil {
			err = json.Unmarshal(text, &out)
		}
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
}

func params(t *testing.T, text string) vnflcm.Params {
	t.Helper()
	p, err := vnflcm.ParseParams([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

type (
	object = map[string]any
	array  = []any
)

func TestInstance(t *testing.T) {
	t.Parallel()
	free := params(t, `{"vimConnectionInfo":[{"id":"x"}],"cpConfig":[1]}`) // attributes with the names of standard attributes must stay unchanged
	instance := &vnflcm.VnfInstance{ID: "i", InstantiationState: vnflcm.Instantiated, Extensions: free,
		VimConnectionInfo: vnflcm.VimConnections{{ID: "a", VimType: "t", Extra: free}, {VimID: "b", VimType: "t"}, {VimType: "t"}, {VimType: "t"}},
		InstantiatedVnfInfo: &vnflcm.InstantiatedVnfInfo{FlavourID: "f", VnfState: "STARTED",
			ExtCpInfo: []vnflcm.VnfExtCpInfo{{ID: "1", CpdID: "cp", CpConfigID: "c", AssociatedVnfcCp: "port"}, {ID: "2", CpdID: "cp", AssociatedVnfcCp: "port"}, {ID: "3", CpdID: "vip"}},
			ExtVirtualLinkInfo: []vnflcm.ExtVirtualLinkInfo{{ID: "l"}, {ID: "m", CurrentVnfExtCpData: []vnflcm.VnfExtCpData{{CpdID: "cp",
				CpConfig: vnflcm.ExtCpConfigs{{LinkPortID: "p"}, {CpInstanceID: "cp-0", LinkPortID: "q"}}}}}}}}
	shown := object{"vimConnectionInfo": array{object{"id": "***"}}, "cpConfig": array{"***"}}
	got := tree(t)(sol003.MarshalInstanceV2(instance))
	info, _ := got["instantiatedVnfInfo"].(object)
	for name, diff := range map[string]string{
		"vimConnectionInfo": cmp.Diff(object{"a": object{"vimType": "t", "extra": shown}, "b": object{"vimId": "b", "vimType": "t"},
			"vim": object{"vimType": "t"}, "vim-2": object{"vimType": "t"}}, got["vimConnectionInfo"]),
		"extensions": cmp.Diff(any(shown), got["extensions"]),
		"extCpInfo": cmp.Diff(array{object{"id": "1", "cpdId": "cp", "cpConfigId": "c", "associatedVnfcCpId": "port"},
			object{"id": "2", "cpdId": "cp", "cpConfigId": "cp", "associatedVnfcCpId": "port"}}, info["extCpInfo"]),
		"extVirtualLinkInfo": cmp.Diff(array{object{"id": "l", "resourceHandle": object{"resourceId": ""}, "currentVnfExtCpData": array{}},
			object{"id": "m", "resourceHandle": object{"resourceId": ""}, "currentVnfExtCpData": array{object{"cpdId": "cp",
				"cpConfig": object{"cp-0": object{"linkPortId": "q"}, "cp-1": object{"linkPortId": "p"}}}}}}, info["extVirtualLinkInfo"]),
	} {
		if diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}

	instance.InstantiatedVnfInfo.ExtCpInfo = instance.InstantiatedVnfInfo.ExtCpInfo[2:]
	info, _ = tree(t)(sol003.MarshalInstanceV2(instance))["instantiatedVnfInfo"].(object)
	if list, there := info["extCpInfo"]; there {
		t.Errorf("extCpInfo has at least one item in version 2: %v", list)
	}
	none := tree(t)(sol003.MarshalInstanceV2(&vnflcm.VnfInstance{ID: "i"}))
	if diff := cmp.Diff(tree(t)(json.Marshal(&vnflcm.VnfInstance{ID: "i"})), none); diff != "" {
		t.Errorf("an instance that is not instantiated:\n%s", diff)
	}
}

func TestOperation(t *testing.T) {
	t.Parallel()
	// Without a Manager no parameter is public, so all values are masked.
	operation := &vnflcm.VnfLcmOpOcc{ID: "o", Operation: vnflcm.OpInstantiate,
		OperationParams: params(t, `{"extVirtualLinks":[{"id":"l","extCps":[{"cpdId":"cp","cpConfig":[{"linkPortId":"p"}]}]}],
			"vimConnectionInfo":[{"vimId":"v"}],"extManagedVirtualLinks":[{"id":"m","virtualLinkDescId":"d"}],"additionalParams":{"vimConnectionInfo":[]}}`),
		ResourceChanges: &vnflcm.ResourceChanges{AffectedVirtualLinks: []vnflcm.AffectedVirtualLink{{ID: "l", VirtualLinkDescID: "d", ChangeType: vnflcm.VnfcAdded}}}}
	got := tree(t)(sol003.MarshalOperationV2(operation))
	for name, diff := range map[string]string{
		"operationParams": cmp.Diff(object{"additionalParams": object{"vimConnectionInfo": array{}}, "vimConnectionInfo": object{"***": object{"vimId": "***"}},
			"extManagedVirtualLinks": array{object{"id": "***", "vnfVirtualLinkDescId": "***"}},
			"extVirtualLinks":        array{object{"id": "***", "extCps": array{object{"cpdId": "***", "cpConfig": object{"***-0": object{"linkPortId": "***"}}}}}}}, got["operationParams"]),
		"resourceChanges": cmp.Diff(object{"affectedVirtualLinks": array{object{"id": "l", "vnfVirtualLinkDescId": "d", "changeType": "ADDED",
			"networkResource": object{"resourceId": ""}}}}, got["resourceChanges"]),
		"changedInfo": cmp.Diff(any(object{}), got["changedInfo"]),
	} {
		if diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
	operation.ChangedInfo = &vnflcm.VnfInfoModifications{VimConnectionInfo: vnflcm.VimConnections{{ID: "a", VimType: "t"}}}
	if diff := cmp.Diff(any(object{"vimConnectionInfo": object{"a": object{"vimType": "t"}}}), tree(t)(sol003.MarshalOperationV2(operation))["changedInfo"]); diff != "" {
		t.Errorf("changedInfo:\n%s", diff)
	}
}
