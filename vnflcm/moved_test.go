package vnflcm_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestCheckMoved checks that a request with another address must contain the secrets that are sent to this address.
func TestCheckMoved(t *testing.T) {
	t.Parallel()
	initial := params(t, `{"server": {"ip": "10.0.0.1", "port": 22, "user": "u", "login": {"password": "p"}}, "nodes": [{"password": "q"}], "token": "r", "note": "s"}`)
	secrets := []string{"server.login.password", "nodes[].password"}
	all := []string{"additionalParams.nodes", "additionalParams.server.login.password", "additionalParams.token"} // a token is secret by its name
	for name, c := range map[string]struct {
		request string
		want    []string
	}{
		"nothing":                   {`{}`, nil},
		"the same address":          {`{"server": {"ip": "10.0.0.1", "port": "22"}}`, nil},
		"other attributes":          {`{"server": {"user": "v"}, "note": "t"}`, nil},
		"another address":           {`{"server": {"ip": "10.0.0.2"}}`, all},
		"another port":              {`{"server": {"port": 2222}}`, all},
		"no address":                {`{"server": {"ip": null}}`, all},
		"some secrets are given":    {`{"server": {"ip": "10.0.0.2", "login": {"password": "new"}}, "token": "new"}`, all[:1]},
		"all secrets are given":     {`{"server": {"ip": "10.0.0.2", "login": {"password": "new"}}, "token": "new", "nodes": [{"password": "new"}]}`, nil},
		"secrets are removed":       {`{"server": {"ip": "10.0.0.2", "login": null}, "token": null, "nodes": null}`, nil},
		"an object replaces a list": {`{"server": {"ip": "10.0.0.2"}, "token": "new", "nodes": {"password": "new"}}`, all[1:2]},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			op := &vnflcm.Operation{OperationData: vnflcm.OperationData{Initial: vnflcm.InstantiateVnfRequest{AdditionalParams: initial}, Heal: &vnflcm.HealVnfRequest{AdditionalParams: params(t, c.request)}}}
			err := op.CheckMoved([]string{"server.ip", "server.port"}, secrets)
			if diff := cmp.Diff(c.want, faults(err)); diff != "" {
				t.Errorf("%v, faults:\n%s", err, diff)
			}
		})
	}
}
