package vnflcm_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/vnfkit/vnfkit/internal/fulltest"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/sol003"
)

// keywords are the keywords of JSON Schema with the same meaning in OpenAPI 3.0. A validator for JSON Schema can validate a schema that
// has only these keywords.
var keywords = []string{"additionalProperties", "anyOf", "default", "definitions", "description", "enum", "format", "items", "minItems", "oneOf",
	"properties", "required", "title", "type", "$schema", "$id"}

// schemaOf compiles a schema of testdata/sol003.
func schemaOf(t *testing.T, file string) *jsonschema.Schema {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "sol003", file)) //nolint:gosec // test data
	must(t, err)
	tree, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	must(t, err)
	correct(t, tree)
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft4) // OpenAPI 3.0 is derived from this draft
	c.AssertFormat()
	for name, valid := range map[string]func(string) error{
		"IP":  func(s string) error { _, err := netip.ParseAddr(s); return err },
		"MAC": func(s string) error { _, err := net.ParseMAC(s); return err },
	} {
		c.RegisterFormat(&jsonschema.Format{Name: name, Validate: func(v any) error {
			s, _ := v.(string)
			return valid(s)
		}})
	}
	must(t, c.AddResource(file, tree))
	schema, err := c.Compile(file)
	must(t, err)
	return schema
}

// correct corrects the OpenAPI definition of SOL003 v3.3.1 where it deviates from the specification, which takes precedence over it. The
// definition requires "exactly one of addresses and addressRange" of the object around the list ipAddresses instead of its items
// (4.4.1.10c and 5.5.3.10), and calls addressRange of a request ipAddressRange. Unknown keywords fail the test.
func correct(t *testing.T, schema any) {
	t.Helper()
	switch s := schema.(type) {
	case []any:
		for _, each := range s {
			correct(t, each)
		}
	case map[string]any:
		for name := range s {
			if !slices.Contains(keywords, name) {
				t.Fatalf("%q is no keyword that JSON Schema and OpenAPI have in common", name)
			}
		}
		properties, _ := s["properties"].(map[string]any)
		if addresses, ok := properties["ipAddresses"].(map[string]any); ok && s["oneOf"] != nil {
			text, err := json.Marshal(s["oneOf"])
			must(t, err)
			oneOf, err := jsonschema.UnmarshalJSON(bytes.NewReader(bytes.ReplaceAll(text, []byte("ipAddressRange"), []byte("addressRange"))))
			must(t, err)
			addresses["items"].(map[string]any)["oneOf"] = oneOf
			delete(s, "oneOf")
		}
		for _, p := range properties {
			correct(t, p)
		}
		for _, name := range []string{"items", "oneOf", "anyOf", "additionalProperties"} {
			correct(t, s[name])
		}
	}
}

// documents collects and validates the documents that a Manager returns.
type documents struct {
	t       *testing.T
	schemas map[string]*jsonschema.Schema
	mu      sync.Mutex
	total   map[string]int
	known   map[string]bool
	seen    map[string]bool // operations and states that were validated
}

// The files of the schemas.
const (
	instanceV1  = "2.6.1/vnfInstance.schema.json"
	operationV1 = "2.6.1/vnfLcmOpOcc.schema.json"
	problemV1   = "2.6.1/ProblemDetails.schema.json"
	instanceV2  = "3.3.1/VnfInstance.json"
	operationV2 = "3.3.1/VnfLcmOpOcc.json"
)

var requestsV2 = map[vnflcm.LcmOperation]string{vnflcm.OpInstantiate: "3.3.1/InstantiateVnfRequest.json", vnflcm.OpScale: "3.3.1/ScaleVnfRequest.json",
	vnflcm.OpScaleToLevel: "3.3.1/ScaleVnfToLevelRequest.json",
	vnflcm.OpHeal:         "3.3.1/HealVnfRequest.json", vnflcm.OpTerminate: "3.3.1/TerminateVnfRequest.json",
	vnflcm.OpModifyInfo: "3.3.1/VnfInfoModificationRequest.json", vnflcm.OpChangeExtConn: "3.3.1/ChangeExtVnfConnectivityRequest.json"}

