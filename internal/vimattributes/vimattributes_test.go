package vimattributes_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/internal/vimattributes"
	"github.com/vnfkit/vnfkit/vnflcm"
)

const canary = "canary-password"

func vim(t *testing.T, inter, access string) (out vnflcm.VimConnectionInfo) {
	t.Helper()
	var err, err2 error
	out.InterfaceInfo, err = vnflcm.ParseParams([]byte(inter))
	out.AccessInfo, err2 = vnflcm.ParseParams([]byte(access))
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestSections(t *testing.T) {
	t.Parallel()
	inter, access := vimattributes.Of(vim(t, `{"endpoint": "https://a", "verify": "False", "list": ["x"], "odd": 1}`,
		`{"user_name": "u", "username": "u", "project": 7, "password": "`+canary+`", "type": "v", "later": true, "earlier": false, "typo": 1}`))
	access.Ignore("type")
	type seen struct {
		Endpoint, User, Project, Password, None string
		Verify, Preset, First                   bool
		List                                    any
	}
	got := seen{inter.Text("endpoint"), access.Text("username", "user_name"), access.Text("project"), access.Secret("password"), access.Text("none"),
		inter.Bool(true, "verify"), inter.Bool(true, "none"), access.Bool(true, "earlier", "later"), inter.Value("list")}
	want := seen{"https://a", "u", "7", canary, "", false, true, false, []any{"x"}}
	if diff := cmp.Diff(want, got); diff != "" || vimattributes.Faults(inter, access) != nil || access.Faulty() {
		t.Error(diff, vimattributes.Faults(inter, access))
	}
	if diff := cmp.Diff([]string{"vimConnectionInfo.interfaceInfo.odd", "vimConnectionInfo.accessInfo.typo"}, vimattributes.Unknown(inter, access)); diff != "" {
		t.Error(diff)
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	inter, access := vimattributes.Of(vim(t, `{"endpoint": {}, "region": "a", "regionName": "b", "verify": "perhaps"}`,
		`{"password": "`+canary+`", "secret": "`+canary+`2", "token": ["`+canary+`"]}`))
	_, _, _ = inter.Text("endpoint"), inter.Text("region", "regionName"), inter.Bool(false, "verify")
	_, _ = access.Secret("password", "secret"), access.Secret("token")
	access.Fault("user", "", "is required")
	var paths []string
	err := vimattributes.Faults(inter, access)
	for line := range strings.Lines(err.Error()) {
		path, _, _ := strings.Cut(line, ":")
		paths = append(paths, path)
	}
	for i, want := range []string{"interfaceInfo.endpoint", "interfaceInfo.regionName", "interfaceInfo.verify", "accessInfo.secret", "accessInfo.token", "accessInfo.user"} {
		if i >= len(paths) || !strings.Contains(paths[i], "vimConnectionInfo."+want) {
			t.Errorf("%s is not in its place in %v", want, paths)
		}
	}
	if _, typed := errors.AsType[*vnflcm.ParamError](err); !typed || !access.Faulty() || strings.Contains(err.Error(), canary) || !strings.Contains(err.Error(), `"b"`) {
		t.Error(err)
	}
}
