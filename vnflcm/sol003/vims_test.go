package sol003_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/sol003"
)

// newVIMServer starts a VNFM with drivers for VIMs. The header X-Tenant has the tenant of a sender.
func newVIMServer(t *testing.T) *vnfm {
	t.Helper()
	return newVNFMWith(t, func(c *vnflcm.Config) {
		c.Infra["openstack"], c.Infra["kubernetes"], c.Infra["ETSINFV.HELM.V_3"] = c.Infra["toy"], c.Infra["toy"], c.Infra["toy"]
	}, sol003.Options{Authorize: func(r *http.Request) (sol003.Principal, error) {
		return sol003.Principal{Tenant: r.Header.Get("X-Tenant")}, nil
	}}, func(m *vnflcm.Manager, o *sol003.Options) sol003.Manager {
		o.VIMs = m.VIMRegistry()
		return m
	})
}

// vimOf returns the VIM in an answer.
func vimOf(a answer) object {
	vim, _ := a.object()["vim"].(object)
	return vim
}

// openstackBody is the body that Tacker's client sends for the file in Tacker's guides.
const openstackBody = `{"vim":{"auth_url":"http://10.0.0.5/identity","type":"openstack","vim_project":{"name":"nfv","project_domain_name":"Default"},` +
	`"auth_cred":{"username":"nfv_user","password":"` + canary + `","user_domain_name":"Default","cert_verify":"True"},"name":"lab","description":"a lab","is_default":true}}`

// kubernetesBody is the body of Tacker's client for a cluster with Helm.
const kubernetesBody = `{"vim":{"auth_url":"https://10.0.0.6:6443","type":"kubernetes","vim_project":{"name":"default"},` +
	`"auth_cred":{"bearer_token":"` + canary + `","ssl_ca_cert":"-----BEGIN CERTIFICATE-----"},"extra":{"use_helm":true,"helm_info":{"masternode_password":"` + canary + `"}},"name":"cluster","is_default":false}}`

