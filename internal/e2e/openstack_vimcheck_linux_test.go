package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/infra/openstack"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
	"github.com/vnfkit/vnfkit/vnflcm/sol003"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// TestVIMCheck registers VIMs with the bodies of Tacker's client. The driver logs in at a real Keystone, unless the request says verify=false.
func TestVIMCheck(t *testing.T) {
	t.Parallel()
	needPart(t, "openstack")
	k := newKeystoneUsers(t)
	k.add("operator member north")
	driver := openstack.New(openstack.Config{Allow: outbound.AllowAny})
	t.Cleanup(driver.Close)
	m, err := vnflcm.New(t.Context(), vnflcm.Config{Store: store.NewMemory(), Key: bytes.Repeat([]byte{1}, 32), Packages: vnflcm.DirPackages("../../examples/packages"),
		Infra: map[string]vnflcm.InfraDriver{openstack.VimTypeV1: driver}})
	must(t, err)
	t.Cleanup(func() { must(t, m.Close(context.Background())) })
	handler, err := sol003.NewHandler(m, sol003.Options{InsecureAllowAnyone: true, VIMs: m.VIMRegistry()})
	must(t, err)
	api := &vimAPI{t: t, handler: handler}

	cred := func(changes ...string) map[string]any {
		out := map[string]any{"username": k.prefix + "operator", "password": "operator-secret", "user_domain_name": "Default", "cert_verify": "True"}
		for i := 0; i < len(changes); i += 2 {
			out[changes[i]] = changes[i+1]
		}
		return out
	}
	body := func(name, authURL, project string, cred map[string]any) map[string]any {
		return map[string]any{"name": name, "type": "openstack", "auth_url": authURL, "auth_cred": cred, "vim_project": map[string]any{"name": k.prefix + project, "project_domain_name": "Default"}}
	}
	const refused, region = "vim.auth_cred: ", "vim.auth_cred.region: "
	for name, c := range map[string]struct {
		body map[string]any
		want string // fault; "": registered
	}{
		"right password":  {body("right", k.authURL, "north", cred()), ""},
		"right region":    {body("region", k.authURL, "north", cred("region", "RegionOne")), ""},
		"without version": {body("version", strings.TrimSuffix(k.authURL, "/v3"), "north", cred()), ""},
		"wrong password":  {body("password", k.authURL, "north", cred("password", "wrong-secret")), refused},
		"unknown user":    {body("user", k.authURL, "north", cred("username", "unknown")), refused},
		"unknown domain":  {body("domain", k.authURL, "north", cred("user_domain_name", "unknown")), refused},
		"unknown project": {body("project", k.authURL, "south", cred()), refused},
		"wrong region":    {body("regions", k.authURL, "north", cred("region", "RegionTwo")), region},
		"no Keystone":     {body("nothing", "http://127.0.0.1:1/v3", "north", cred()), "vim.auth_url: "},
	} {
		status, answer := api.send("POST", "/v1.0/vims.json", c.body)
		if want := map[bool]int{true: http.StatusCreated, false: http.StatusBadRequest}[c.want == ""]; status != want || !strings.Contains(answer, c.want) || strings.Contains(answer, "-secret") {
			t.Errorf("%s: status %d, want %d with %q\n%s", name, status, want, c.want, answer)
		}
	}
	unchecked := body("unchecked", k.authURL, "north", cred("password", "wrong-secret", "region", "RegionTwo"))
	if status, answer := api.send("POST", "/v1.0/vims.json?verify=false", unchecked); status != http.StatusCreated {
		t.Errorf("verify=false: status %d\n%s", status, answer)
	}

	vims := api.list()
	for _, c := range []struct {
		vim, query, password string
		status               int
		want                 string // fault
	}{
		{"right", "", "wrong-secret", http.StatusBadRequest, refused},
		{"right", "", "operator-secret", http.StatusOK, ""},
		{"unchecked", "", "operator-secret", http.StatusBadRequest, region}, // the wrong region stays
		{"right", "?verify=false", "wrong-secret", http.StatusOK, ""},
	} {
		status, answer := api.send("PUT", "/v1.0/vims/"+vims[c.vim]+".json"+c.query, map[string]any{"auth_cred": cred("password", c.password)})
		if status != c.status || !strings.Contains(answer, c.want) {
			t.Errorf("change %+v: status %d\n%s", c, status, answer)
		}
	}
	for name, id := range vims {
		if status, answer := api.send("DELETE", "/v1.0/vims/"+id, nil); status != http.StatusNoContent {
			t.Errorf("delete %s: status %d\n%s", name, status, answer)
		}
	}
	if diff := cmp.Diff(map[string]string{}, api.list()); diff != "" {
		t.Error(diff)
	}
}

// vimAPI is Tacker's registry of VIMs.
type vimAPI struct {
	t       *testing.T
	handler http.Handler
}

func (a *vimAPI) send(method, uri string, vim map[string]any) (status int, answer string) {
	a.t.Helper()
	text, err := json.Marshal(map[string]any{"vim": vim})
	must(a.t, err)
	r := httptest.NewRequestWithContext(a.t.Context(), method, uri, strings.NewReader(string(text)))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	a.handler.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// list returns the ids of the VIMs by name.
func (a *vimAPI) list() map[string]string {
	a.t.Helper()
	_, answer := a.send("GET", "/v1.0/vims.json", nil)
	var list struct {
		VIMs []struct{ ID, Name string } `json:"vims"`
	}
	must(a.t, json.Unmarshal([]byte(answer), &list))
	out := map[string]string{}
	for _, vim := range list.VIMs {
		out[vim.Name] = vim.ID
	}
	return out
}