func newDocuments(t *testing.T) *documents {
	d := &documents{t: t, schemas: map[string]*jsonschema.Schema{}, total: map[string]int{}, known: map[string]bool{}, seen: map[string]bool{}}
	for _, file := range []string{instanceV1, operationV1, problemV1, instanceV2, operationV2} {
		d.schemas[file] = schemaOf(t, file)
	}
	for _, file := range requestsV2 {
		d.schemas[file] = schemaOf(t, file)
	}
	return d
}

// varying matches the times and ids in a document. Unless VNFKIT_FULL is set, only one of the documents that differ only in these is
// validated.
var varying = regexp.MustCompile(`[0-9]{4}-[0-9]{2}-[0-9]{2}T[^"]*|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}`)

// check searches a document for secrets. It validates the document and returns true if the document is new.
func (d *documents) check(file string, text []byte) bool {
	d.t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if bytes.Contains(text, []byte("canary")) {
		d.t.Errorf("a secret is in %s", text)
	}
	key := file + string(text)
	if !fulltest.Enabled() {
		key = file + string(varying.ReplaceAll(text, nil))
	}
	if d.known[key] {
		return false // unchanged since the last step
	}
	d.known[key] = true
	d.total[file]++
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err == nil {
		err = d.schemas[file].Validate(document)
	}
	if err != nil {
		d.total[file+" invalid"]++
		d.t.Errorf("%v\n%s", err, text)
	}
	return true
}

// showInstance validates an instance in both versions of the API, and reads it back.
func (d *documents) showInstance(ctx context.Context, m *vnflcm.Manager, id string) {
	d.t.Helper()
	inst, err := m.Get(ctx, id)
	must(d.t, err)
	text, err := json.Marshal(inst)
	must(d.t, err)
	if !d.check(instanceV1, text) {
		return
	}
	readBack(d.t, text, new(vnflcm.VnfInstance))
	v2, err := sol003.MarshalInstanceV2(inst)
	must(d.t, err)
	d.check(instanceV2, v2)
	must(d.t, json.Unmarshal(v2, new(vnflcm.VnfInstance)))
}

// showOperation validates an operation, its problem and its request in both versions of the API, and reads them back.
func (d *documents) showOperation(ctx context.Context, m *vnflcm.Manager, opID string) {
	d.t.Helper()
	occ, err := m.Operation(ctx, opID)
	must(d.t, err)
	text, err := json.Marshal(occ)
	must(d.t, err)
	if !d.check(operationV1, text) {
		return
	}
	d.mu.Lock()
	d.seen[fmt.Sprintf("%s %s", occ.Operation, occ.OperationState)] = true
	d.mu.Unlock()
	readBack(d.t, text, new(vnflcm.VnfLcmOpOcc))
	if occ.Error != nil {
		problem, err := json.Marshal(occ.Error)
		must(d.t, err)
		d.check(problemV1, problem)
	}
	v2, err := sol003.MarshalOperationV2(occ)
	must(d.t, err)
	d.check(operationV2, v2)
	var shown struct{ OperationParams json.RawMessage }
	must(d.t, json.Unmarshal(v2, &shown))
	d.check(requestsV2[occ.Operation], shown.OperationParams)
	must(d.t, json.Unmarshal(v2, new(vnflcm.VnfLcmOpOcc)))
}

// readBack decodes a document into the type of this package and compares the encoding.
func readBack(t *testing.T, text []byte, into any) {
	t.Helper()
	must(t, json.Unmarshal(text, into))
	again, err := vnflcm.RevealJSON(into)
	must(t, err)
	if diff := cmp.Diff(treeOf(t, text), treeOf(t, again)); diff != "" {
		t.Errorf("a document before and after decoding and encoding:\n%s", diff)
	}
}