// TestVIMLife sends the requests of Tacker's client and compares the answers.
func TestVIMLife(t *testing.T) {
	t.Parallel()
	x := newVIMServer(t)
	lab := vimOf(x.send("POST", "/v1.0/vims.json", openstackBody, 201, "X-Tenant", "a"))
	id, _ := lab["id"].(string)
	if created, _ := lab["created_at"].(string); len(created) != len("2026-01-02 03:04:05") {
		t.Errorf("created_at is %q", created)
	}
	want := object{"id": id, "created_at": lab["created_at"], "type": "openstack", "tenant_id": "a", "name": "lab", "description": "a lab", "is_default": true,
		"placement_attr": object{"regions": array{}}, "status": "ACTIVE", "updated_at": nil, "extra": object{}, "auth_url": "http://10.0.0.5/identity/v3", "share": array{},
		"vim_project": object{"name": "nfv", "project_domain_name": "Default"},
		"auth_cred":   object{"username": "nfv_user", "password": "***", "user_domain_name": "Default", "cert_verify": "True"}}
	if diff := cmp.Diff(want, lab); diff != "" {
		t.Errorf("the answer:\n%s", diff)
	}
	if diff := cmp.Diff(want, vimOf(x.send("GET", "/v1.0/vims/"+id+".json", "", 200, "X-Tenant", "a"))); diff != "" {
		t.Errorf("shown:\n%s", diff)
	}
	stored, err := x.VIMs().Get(t.Context(), "a", id)
	must(t, err)
	if diff := cmp.Diff([]string{`{"endpoint":"http://10.0.0.5/identity/v3"}`, `{"password":"` + canary + `","project_domain_name":"Default","project_name":"nfv","user_domain_name":"Default","username":"nfv_user"}`},
		[]string{string(stored.InterfaceInfo.Reveal()), string(stored.AccessInfo.Reveal())}); diff != "" {
		t.Errorf("stored:\n%s", diff)
	}
	cluster := vimOf(x.send("POST", "/v1.0/vims", kubernetesBody, 201, "X-Tenant", "a"))
	if diff := cmp.Diff([]any{object{"bearer_token": "***", "ssl_ca_cert": "-----BEGIN CERTIFICATE-----"}, object{"use_helm": true, "helm_info": object{"masternode_password": "***"}}, "https://10.0.0.6:6443"},
		[]any{cluster["auth_cred"], cluster["extra"], cluster["auth_url"]}); diff != "" {
		t.Errorf("the cluster:\n%s", diff)
	}
	for query, want := range map[string]string{
		"?id=" + id + "&fields=id": `{"vims":[{"id":"` + id + `"}]}`, "?name=lab&fields=id&fields=name": `{"vims":[{"id":"` + id + `","name":"lab"}]}`, "?name=none": `{"vims":[]}`,
		"?is_default=True&fields=id": `{"vims":[{"id":"` + id + `"}]}`, "?type=openstack&status=ACTIVE&fields=name": `{"vims":[{"name":"lab"}]}`, "?name=lab&name=cluster&type=kubernetes&fields=name": `{"vims":[{"name":"cluster"}]}`,
	} {
		if got := x.send("GET", "/v1.0/vims.json"+query, "", 200, "X-Tenant", "a").body; got != want {
			t.Errorf("GET %s: %s", query, got)
		}
	}
	changed := vimOf(x.send("PUT", "/v1.0/vims/"+id+".json", `{"vim":{"vim_project":{"name":"nfv","project_domain_name":""},"auth_cred":{"username":"nfv_user","password":"`+canary+`2","user_domain_name":"","cert_verify":"True"},"description":"renamed"}}`, 200, "X-Tenant", "a"))
	want["updated_at"], want["description"] = changed["updated_at"], "renamed"
	if diff := cmp.Diff(want, changed); diff != "" || changed["updated_at"] == nil {
		t.Errorf("after the change:\n%s", diff)
	}
	if stored, err = x.VIMs().Get(t.Context(), "a", id); err != nil || !strings.Contains(string(stored.AccessInfo.Reveal()), canary+"2") {
		t.Errorf("the password was not changed (%v)", err)
	}
	insecure := vimOf(x.send("PUT", "/v1.0/vims/"+id, `{"vim":{"auth_cred":{"username":"u","password":"p","cert_verify":"False"}}}`, 200, "X-Tenant", "a"))
	if diff := cmp.Diff(object{"username": "u", "password": "***", "cert_verify": "False"}, insecure["auth_cred"]); diff != "" {
		t.Errorf("without verification:\n%s", diff)
	}
	x.send("DELETE", "/v1.0/vims/"+id+".json", "", 204, "X-Tenant", "a")
	x.send("DELETE", "/v1.0/vims/"+id+".json", "", 404, "X-Tenant", "a")
	x.send("GET", "/v1.0/vims/"+id+".json", "", 404, "X-Tenant", "a")
}

