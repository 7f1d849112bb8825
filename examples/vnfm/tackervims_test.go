package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/examples/internal/samples"
	"github.com/vnfkit/vnfkit/internal/cnftest"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
)

// tryVIM runs a command for VIMs.
func (c *tackerClient) tryVIM(args ...string) (out []byte, faults string, err error) {
	c.t.Helper()
	return c.try(append([]string{"vim"}, args...)...)
}

// vim runs a command for VIMs that shows an object.
func (c *tackerClient) vim(args ...string) (out map[string]any) {
	c.t.Helper()
	text, faults, err := c.tryVIM(append(args, "-f", "json")...)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		c.t.Fatalf("vim %s: %v\n%s%s\n%s", strings.Join(args, " "), err, text, faults, c.log)
	}
	return out
}

// vimRefused runs a command for VIMs that fails, and compares what the client prints.
func (c *tackerClient) vimRefused(want string, args ...string) {
	c.t.Helper()
	out, faults, err := c.tryVIM(args...)
	if err == nil || !strings.Contains(faults, want) {
		c.t.Errorf("vim %s: %v, want %q\n%s%s", strings.Join(args, " "), err, want, out, faults)
	}
}

// vims returns a column of the list by name.
func (c *tackerClient) vims(column string, args ...string) map[string]any {
	c.t.Helper()
	text, faults, err := c.tryVIM(append([]string{"list", "-f", "json"}, args...)...)
	var list []map[string]any
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	if err != nil {
		c.t.Fatalf("vim list: %v\n%s%s", err, text, faults)
	}
	out := map[string]any{}
	for _, vim := range list {
		out[fmt.Sprint(vim["Name"])] = vim[column]
	}
	return out
}

// vimFile writes a configuration file of the client in the form of Tacker's guides.
func (c *tackerClient) vimFile(name, text string) string {
	c.t.Helper()
	name = filepath.Join(c.dir, name)
	must(c.t, os.WriteFile(name, []byte(text), 0o600))
	return name
}

