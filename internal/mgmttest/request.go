package mgmttest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// Change changes a request.
type Change = func(*vnflcm.InstantiateVnfRequest)

// Request is a sample request, on the sandbox and changed.
func (l *Lab) Request(name string, changes ...Change) vnflcm.InstantiateVnfRequest {
	l.t.Helper()
	data, err := os.ReadFile(filepath.Join(l.setup.Sample, "requests", name))
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

// OnSandbox has the sandbox be the VIM.
func OnSandbox(r *vnflcm.InstantiateVnfRequest) {
	r.VimConnectionInfo = vnflcm.VimConnections{{ID: "1", VimID: vimID, VimType: vimID}}
}

// With changes the parameter of a driver by a JSON merge patch.
func With(t testing.TB, param, patch string) Change {
	return func(r *vnflcm.InstantiateVnfRequest) {
		t.Helper()
		var err error
		r.AdditionalParams, err = r.AdditionalParams.Merge(Params(t, param, patch))
		check(t, err)
	}
}

// Params are additionalParams with the parameter of a driver, as JSON.
func Params(t testing.TB, param, value string) vnflcm.Params {
	t.Helper()
	p, err := vnflcm.ParseParams([]byte(`{"` + param + `":` + value + `}`))
	check(t, err)
	return p
}

// Sized asks for that flavour of a cluster with so many workers beyond the first.
func Sized(flavour string, moreWorkers int) Change {
	return func(r *vnflcm.InstantiateVnfRequest) {
		r.FlavourID, r.InstantiationLevelID = flavour, ""
		r.TargetScaleLevelInfo = []vnflcm.ScaleInfo{{AspectID: "worker_instance", ScaleLevel: moreWorkers}}
	}
}

// Quoted is a text in JSON.
func Quoted(s string) string {
	b, _ := json.Marshal(s) // a string always encodes
	return string(b)
}