// TestVIMFaults sends bodies and queries that must be refused, and checks the attributes in the answers.
func TestVIMFaults(t *testing.T) {
	t.Parallel()
	x := newVIMServer(t)
	with := func(body, before, after string) string { return strings.Replace(body, before, after, 1) }
	for name, c := range map[string]struct {
		body, want string
		status     int
	}{
		"no body":            {"", "the body must be", 415},
		"no VIM":             {`{}`, "vim.auth_url", 400},
		"no address":         {`{"vim":{"name":"n"}}`, "vim.auth_url", 400},
		"no URL":             {with(openstackBody, "http://10.0.0.5/identity", "10.0.0.5"), "vim.auth_url", 400},
		"credentials in it":  {with(openstackBody, "10.0.0.5", "u:"+canary+"@10.0.0.5"), "vim.auth_url", 400},
		"masked":             {with(openstackBody, canary, "***"), "vim.auth_cred.password", 400},
		"verification":       {with(openstackBody, `"True"`, `"maybe"`), "vim.auth_cred.cert_verify", 400},
		"OpenID":             {with(kubernetesBody, `"bearer_token"`, `"oidc_token_url"`), "vim.auth_cred.oidc_token_url", 400},
		"address in between": {with(kubernetesBody, `"bearer_token"`, `"auth_url"`), "vim.auth_cred.auth_url", 400},
		"type":               {with(kubernetesBody, `"kubernetes"`, `"docker"`), "vim.type", 400},
		"text":               {with(kubernetesBody, `{"use_helm"`, `["use_helm"],"x":{"use_helm"`), "vim.extra", 400},
		"share":              {with(kubernetesBody, `"is_default"`, `"share":5,"is_default"`), "vim.share", 400},
		"long name":          {with(kubernetesBody, `"cluster"`, `"`+strings.Repeat("x", 300)+`"`), "vim.name", 400},
		"other tenant":       {with(kubernetesBody, `"is_default"`, `"tenant_id":"b","is_default"`), "vim.tenant_id", 403},
		"name taken":         {with(kubernetesBody, `"cluster"`, `"taken"`), `has the name "taken"`, 409},
		"second default":     {with(openstackBody, `"lab"`, `"second"`), "is the default", 409},
	} {
		if name == "name taken" {
			x.send("POST", "/v1.0/vims", with(openstackBody, `"lab"`, `"taken"`), 201, "X-Tenant", "a")
		}
		tenant := "a"
		if name == "second default" {
			tenant = "c"
			x.send("POST", "/v1.0/vims", openstackBody, 201, "X-Tenant", tenant)
		}
		got := x.send("POST", "/v1.0/vims", c.body, c.status, "X-Tenant", tenant)
		if !strings.Contains(got.detail(), c.want) || strings.Contains(got.body, canary) {
			t.Errorf("%s: %s", name, got.body)
		}
	}
	for _, query := range []string{"?filter=x", "?verify=false", "?limit=1", "?id=%zz"} {
		x.send("GET", "/v1.0/vims"+query, "", 400)
	}
	for _, query := range []string{"?verify=maybe", "?verify=", "?verify=true&verify=false", "?id=x"} {
		x.send("POST", "/v1.0/vims"+query, kubernetesBody, 400)
	}
	id := fmt.Sprint(vimOf(x.send("POST", "/v1.0/vims?verify=False", with(kubernetesBody, `"cluster"`, `"to change"`), 201, "X-Tenant", "a"))["id"])
	for body, want := range map[string]string{
		`{"vim":{"type":"openstack"}}`: "vim.type", `{"vim":{"auth_url":"https://evil"}}`: "vim.auth_url", `{"vim":{"auth_cred":{"cert_verify":"False"}}}`: "vim.auth_cred.cert_verify",
		`{"vim":{"extra":{"jump_host":{"address":"evil"}}}}`: "vim.extra.jump_host", `{"vim":{"auth_cred":{"bearer_token":"***"}}}`: "vim.auth_cred.bearer_token",
	} {
		if got := x.send("PUT", "/v1.0/vims/"+id, body, 400, "X-Tenant", "a"); !strings.Contains(got.detail(), want) {
			t.Errorf("%s: %s", body, got.body)
		}
	}
}