// richCloud is a cloud whose machines have every attribute of a document.
type richCloud struct{ *cloud }

// ConnectionPoints names a connection point of the machines that the VNFD does not have.
func (richCloud) ConnectionPoints(*vnflcm.Operation) (map[string]string, error) {
	return map[string]string{"bare": "worker_cp"}, nil
}

func (c richCloud) Resources(ctx context.Context, op *vnflcm.Operation) (vnflcm.Resources, error) {
	out, err := c.cloud.Resources(ctx, op)
	for i := range out.VNFCs {
		v := &out.VNFCs[i]
		volume := vnflcm.Storage{ID: "volume-" + v.ID, Descriptor: "data", ResourceID: "vol-" + v.ResourceID}
		out.Storages = append(out.Storages, volume)
		v.StorageIDs, v.Zone, v.Metadata = []string{volume.ID}, "nova", map[string]string{"k": "v"}
		v.CPs = []vnflcm.ConnectionPoint{
			{CPD: v.VDU + "_cp", ResourceID: "port-" + v.ResourceID, MAC: "fa:16:3e:00:00:01", Fixed: []netip.Addr{netip.MustParseAddr("10.0.0.5"), netip.MustParseAddr("2001:db8::5")}},
			{CPD: "bare", ResourceID: "bare-" + v.ResourceID}}
	}
	if len(out.VNFCs) > 0 {
		out.VirtualLinks = []vnflcm.VirtualLink{{ID: "link", VLD: "internal", ResourceID: fmt.Sprintf("net-%d", len(out.VNFCs))}}
		out.ConnectionPoints = []vnflcm.ConnectionPoint{{CPD: "vip", ResourceID: "vip", Fixed: []netip.Addr{netip.MustParseAddr("10.0.0.9")}}}
		out.Metadata = map[string]string{"stack": "s"}
	}
	return out, err
}

