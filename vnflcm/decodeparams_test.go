package vnflcm_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// webParams are the parameters of a driver that reads web_param.
type webParams struct {
	Web struct {
		Port  int `json:"port"`
		Users []struct {
			Name string `json:"name"`
		} `json:"users"`
		Labels map[string]struct {
			Value string `json:"value"`
		} `json:"labels"`
	} `json:"web_param"`
}

// TestDecodeParams: attributes without effect are named in the warnings of the operation, but not those of other drivers.
func TestDecodeParams(t *testing.T) {
	t.Parallel()
	const nothing = "attributes that are not known have no effect: "
	for name, c := range map[string]struct {
		params string
		want   []string
	}{
		"all known":           {`{"web_param": {"port": 1, "users": [{"name": "a"}], "labels": {"b": {"value": "c"}}}}`, nil},
		"misspelt":            {`{"web_parm": {"port": 1}}`, []string{nothing + `additionalParams.web_parm (did you mean "web_param"?)`}},
		"misspelt within":     {`{"web_param": {"prot": 1}}`, []string{nothing + `additionalParams.web_param.prot (did you mean "port"?)`}},
		"in a list":           {`{"web_param": {"users": [{"nam": "a"}]}}`, []string{nothing + `additionalParams.web_param.users[0].nam (did you mean "name"?)`}},
		"one instead of list": {`{"web_param": {"users": {"nam": "a"}}}`, []string{nothing + `additionalParams.web_param.users[0].nam (did you mean "name"?)`}},
		"in a map":            {`{"web_param": {"labels": {"b": {"valu": "a"}}}}`, []string{nothing + `additionalParams.web_param.labels.b.valu (did you mean "value"?)`}},
		"like none":           {`{"web_param": {"zzzzzzzz": 1}}`, []string{nothing + "additionalParams.web_param.zzzzzzzz"}},
		"several":             {`{"web_param": {"prot": 1, "zzzzzzzz": 1}}`, []string{nothing + `additionalParams.web_param.prot (did you mean "port"?), additionalParams.web_param.zzzzzzzz`}},
		"of another driver":   {`{"web_params": {"port": 1}}`, nil},
		"of any driver":       {`{"lcm-operation-user-data": "x.py", "namespace": "shop"}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newToys(t, nil)
			hooks := (&cluster{world: x.world}).Hooks()
			hooks[vnflcm.InstantiateEnd] = func(ctx context.Context, op *vnflcm.Operation) error { return op.DecodeParams(ctx, &webParams{}) }
			x.cfg.Mgmt = map[string]vnflcm.MgmtDriver{"cluster": hooked{hooks}}
			x.cfg.Infra = map[string]vnflcm.InfraDriver{"toy": &declaring{cloud: cloud{world: x.world}}}
			x.start()
			opID, err := x.Instantiate(t.Context(), x.create(), vnflcm.InstantiateVnfRequest{FlavourID: "plain", AdditionalParams: params(t, c.params)})
			must(t, err)
			occ, err := x.Wait(t.Context(), opID)
			must(t, err)
			if diff := cmp.Diff(c.want, occ.Warnings); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// declaring is a cloud that reads web_params.
type declaring struct{ cloud }

func (*declaring) PublicParams() []string { return []string{"web_params.port", "list[].name"} }

// TestDecodeParamsFaults: faults have the path that a user would write.
func TestDecodeParamsFaults(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	hooks := (&cluster{world: x.world}).Hooks()
	hooks[vnflcm.InstantiateEnd] = func(ctx context.Context, op *vnflcm.Operation) error { return op.DecodeParams(ctx, &webParams{}) }
	x.cfg.Mgmt = map[string]vnflcm.MgmtDriver{"cluster": hooked{hooks}}
	x.start()
	opID, err := x.Instantiate(t.Context(), x.create(), vnflcm.InstantiateVnfRequest{FlavourID: "plain", AdditionalParams: params(t, `{"web_param": {"port": "x"}}`)})
	must(t, err)
	_, err = x.Wait(t.Context(), opID)
	wantIs(t, err, vnflcm.ErrInvalidRequest)
	const want = `additionalParams.web_param.port: "x": must be a whole number`
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
}
