package vnflcm_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// shownParams returns the operationParams in the document of an operation.
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
	for _, of := range []any{x.get(occ.VnfInstanceID), occ.ChangedInfo} {
		text, err := json.Marshal(of)
		must(t, err)
		var inst struct{ Extensions, VimConnectionInfo any }
		must(t, json.Unmarshal(text, &inst))
		if diff := cmp.Diff([]any{extensions, vims}, []any{inst.Extensions, inst.VimConnectionInfo}); diff != "" {
			t.Errorf("%T:\n%s", of, diff)
		}
	}

	// If the composition no longer has the driver, no parameter is public.
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
		if _, err := vnflcm.New(t.Context(), x.cfg); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestMaskedValuesAreRefused checks that a client cannot overwrite a secret with the masked value that it has read.
func TestMaskedValuesAreRefused(t *testing.T) {
	t.Parallel()
	const body = `{"flavourId":"***","additionalParams":{"a":[{"b":"***"}],"c":"d***"},"extensions":"***","unknown":["***"],
		"vimConnectionInfo":{"v":{"vimType":"toy","accessInfo":{"password":"***"}}}}`
	want := []string{"additionalParams.a[0].b", "extensions", "flavourId", "unknown[0]", "vimConnectionInfo[0].accessInfo.password"}
	_, err := vnflcm.DecodeRequest([]byte(body), new(vnflcm.InstantiateVnfRequest))
	if diff := cmp.Diff(want, faults(err)); diff != "" {
		t.Errorf("DecodeRequest: %v\n%s", err, diff)
	}
	_, err = vnflcm.DecodeRequest([]byte(`{"vnfdId":"v","metadata":{"a":{"b":"***"}}}`), new(vnflcm.CreateVnfRequest))
	if diff := cmp.Diff([]string{"metadata.a.b"}, faults(err)); diff != "" {
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

func TestMetadataWithObjects(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	const metadata = `{"list":[1,"two"],"number":12345678901234567890,"object":{"a":{"b":true}},"text":"t"}`
	var req vnflcm.CreateVnfRequest
	_, err := vnflcm.DecodeRequest([]byte(`{"vnfdId":"`+toyVNFD+`","metadata":`+metadata+`}`), &req)
	must(t, err)
	inst, err := x.Create(t.Context(), req)
	must(t, err)
	for _, inst := range []*vnflcm.VnfInstance{inst, x.get(inst.ID)} {
		text, err := json.Marshal(inst.Metadata)
		must(t, err)
		if diff := cmp.Diff(metadata, string(text)); diff != "" {
			t.Error(diff)
		}
	}
	_, err = vnflcm.DecodeRequest([]byte(`{"vnfdId":"v","metadata":["canary"]}`), new(vnflcm.CreateVnfRequest))
	if diff := cmp.Diff([]string{"metadata"}, faults(err)); diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

// changes are the changes in the document of an operation.
type changes struct {
	Resources vnflcm.ResourceChanges
	Info      []string // ids of VIM connections
	Links     []string // ids of external links
}

func changesOf(occ *vnflcm.VnfLcmOpOcc) (out changes) {
	if occ.ResourceChanges != nil {
		out.Resources = *occ.ResourceChanges
	}
	if occ.ChangedInfo != nil {
		for _, vim := range occ.ChangedInfo.VimConnectionInfo {
			out.Info = append(out.Info, vim.ID)
		}
	}
	for _, link := range occ.ChangedExtConnectivity {
		out.Links = append(out.Links, link.ID)
	}
	return out
}

func handle(id string) vnflcm.ResourceHandle {
	return vnflcm.ResourceHandle{VimConnectionID: "vim1", ResourceID: id}
}

func affected(change vnflcm.ChangeType, vdu, id, resource string) vnflcm.AffectedVnfc {
	return vnflcm.AffectedVnfc{ID: id, VduID: vdu, ChangeType: change, ComputeResource: handle(resource)}
}

func affectedLink(change vnflcm.ChangeType, resource string) []vnflcm.AffectedVirtualLink {
	return []vnflcm.AffectedVirtualLink{{ID: "link", VirtualLinkDescID: "internal", ChangeType: change, NetworkResource: handle(resource)}}
}

func affectedStorage(change vnflcm.ChangeType, vnfc, resource string) vnflcm.AffectedVirtualStorage {
	return vnflcm.AffectedVirtualStorage{ID: "volume-" + vnfc, VirtualStorageDescID: "data", ChangeType: change, StorageResource: handle("vol-" + resource)}
}

// TestWhatOperationsHaveChanged checks that the document of an operation has the changed resources so far, also after a failure, and the
// changed attributes and links of the instance once the operation has ended.
func TestWhatOperationsHaveChanged(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	x.cfg.Infra = map[string]vnflcm.InfraDriver{"toy": richCloud{&cloud{world: x.world}}}
	x.start()
	id := x.create()
	check := func(what string, occ *vnflcm.VnfLcmOpOcc, want changes) {
		t.Helper()
		if diff := cmp.Diff(want, changesOf(occ)); diff != "" {
			t.Errorf("%s:\n%s", what, diff)
		}
	}
	added := changes{Resources: vnflcm.ResourceChanges{
		AffectedVnfcs: []vnflcm.AffectedVnfc{affected("ADDED", "master", "master-0", "vm-master-0-0"), affected("ADDED", "worker", "worker-0", "vm-worker-0-0"),
			affected("ADDED", "worker", "worker-1", "vm-worker-1-0")},
		AffectedVirtualLinks: affectedLink("ADDED", "net-3"),
		AffectedVirtualStorages: []vnflcm.AffectedVirtualStorage{affectedStorage("ADDED", "master-0", "vm-master-0-0"),
			affectedStorage("ADDED", "worker-0", "vm-worker-0-0"), affectedStorage("ADDED", "worker-1", "vm-worker-1-0")}}}

	x.world.failAt("instantiate_end/init/", errCut)
	opID, err := x.Instantiate(t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "undo", ExtVirtualLinks: link("a", "net-a", "worker_cp")})
	occ, _ := x.wait(opID, err, vnflcm.FailedTemp)
	check("instantiate, failed", occ, added)
	occ, _ = x.wait(opID, x.Rollback(t.Context(), opID), vnflcm.RolledBack)
	check("instantiate, rolled back", occ, changes{})
	x.world.failAt("instantiate_end/init/", nil)
	opID, err = x.Instantiate(t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "undo", ExtVirtualLinks: link("a", "net-a", "worker_cp")})
	occ, _ = x.wait(opID, err, vnflcm.Completed)
	added.Info, added.Links = []string{"vim1"}, []string{"a"}
	check("instantiate", occ, added)

	opID, err = x.Scale(t.Context(), id, scale(vnflcm.ScaleOut, 1))
	occ, _ = x.wait(opID, err, vnflcm.Completed)
	check("scale out", occ, changes{Resources: vnflcm.ResourceChanges{AffectedVnfcs: []vnflcm.AffectedVnfc{affected("ADDED", "worker", "worker-2", "vm-worker-2-0")},
		AffectedVirtualLinks:    affectedLink("MODIFIED", "net-4"),
		AffectedVirtualStorages: []vnflcm.AffectedVirtualStorage{affectedStorage("ADDED", "worker-2", "vm-worker-2-0")}}})

	opID, err = x.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{"worker-0"}})
	occ, _ = x.wait(opID, err, vnflcm.Completed)
	check("heal", occ, changes{Resources: vnflcm.ResourceChanges{AffectedVnfcs: []vnflcm.AffectedVnfc{affected("MODIFIED", "worker", "worker-0", "vm-worker-0-0+")},
		AffectedVirtualStorages: []vnflcm.AffectedVirtualStorage{affectedStorage("MODIFIED", "worker-0", "vm-worker-0-0+")}}})

	opID, err = x.ChangeExtConn(t.Context(), id, vnflcm.ChangeExtVnfConnectivityRequest{ExtVirtualLinks: link("b", "net-b", "master_cp")})
	occ, _ = x.wait(opID, err, vnflcm.Completed)
	check("change of external connectivity", occ, changes{Links: []string{"b"}})

	x.world.failAt("scale/delete/worker-2", errCut)
	opID, err = x.Scale(t.Context(), id, scale(vnflcm.ScaleIn, 2))
	x.wait(opID, err, vnflcm.FailedTemp)
	must(t, x.Fail(t.Context(), opID))
	x.world.failAt("scale/delete/worker-2", nil)
	occ, err = x.Operation(t.Context(), opID)
	must(t, err)
	if n := len(occ.ResourceChanges.AffectedVnfcs); n != 1 {
		t.Errorf("scale in, given up after one VNFC: %+v", occ.ResourceChanges)
	}

	opID, err = x.Terminate(t.Context(), id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful})
	occ, _ = x.wait(opID, err, vnflcm.Completed)
	got := changesOf(occ)
	if len(got.Resources.AffectedVnfcs) != 3 || got.Resources.AffectedVnfcs[0] != affected("REMOVED", "master", "master-0", "vm-master-0-0") ||
		cmp.Diff(affectedLink("REMOVED", "net-3"), got.Resources.AffectedVirtualLinks) != "" || len(got.Resources.AffectedVirtualStorages) != 3 || got.Info != nil || got.Links != nil {
		t.Errorf("terminate: %+v", got)
	}
}

