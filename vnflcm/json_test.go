package vnflcm_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// requestOf returns an empty request of the type in a file name, nil if this package does not have the type.
func requestOf(file string) any {
	switch name := strings.ToLower(filepath.Base(file)); {
	case strings.HasPrefix(name, "create") && strings.Contains(name, "vnfrequest"):
		return new(vnflcm.CreateVnfRequest)
	case strings.HasPrefix(name, "instantiate"):
		return new(vnflcm.InstantiateVnfRequest)
	case strings.HasPrefix(name, "scalevnfrequest"), strings.HasPrefix(name, "scale_"):
		return new(vnflcm.ScaleVnfRequest)
	case strings.HasPrefix(name, "scalevnftolevelrequest"):
		return new(vnflcm.ScaleVnfToLevelRequest)
	case strings.HasPrefix(name, "heal"):
		return new(vnflcm.HealVnfRequest)
	case strings.HasPrefix(name, "terminate"):
		return new(vnflcm.TerminateVnfRequest)
	case strings.HasPrefix(name, "changeextvnfconnectivityrequest"):
		return new(vnflcm.ChangeExtVnfConnectivityRequest)
	case strings.HasPrefix(name, "change_vnfpkg"):
		return new(vnflcm.ChangeCurrentVnfPkgRequest)
	case strings.HasPrefix(name, "operatevnfrequest"):
		return new(vnflcm.OperateVnfRequest)
	}
	return nil
}

func treeOf(t *testing.T, data []byte) any {
	t.Helper()
	var tree any
	must(t, json.Unmarshal(data, &tree))
	return prune(tree)
}

// prune removes attributes with the values "", 0, {}, [] and null, which mean the same as an absent attribute. Free-form attributes stay.
func prune(tree any) any {
	switch v := tree.(type) {
	case map[string]any:
		for key, child := range v {
			if freeForm[key] {
				if m, ok := child.(map[string]any); ok && len(m) == 0 {
					delete(v, key)
				}
				continue
			}
			if v[key] = prune(child); v[key] == nil {
				delete(v, key)
			}
		}
		if len(v) == 0 {
			return nil
		}
	case []any:
		if len(v) == 0 {
			return nil
		}
		for i := range v {
			v[i] = prune(v[i])
		}
	case string:
		if v == "" {
			return nil
		}
	case float64:
		if v == 0 {
			return nil
		}
	}
	return tree
}

var freeForm = map[string]bool{"additionalParams": true, "extensions": true, "interfaceInfo": true, "accessInfo": true, "extra": true}

// roundTrip decodes a body and compares the result of RevealJSON with the body.
func roundTrip(t *testing.T, file string, into any) {
	t.Helper()
	body, err := os.ReadFile(file) //nolint:gosec // test data
	must(t, err)
	warnings, err := vnflcm.DecodeRequest(body, into)
	unknown := slices.DeleteFunc(warnings, func(w string) bool { return strings.HasSuffix(w, ": has no effect in vnfkit") })
	if err != nil || len(unknown) > 0 {
		t.Fatalf("unknown attributes %q, faults: %v", unknown, err)
	}
	again, err := vnflcm.RevealJSON(into)
	must(t, err)
	if diff := cmp.Diff(treeOf(t, body), treeOf(t, again)); diff != "" {
		t.Errorf("the body before and after decoding and encoding:\n%s", diff)
	}
	standard := requestOf(file) // encoding/json, which decodes records of the store, must read the same
	must(t, json.Unmarshal(body, standard))
	if diff := cmp.Diff(into, standard); diff != "" {
		t.Errorf("DecodeRequest and encoding/json:\n%s", diff)
	}
}