// TestVIMsOfTenants checks that an entry that another owner shares is shown without its address and credentials, and that a tenant can
// change only whether it is the default.
func TestVIMsOfTenants(t *testing.T) {
	t.Parallel()
	x := newVIMServer(t)
	shared := vimOf(x.send("POST", "/v1.0/vims", strings.Replace(openstackBody, `"is_default":true`, `"tenant_id":"a","share":["b"]`, 1), 201))
	uri := fmt.Sprint("/v1.0/vims/", shared["id"])
	if diff := cmp.Diff([]any{"a", array{"b"}}, []any{shared["tenant_id"], shared["share"]}); diff != "" {
		t.Errorf("the operator sees:\n%s", diff)
	}
	x.send("GET", uri, "", 404, "X-Tenant", "c")
	seen := vimOf(x.send("GET", uri, "", 200, "X-Tenant", "b"))
	want := object{"id": shared["id"], "created_at": shared["created_at"], "type": "openstack", "tenant_id": "", "name": "lab", "description": "a lab", "is_default": false,
		"placement_attr": object{"regions": array{}}, "status": "ACTIVE", "updated_at": nil, "extra": object{}, "auth_url": "", "vim_project": object{}, "auth_cred": object{}}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("another tenant sees:\n%s", diff)
	}
	x.send("PUT", uri, `{"vim":{"name":"stolen"}}`, 409, "X-Tenant", "b")
	x.send("PUT", uri, `{"vim":{"share":"all"}}`, 409, "X-Tenant", "b")
	x.send("PUT", uri, `{"vim":{"auth_cred":{"password":"p"}}}`, 409, "X-Tenant", "b")
	var answers []string
	for _, guessed := range []string{"http://10.0.0.5/identity", "http://10.0.0.6/identity"} {
		answers = append(answers, x.send("PUT", uri, `{"vim":{"auth_url":"`+guessed+`"}}`, 409, "X-Tenant", "b").body)
	}
	if answers[0] != answers[1] {
		t.Errorf("the answers tell whether an address was guessed: %s", answers)
	}
	x.send("DELETE", uri, "", 409, "X-Tenant", "b")
	if own := vimOf(x.send("PUT", uri, `{"vim":{"is_default":"True"}}`, 200, "X-Tenant", "b")); own["is_default"] != true {
		t.Errorf("the VIM is no default: %v", own)
	}
	if owners := vimOf(x.send("GET", uri, "", 200, "X-Tenant", "a")); owners["is_default"] != false {
		t.Error("a tenant has changed the default of another tenant")
	}
	x.send("PUT", uri, `{"vim":{"share":"all"}}`, 200, "X-Tenant", "a")
	x.send("GET", uri, "", 200, "X-Tenant", "c")
	// A tenant can use the name of a VIM that it does not see.
	x.send("POST", "/v1.0/vims", strings.Replace(kubernetesBody, `"cluster"`, `"hidden"`, 1), 201, "X-Tenant", "a")
	x.send("POST", "/v1.0/vims", strings.Replace(kubernetesBody, `"cluster"`, `"hidden"`, 1), 201, "X-Tenant", "b")
}