// TestConnectionsHaveIDsAndTypes checks that documents have the ids and types that SOL003 requires, although requests may omit them.
func TestConnectionsHaveIDsAndTypes(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	must(t, x.VIMs().Put(t.Context(), vnflcm.VimConnectionInfo{VimID: "other", VimType: "kubernetes"}))
	id := x.create()
	access := params(t, `{"user":"u"}`)
	opID, err := x.Instantiate(t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "plain", VimConnectionInfo: vnflcm.VimConnections{
		{VimID: "vim1"}, {VimID: "other"}, {VimType: "toy", AccessInfo: access}, {VimType: "toy"}}})
	x.wait(opID, err, vnflcm.Completed)
	want := vnflcm.VimConnections{{ID: "vim1", VimID: "vim1", VimType: "toy"}, {ID: "other", VimID: "other", VimType: "kubernetes"},
		{ID: "vim", VimType: "toy", AccessInfo: access}, {ID: "vim-2", VimType: "toy"}}
	if diff := cmp.Diff(want, x.get(id).VimConnectionInfo); diff != "" {
		t.Error(diff)
	}
	_, err = x.Instantiate(t.Context(), x.create(), vnflcm.InstantiateVnfRequest{FlavourID: "plain", VimConnectionInfo: vnflcm.VimConnections{{VimID: "vim1"}, {VimID: "unknown"}}})
	if diff := cmp.Diff([]string{"vimConnectionInfo[1].vimType"}, faults(err)); diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}