// simulatedKeystone is a Keystone that accepts one password, with the catalog of a whole OpenStack.
func simulatedKeystone(t *testing.T) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	mux.HandleFunc("POST /identity/v3/auth/tokens", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if !strings.Contains(string(body), "right-password") {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		var catalog []any
		for _, service := range []string{"orchestration", "compute", "network"} {
			catalog = append(catalog, map[string]any{"type": service, "name": service, "id": service, "endpoints": []any{
				map[string]any{"interface": "public", "region": "RegionOne", "region_id": "RegionOne", "id": service, "url": server.URL + "/" + service + "/v2.1"}}})
		}
		w.Header().Set("X-Subject-Token", "token")
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(map[string]any{"token": map[string]any{"catalog": catalog, "expires_at": "2099-01-01T00:00:00Z", "project": map[string]any{"id": "p", "name": "nfv"}}})
	})
	mux.HandleFunc("GET /compute/v2.1/", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"version": {"id": "v2.1", "version": "2.90", "min_version": "2.1"}}`))
	})
	return server
}

// TestTackerClientVIMs registers a simulated OpenStack and a simulated cluster, with the drivers' checks, and changes and deletes the
// entries.
func TestTackerClientVIMs(t *testing.T) {
	needTackerClient(t)
	cloud, cluster := simulatedKeystone(t), cnftest.Start(t)
	file := filepath.Join(t.TempDir(), "vnfm.yaml")
	settings := "allow: [127.0.0.0/8]\ndata: " + t.TempDir() + "\npackages: " + filepath.Dir(samples.Package("k8s-cluster")) +
		"\nvims: [{id: configured, type: openstack, interface_info: {endpoint: 'https://cloud.example'}, access_info: {username: u, password: p}}]\n"
	must(t, os.WriteFile(file, []byte(settings), 0o600))
	configured, err := readConfig([]string{"-config", file})
	must(t, err)
	v, err := compose(t.Context(), configured, slog.New(slog.DiscardHandler))
	must(t, err)
	t.Cleanup(v.close)
	server := httptest.NewServer(v.routes(nil))
	t.Cleanup(server.Close)
	c := &tackerClient{program: &program{t: t, api: server.URL + "/vnflcm/v2", http: server.Client(), log: new(output)}, t: t, version: "2", dir: t.TempDir()}
	openstack := func(password string) string {
		return fmt.Sprintf("auth_url: '%s/identity'\nusername: 'nfv_user'\npassword: '%s'\nproject_name: 'nfv'\nproject_domain_name: 'Default'\nuser_domain_name: 'Default'\ncert_verify: 'True'\n", cloud.URL, password)
	}
	kubernetes := func(token string) string {
		return fmt.Sprintf("auth_url: '%s'\nbearer_token: '%s'\nssl_ca_cert: '%s'\nproject_name: 'default'\ntype: 'kubernetes'\nextra:\n  use_helm: true\n", cluster.URL(), token, strings.ReplaceAll(cluster.CA(), "\n", "\n\n "))
	}
	c.vimRefused("refuses the credentials", "register", "refused", "--config-file", c.vimFile("wrong.yaml", openstack("wrong")))
	c.vimRefused("refuses the credentials", "register", "refused", "--config-file", c.vimFile("wrong.yaml", kubernetes("wrong")))
	lab := c.vim("register", "lab", "--config-file", c.vimFile("openstack.yaml", openstack("right-password")), "--description", "a lab")
	if diff := cmp.Diff([]any{"openstack", "lab", "a lab", "ACTIVE", cloud.URL + "/identity/v3"}, []any{lab["type"], lab["name"], lab["description"], lab["status"], lab["auth_url"]}); diff != "" {
		t.Errorf("registered:\n%s", diff)
	}
	if text := fmt.Sprint(lab); strings.Contains(text, "right-password") || !strings.Contains(text, "***") {
		t.Errorf("the client shows %s", text)
	}
	c.vim("register", "cluster", "--config-file", c.vimFile("kubernetes.yaml", kubernetes(cluster.Token())), "--is-default")
	c.vimRefused("has the name", "register", "cluster", "--config-file", c.vimFile("kubernetes.yaml", kubernetes(cluster.Token())))
	c.vimRefused("is the default", "register", "second", "--is-default", "--config-file", c.vimFile("kubernetes.yaml", kubernetes(cluster.Token())))
	for column, want := range map[string]map[string]any{"Type": {"lab": "openstack", "cluster": "kubernetes", "configured": "openstack"}, "Is Default": {"lab": false, "cluster": true, "configured": true}} {
		if diff := cmp.Diff(want, c.vims(column)); diff != "" {
			t.Errorf("%s in the list:\n%s", column, diff)
		}
	}
	if len(c.vims("Placement attribution", "--long")) != 3 {
		t.Error("the long list is incomplete")
	}
	id := fmt.Sprint(lab["id"])
	for _, name := range []string{"lab", id} {
		if shown := c.vim("show", name); shown["id"] != lab["id"] {
			t.Errorf("show %s: %v", name, shown)
		}
	}
	c.vimRefused("Unable to find vim", "show", "none")
	c.vimRefused("Unable to find vim", "show", "00000000-0000-4000-8000-ffffffffffff")
	c.vimRefused("refuses the credentials", "set", "lab", "--config-file", c.vimFile("wrong.yaml", openstack("wrong")))
	changed := c.vim("set", "lab", "--name", "renamed", "--description", "text", "--config-file", c.vimFile("openstack.yaml", strings.Replace(openstack("right-password"), "auth_url", "ignored", 1)))
	if diff := cmp.Diff([]any{"renamed", "text"}, []any{changed["name"], changed["description"]}); diff != "" || changed["updated_at"] == nil {
		t.Errorf("set: %v\n%s", changed, diff)
	}
	c.vimRefused("configuration file "+file, "set", "configured", "--description", "text")
	c.vimRefused("configuration file "+file, "delete", "configured")
	if out, faults, err := c.tryVIM("delete", "renamed", "cluster"); err != nil {
		t.Errorf("delete: %v\n%s%s", err, out, faults)
	}
	if diff := cmp.Diff(map[string]any{"configured": "ACTIVE"}, c.vims("Status")); diff != "" {
		t.Errorf("after the deletion:\n%s", diff)
	}
}

// TestTackerClientVIMInUse instantiates a cluster on a VIM that the client has registered. Neither the VIM nor the cluster can be deleted until
// the cluster is terminated.
func TestTackerClientVIMInUse(t *testing.T) {
	needTackerClient(t)
	file := filepath.Join(t.TempDir(), "vnfm.yaml")
	must(t, os.WriteFile(file, []byte("sandbox: {vims: {sample: openstack}}\n"), 0o600))
	c := &tackerClient{program: start(t, t.TempDir(), "-config="+file), t: t, version: "2", dir: t.TempDir()}
	vim := c.vim("register", "lab", "--config-file", c.vimFile("openstack.yaml", "auth_url: 'https://cloud.example'\nusername: u\npassword: hunter2\nproject_name: nfv\n"))
	id := fmt.Sprint(vim["id"])
	instance := c.create()
	body := c.instantiate("")
	body["vimConnectionInfo"] = map[string]any{"lab": map[string]any{"vimId": id, "vimType": "ETSINFV.OPENSTACK_KEYSTONE.V_3"}}
	c.run("instantiate", instance, c.file("instantiate.json", body))
	c.ends(instance, "COMPLETED")
	c.vimRefused("VNF instances are on the VIM", "delete", "lab")
	c.vimRefused(instance, "delete", id)
	cluster := kubeadm.VIMID(instance)
	name := fmt.Sprint(c.vim("show", cluster)["name"])
	if types := c.vims("Type"); types[name] != "kubernetes" || name != "kubernetes_vim" {
		t.Errorf("the cluster %s is not listed: %v", name, types)
	}
	c.vimRefused("is the cluster of the VNF instance", "delete", name)
	c.vim("set", name, "--name", "mine")
	c.vimRefused("is the cluster of the VNF instance", "set", "mine", "--config-file", c.vimFile("token.yaml", "bearer_token: other\nproject_name: default\ntype: kubernetes\n"))
	c.run("terminate", instance, "--termination-type", "GRACEFUL")
	c.ends(instance, "COMPLETED")
	if out, faults, err := c.tryVIM("delete", "lab"); err != nil {
		t.Errorf("delete: %v\n%s%s", err, out, faults)
	}
}
