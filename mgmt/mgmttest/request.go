package mgmttest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// Change changes a request before it is sent.
type Change = func(*vnflcm.InstantiateVnfRequest)

// Request returns a request of Setup.Requests, with the sandbox as VIM and with the changes.
func (l *Lab) Request(name string, changes ...Change) vnflcm.InstantiateVnfRequest {
	l.t.Helper()
	data, err := os.ReadFile(filepath.Join(l.setup.Requests, name))
	check(l.t, err)
	var r vnflcm.InstantiateVnfRequest
	if err := json.Unmarshal(data, &r); err != nil {
		l.t.Fatalf("%s: %v", name, err)
	}
	OnSandbox(&r)
	if l.setup.Change != nil {
		l.setup.Change(&r)
	}
	for _, c := range changes {
		c(&r)
	}
	return r
}

// OnSandbox makes the sandbox the VIM of a request.
func OnSandbox(r *vnflcm.InstantiateVnfRequest) {
	r.VimConnectionInfo = vnflcm.VimConnections{{ID: "1", VimID: vimID, VimType: vimID}}
}

// With returns a change of the parameter of a driver by a JSON merge patch (RFC 7396).
func With(t testing.TB, param, patch string) Change {
	return func(r *vnflcm.InstantiateVnfRequest) {
		t.Helper()
		var err error
		r.AdditionalParams, err = r.AdditionalParams.Merge(Params(t, param, patch))
		check(t, err)
	}
}

// Params returns additionalParams with the parameter of a driver, whose value is JSON.
func Params(t testing.TB, param, value string) vnflcm.Params {
	t.Helper()
	p, err := vnflcm.ParseParams([]byte(`{"` + param + `":` + value + `}`))
	check(t, err)
	return p
}