// TestEveryDocumentIsSOL003 validates every document of every operation, while the operation runs, fails, is rolled back and has ended,
// with ETSI's schemas of SOL003 v2.6.1 (TST010) and v3.3.1.
func TestEveryDocumentIsSOL003(t *testing.T) {
	t.Parallel()
	d := newDocuments(t)
	x := newToys(t, nil)
	x.cfg.Infra = map[string]vnflcm.InfraDriver{"toy": richCloud{&cloud{world: x.world}}}
	x.cfg.Intercept = func(ctx context.Context, step vnflcm.StepInfo, next func(context.Context) error) error {
		if occ, err := x.Operation(ctx, step.OperationID); err == nil {
			d.showInstance(ctx, x.Manager, occ.VnfInstanceID)
			d.showOperation(ctx, x.Manager, step.OperationID)
		}
		return next(ctx)
	}
	x.start()
	must(t, x.VIMs().Put(t.Context(), vnflcm.VimConnectionInfo{VimID: "registered", VimType: "toy", AccessInfo: params(t, `{"password":"canary-registered"}`)}))

	secrets := params(t, `{"password":"canary-1","replicas":3,"list":[{"pin":4711},null,true,"canary-2"],"proxy":"http://u:canary-3@h/","empty":{}}`)
	links := []vnflcm.ExtVirtualLinkData{
		{ID: "a", ResourceID: "net-a", ExtCps: []vnflcm.VnfExtCpData{{CpdID: "worker_cp"}}, ExtLinkPorts: []vnflcm.ExtLinkPortData{{ID: "p", ResourceHandle: vnflcm.ResourceHandle{ResourceID: "port-1"}}}},
		{ID: "b", ResourceID: "net-b", ExtCps: []vnflcm.VnfExtCpData{{CpdID: "master_cp", CpConfig: vnflcm.ExtCpConfigs{{LinkPortID: "p"},
			{CpInstanceID: "named", CpProtocolData: []vnflcm.CpProtocolData{{LayerProtocol: "IP_OVER_ETHERNET", IPOverEthernet: &vnflcm.IPOverEthernetAddressData{
				IPAddresses: []vnflcm.IPAddressData{{Type: "IPV4", FixedAddresses: []string{"10.0.0.7"}}, {Type: "IPV4", NumDynamicAddresses: 1},
					{Type: "IPV4", AddressRange: &vnflcm.AddressRange{MinAddress: "10.0.0.1", MaxAddress: "10.0.0.9"}}}}}}}}}}}}
	instantiate := vnflcm.InstantiateVnfRequest{FlavourID: "undo", AdditionalParams: secrets, Extensions: params(t, `{"zones":["a"],"secret":"canary-4"}`),
		VnfConfigurableProperties: params(t, `{"isAutoscaleEnabled":true,"pin":"canary-10"}`), LocalizationLanguage: "en", ExtVirtualLinks: links,
		ExtManagedVirtualLinks: []vnflcm.ExtManagedVirtualLinkData{{ID: "m", VirtualLinkDescID: "internal", ResourceID: "net-m"}},
		VimConnectionInfo: vnflcm.VimConnections{{VimID: "own", VimType: "toy", AccessInfo: params(t, `{"password":"canary-5","user":"u"}`),
			InterfaceInfo: params(t, `{"endpoint":"https://user:canary-6@vim/v3","port":443}`), Extra: params(t, `{"deep":{"token":"canary-7"}}`)},
			{VimID: "registered", VimType: "toy"}}}
	broken := func(at string) { x.world.failAt(at, fmt.Errorf("canary-1 and canary-7 do not work at %s", at)) }
	repair := func(at string) { x.world.failAt(at, nil) }
	begin := func(id string, start func(context.Context, string) (string, error), want vnflcm.OperationState) string {
		t.Helper()
		opID, err := start(t.Context(), id)
		x.wait(opID, err, want)
		d.showInstance(t.Context(), x.Manager, id)
		d.showOperation(t.Context(), x.Manager, opID)
		return opID
	}
	end := func(id, opID string, err error, want vnflcm.OperationState) {
		t.Helper()
		if want == vnflcm.Failed {
			must(t, err)
		} else {
			x.wait(opID, err, want)
		}
		d.showInstance(t.Context(), x.Manager, id)
		d.showOperation(t.Context(), x.Manager, opID)
	}
	starts := map[string]func(context.Context, string) (string, error){
		"instantiate": func(ctx context.Context, id string) (string, error) { return x.Instantiate(ctx, id, instantiate) },
		"scale out": func(ctx context.Context, id string) (string, error) {
			r := scale(vnflcm.ScaleOut, 1)
			r.AdditionalParams = secrets
			return x.Scale(ctx, id, r)
		},
		"scale in": func(ctx context.Context, id string) (string, error) {
			return x.Scale(ctx, id, scale(vnflcm.ScaleIn, 1))
		},
		"scale to level": func(ctx context.Context, id string) (string, error) {
			r := toLevels("masters", 1, "workers", 0)
			r.AdditionalParams = secrets
			return x.ScaleToLevel(ctx, id, r)
		},
		"heal": func(ctx context.Context, id string) (string, error) {
			return x.Heal(ctx, id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{"worker-0"}, Cause: "alarm", AdditionalParams: secrets})
		},
		"modify": func(ctx context.Context, id string) (string, error) {
			name := "renamed"
			return x.Modify(ctx, id, vnflcm.VnfInfoModificationRequest{VnfInstanceName: &name, Metadata: vnflcm.KeyValuePairs{"site": "north"},
				Extensions: params(t, `{"secret":"canary-8"}`), VnfConfigurableProperties: params(t, `{"isAutoscaleEnabled":false,"pin":"canary-9"}`),
				VimConnectionInfo: vnflcm.VimConnections{{ID: "third", VimType: "toy", AccessInfo: params(t, `{"password":"canary-10"}`)}}}, "")
		},
		"heal all": func(ctx context.Context, id string) (string, error) { return x.Heal(ctx, id, vnflcm.HealVnfRequest{}) },
		"connect": func(ctx context.Context, id string) (string, error) {
			return x.ChangeExtConn(ctx, id, vnflcm.ChangeExtVnfConnectivityRequest{ExtVirtualLinks: link("a", "net-c", "worker_cp"), AdditionalParams: secrets,
				VimConnectionInfo: vnflcm.VimConnections{{VimID: "own", VimType: "toy", AccessInfo: params(t, `{"password":"canary-8"}`)}}})
		},
		"terminate": func(ctx context.Context, id string) (string, error) {
			return x.Terminate(ctx, id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateGraceful, AdditionalParams: secrets})
		},
	}
	created := func() string {
		t.Helper()
		inst, err := x.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: toyVNFD, Metadata: vnflcm.KeyValuePairs{"text": "t", "object": map[string]any{"n": 1}}})
		must(t, err)
		d.showInstance(t.Context(), x.Manager, inst.ID)
		return inst.ID
	}
	running := func() string {
		t.Helper()
		id := created()
		begin(id, starts["instantiate"], vnflcm.Completed)
		return id
	}
	for _, c := range []struct{ start, at string }{
		{"instantiate", "instantiate/create/worker-1"}, {"instantiate", "instantiate_end/join/worker-1"},
		{"scale out", "scale/create/worker-2"}, {"scale out", "scale_end/join/worker-2"},
		{"scale in", "scale/delete/worker-1"}, {"scale to level", "scale.1/create/master-1"}, {"scale to level", "scale_end.1/join/master-2"},
		{"scale to level", "scale.2/delete/worker-1"}, {"heal", "heal/replace/worker-0"}, {"heal", "heal_end/join/worker-0"},
		{"heal all", "heal_end/join/worker-1"}, {"connect", "change_external_connectivity/connect/"}, {"terminate", "terminate/delete/worker-1"},
	} {
		for _, then := range []string{"retry", "rollback", "fail"} {
			if then == "rollback" && (c.start == "scale in" || c.at == "scale.2/delete/worker-1" || c.start == "heal" || c.start == "heal all" || c.start == "terminate") {
				continue // cannot be rolled back
			}
			var id string
			if c.start == "instantiate" {
				id = created()
			} else {
				id = running()
			}
			broken(c.at)
			opID := begin(id, starts[c.start], vnflcm.FailedTemp)
			repair(c.at)
			switch then {
			case "retry":
				end(id, opID, x.Retry(t.Context(), opID), vnflcm.Completed)
			case "rollback":
				end(id, opID, x.Rollback(t.Context(), opID), vnflcm.RolledBack)
			default:
				end(id, opID, x.Fail(t.Context(), opID), vnflcm.Failed)
			}
		}
	}
	t.Logf("documents: %v", d.total)
	for _, kind := range []string{"INSTANTIATE", "SCALE", "SCALE_TO_LEVEL", "HEAL", "CHANGE_EXT_CONN", "TERMINATE"} {
		for _, state := range []string{"PROCESSING", "FAILED_TEMP", "COMPLETED", "FAILED"} {
			if !d.seen[kind+" "+state] {
				t.Errorf("no document of %s in state %s", kind, state)
			}
		}
	}
	for _, want := range []string{"INSTANTIATE ROLLING_BACK", "INSTANTIATE ROLLED_BACK", "SCALE ROLLING_BACK", "SCALE ROLLED_BACK", "SCALE_TO_LEVEL ROLLING_BACK", "SCALE_TO_LEVEL ROLLED_BACK", "CHANGE_EXT_CONN ROLLED_BACK"} {
		if !d.seen[want] {
			t.Errorf("no document of %s", want)
		}
	}
}