// TestVIMsOfOtherPrograms checks that the document of an entry that a program has put can be sent back, and that its owner cannot be
// changed.
func TestVIMsOfOtherPrograms(t *testing.T) {
	t.Parallel()
	x := newVIMServer(t)
	put := func(vimID, vimType, inter, access string) {
		t.Helper()
		entry := vnflcm.VimConnectionInfo{VimID: vimID, VimType: vimType, Tenant: "a", Share: &vnflcm.Share{All: true}}
		must(t, json.Unmarshal([]byte(inter), &entry.InterfaceInfo))
		must(t, json.Unmarshal([]byte(access), &entry.AccessInfo))
		must(t, x.VIMs().Put(t.Context(), entry))
	}
	put("charts", "ETSINFV.HELM.V_3", `{"endpoint":"https://k"}`, `{"bearer_token":"`+canary+`"}`)
	put("cloud", "ETSINFV.OPENSTACK_KEYSTONE.V_3", `{"endpoint":"https://o","region":"R"}`, `{"username":"u","password":"`+canary+`","region":"R"}`)
	for id, want := range map[string]string{"charts": "kubernetes", "cloud": "openstack"} {
		shown := vimOf(x.send("GET", "/v1.0/vims/"+id, "", 200, "X-Tenant", "a"))
		if shown["type"] != want {
			t.Errorf("%s has the type %v", id, shown["type"])
		}
		if regions := shown["placement_attr"]; id == "cloud" && !cmp.Equal(regions, any(object{"regions": array{"R"}})) {
			t.Errorf("the regions are %v", regions)
		}
		for _, name := range append(vnflcm.VIMTypeNames(want), map[string]string{"charts": "ETSINFV.HELM.V_3", "cloud": want}[id]) {
			x.send("PUT", "/v1.0/vims/"+id, `{"vim":{"type":"`+name+`","tenant_id":"a","auth_url":"`+fmt.Sprint(shown["auth_url"])+`","description":"text"}}`, 200, "X-Tenant", "a")
		}
		x.send("PUT", "/v1.0/vims/"+id, `{"vim":{"tenant_id":"b","description":"text"}}`, 400, "X-Tenant", "a")
		x.send("PUT", "/v1.0/vims/"+id, `{"vim":{"tenant_id":"b"}}`, 400)
		for _, guessed := range []string{"a", "b", "c"} {
			x.send("PUT", "/v1.0/vims/"+id, `{"vim":{"tenant_id":"`+guessed+`"}}`, 400, "X-Tenant", "b")
		}
	}
	x.send("PUT", "/v1.0/vims/cloud", `{"vim":{"auth_url":"https://o"}}`, 200, "X-Tenant", "a")
	x.send("PUT", "/v1.0/vims/cloud", `{"vim":{"auth_url":"https://o/v2.0"}}`, 400, "X-Tenant", "a")
	x.send("PUT", "/v1.0/vims/charts", `{"vim":{"type":"openstack"}}`, 400, "X-Tenant", "a")
	if stored, err := x.VIMs().Get(t.Context(), "a", "charts"); err != nil || stored.VimType != "ETSINFV.HELM.V_3" {
		t.Errorf("the type became %s, %v", stored.VimType, err)
	}
}

// TestRegisteredVIMInRequests instantiates a VNF on a VIM that was registered over HTTP, under the names of its type in Tacker's guides.
func TestRegisteredVIMInRequests(t *testing.T) {
	t.Parallel()
	x := newVIMServer(t)
	id := fmt.Sprint(vimOf(x.send("POST", "/v1.0/vims", kubernetesBody, 201))["id"])
	for _, name := range []string{"kubernetes", "ETSINFV.KUBERNETES.V_1", "ETSINFV.HELM.V_3"} {
		instance := x.send("POST", "/vnflcm/v2/vnf_instances", `{"vnfdId":"`+toyVNFD+`"}`, 201).Header.Get("Location")
		started := x.send("POST", instance+"/instantiate", `{"flavourId":"simple","vimConnectionInfo":{"v":{"vimId":"`+id+`","vimType":"`+name+`"}}}`, 202).Header.Get("Location")
		x.await(started, vnflcm.Completed)
		used := x.send("DELETE", "/v1.0/vims/"+id, "", 409)
		if instanceID := instance[strings.LastIndex(instance, "/")+1:]; !strings.Contains(used.detail(), instanceID) {
			t.Errorf("the answer does not name the VNF instance: %s", used.body)
		}
	}
}

// FuzzVIMBody checks that no body makes the conversion panic, and that the result contains no secret.
func FuzzVIMBody(f *testing.F) {
	for _, body := range []string{openstackBody, kubernetesBody, `{"vim":{"auth_url":"https://k/v2.0","auth_cred":{"cert_verify":null,"a":[{}]},"extra":{"use_helm":"True","n":null}}}`, `{"vim":{"type":"ETSINFV.HELM.V_3","share":"all"}}`} {
		f.Add(body, "")
		f.Add(body, "openstack")
		f.Add(body, "kubernetes")
	}
	f.Fuzz(func(t *testing.T, body, registered string) {
		if shown, err := sol003.ConvertVIM(body, registered); err == nil {
			text, err := json.Marshal(shown)
			must(t, err)
			if strings.Contains(string(text), canary) && !strings.Contains(strings.NewReplacer(`password":"`+canary, "", `bearer_token":"`+canary, "").Replace(body), canary) {
				t.Errorf("the answer shows a secret: %s", text)
			}
		}
	})
}