func TestRequestsOfTheSpecifications(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/requests/*.json")
	if err != nil || len(files) < 6 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			into := requestOf(file)
			roundTrip(t, file, into)
			masked, err := json.Marshal(into)
			must(t, err)
			for _, secret := range []string{"password1", "password2", "ansible", "user01"} {
				if bytes.Contains(masked, []byte(`:"`+secret+`"`)) || bytes.Contains(masked, []byte(secret+"@")) {
					t.Errorf("%s is in the public JSON: %s", secret, masked)
				}
			}
			if _, err := vnflcm.DecodeRequest(masked, requestOf(file)); len(faults(err)) == 0 {
				t.Errorf("a masked request was taken for a real one: %v", err)
			}
		})
	}
}

func TestRequestsOfTheCorpus(t *testing.T) {
	t.Parallel()
	corpus := os.Getenv("VNFKIT_CORPUS")
	if corpus == "" {
		t.Skip("VNFKIT_CORPUS names no folder with the samples of tackerclient and of ETSI TST010")
	}
	var read int
	for _, pattern := range []string{"sol003/tackerclient-samples/*.json", "sol003/*/VNFLifecycleManagement-API/jsons/*.json"} {
		files, err := filepath.Glob(filepath.Join(corpus, pattern))
		must(t, err)
		for _, file := range files {
			if into := requestOf(file); into != nil {
				read++
				t.Run(filepath.Base(file), func(t *testing.T) { roundTrip(t, file, into) })
			}
		}
	}
	if read < 6 {
		t.Errorf("only %d samples in %s", read, corpus)
	}
}

func TestVersion2MapsAreRead(t *testing.T) {
	t.Parallel()
	const body = `{"flavourId":"simple",
		"vimConnectionInfo":{"vim2":{"vimType":"t2","accessInfo":{"n":12345678901234567890}},"vim1":{"id":"own","vimId":"v1"},"gone":null},
		"extVirtualLinks":[{"id":"net0","resourceId":"r","extCps":[{"cpdId":"CP1","cpConfig":
			{"b":{"linkPortId":"p"},"a":{"cpProtocolData":[{"layerProtocol":"IP_OVER_ETHERNET"}]}}}]}]}`
	want := vnflcm.InstantiateVnfRequest{FlavourID: "simple",
		VimConnectionInfo: vnflcm.VimConnections{{ID: "own", VimID: "v1"},
			{ID: "vim2", VimType: "t2", AccessInfo: params(t, `{"n":12345678901234567890}`)}},
		ExtVirtualLinks: []vnflcm.ExtVirtualLinkData{{ID: "net0", ResourceID: "r", ExtCps: []vnflcm.VnfExtCpData{{CpdID: "CP1",
			CpConfig: vnflcm.ExtCpConfigs{{CpInstanceID: "a", CpProtocolData: []vnflcm.CpProtocolData{{LayerProtocol: "IP_OVER_ETHERNET"}}},
				{CpInstanceID: "b", LinkPortID: "p"}}}}}}}
	var got, standard vnflcm.InstantiateVnfRequest
	unknown, err := vnflcm.DecodeRequest([]byte(body), &got)
	must(t, err)
	if diff := cmp.Diff(want, got); diff != "" || unknown != nil {
		t.Errorf("unknown %q, request:\n%s", unknown, diff)
	}
	must(t, json.Unmarshal([]byte(body), &standard))
	if diff := cmp.Diff(want, standard); diff != "" {
		t.Errorf("encoding/json:\n%s", diff)
	}
}

type node struct {
	Username string        `json:"username"`
	Password vnflcm.Secret `json:"password"`
	Ports    []int         `json:"ports"`
	HA       bool          `json:"ha"`
	IPs      []string      `json:"ips"`
}

type cluster2 struct {
	Master node            `json:"master"`
	Nodes  []node          `json:"nodes"`
	Labels map[string]node `json:"labels"`
	Any    any             `json:"any"`
	Ptr    *int            `json:"ptr"`
}

func TestDecodeFindsEveryFaultInOrder(t *testing.T) {
	t.Parallel()
	const body = `{"z":1,"a":2,"ptr":"x","master":{"username":["u"],"password":["canary"],"ports":"a","ha":"maybe","extra":1},
		"labels":{"b":{"ha":3},"a":"canary"},"nodes":[{"ports":[1,"2",3.5]},"canary"]}`
	want := []string{
		`labels.a: must be an object`, `labels.b.ha: "3": must be true or false`, `master.ha: "maybe": must be true or false`,
		`master.password: must be a string`, `master.ports[0]: "a": must be a whole number`, `master.username: must be a string`,
		`nodes[0].ports[2]: "3.5": must be a whole number`, `nodes[1]: must be an object`, `ptr: "x": must be a whole number`}
	for range 20 {
		var into cluster2
		unknown, err := params(t, body).Decode(&into)
		var got []string
		for _, e := range joinedErrors(err) {
			got = append(got, e.Error())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("faults:\n%s", diff)
		}
		if diff := cmp.Diff([]string{"a", "master.extra", "z"}, unknown); diff != "" {
			t.Fatalf("unknown:\n%s", diff)
		}
	}
}

func TestDecodeIsLenientWhereTheMeaningIsClear(t *testing.T) {
	t.Parallel()
	var got cluster2
	unknown, err := params(t, `{"master":{"username":12,"password":"p","ports":"6443","ha":"True","ips":"10.0.0.1"},
		"nodes":{"ha":true},"any":{"x":[1]},"ptr":null}`).Decode(&got)
	want := cluster2{Master: node{"12", vnflcm.NewSecret("p"), []int{6443}, true, []string{"10.0.0.1"}}, Nodes: []node{{HA: true}},
		Any: map[string]any{"x": []any{json.Number("1")}}}
	if diff := cmp.Diff(want, got); err != nil || unknown != nil || diff != "" {
		t.Errorf("%v, unknown %q:\n%s", err, unknown, diff)
	}
}

func TestDecodeRequestOfWhatIsNoRequest(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", "{", "null", "[]", `"x"`, "{} {}", "{}x", `{"flavourId":"a"}}`} {
		var into vnflcm.InstantiateVnfRequest
		_, err := vnflcm.DecodeRequest([]byte(body), &into)
		wantIs(t, err, vnflcm.ErrInvalidRequest)
		if diff := cmp.Diff([]string{"(document)"}, faults(err)); diff != "" {
			t.Errorf("%q: %v:\n%s", body, err, diff)
		}
	}
}

func TestMergeIsAMergePatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ base, over, want string }{
		{`{"a":{"b":1,"c":2},"d":[1]}`, `{"a":{"b":9,"c":null},"d":[2],"e":1}`, `{"a":{"b":9},"d":[2],"e":1}`},
		{`{}`, `{"a":{"b":null,"c":1}}`, `{"a":{"c":1}}`}, {`{"a":1}`, `{}`, `{"a":1}`}, {`{"a":1}`, `{"a":{"b":1}}`, `{"a":{"b":1}}`},
		{`{"n":12345678901234567890}`, `{}`, `{"n":12345678901234567890}`},
	} {
		base, over := params(t, c.base), params(t, c.over)
		got, err := base.Merge(over)
		if !got.Equal(params(t, c.want)) || err != nil {
			t.Errorf("%s over %s: %s (%v), want %s", c.over, c.base, got.Reveal(), err, c.want)
		}
		if !base.Equal(params(t, c.base)) || !over.Equal(params(t, c.over)) {
			t.Error("Merge changed its operands")
		}
	}
	got, err := vnflcm.Params{}.Merge(vnflcm.Params{})
	if err != nil || !got.IsZero() {
		t.Errorf("nothing over nothing: %s, %v", got.Reveal(), err)
	}
}

type embedded struct {
	Inner vnflcm.Secret `json:"inner"`
}

type holder struct {
	embedded
	List  [2]vnflcm.Secret         `json:"list"`
	Map   map[string]vnflcm.Secret `json:"map"`
	Ptr   *vnflcm.Secret           `json:"ptr"`
	Any   any                      `json:"any"`
	Bytes []byte                   `json:"bytes"`
	Raw   json.RawMessage          `json:"raw"`
	None  *holder                  `json:"none"`
}

func TestRevealJSONFindsSecretsEverywhere(t *testing.T) {
	t.Parallel()
	s := vnflcm.NewSecret("x")
	v := holder{embedded{s}, [2]vnflcm.Secret{s, s}, map[string]vnflcm.Secret{"a": s}, &s, []any{s, map[string]any{"b": &s}}, []byte("hi"),
		json.RawMessage(`{"c":1}`), nil}
	clear, err := vnflcm.RevealJSON(v)
	must(t, err)
	const want = `{"inner":"x","list":["x","x"],"map":{"a":"x"},"ptr":"x","any":["x",{"b":"x"}],"bytes":"aGk=","raw":{"c":1},"none":null}`
	if string(clear) != want {
		t.Errorf("revealed %s\nwant     %s", clear, want)
	}
	masked, err := json.Marshal(v) // RevealJSON must not change v
	must(t, err)
	if want := strings.ReplaceAll(want, `"x"`, `"***"`); string(masked) != want {
		t.Errorf("masked %s\nwant   %s", masked, want)
	}
}
