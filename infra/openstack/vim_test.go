package openstack_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/infra/openstack"
	"github.com/vnfkit/vnfkit/infra/openstack/internal/access"
)

const cloudsYAML = `
clouds:
  lab:
    region_name: RegionOne
    interface: internal
    cacert: CA
    auth: {auth_url: "http://k:5000/v3", username: u, project_name: p, domain_name: d, project_domain_name: pd}
  vendor: {profile: someone}
  open: {verify: false, cacert: CA, auth: {auth_url: "http://k", application_credential_id: i, application_credential_secret: CANARY}}
`

// TestVIMFromClouds is not parallel, because it changes the environment of the process.
func TestVIMFromClouds(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("clouds.yaml", strings.NewReplacer("cacert: CA\n", "cacert: "+folder+"/ca.pem\n").Replace(cloudsYAML))
	write("secure.yaml", `clouds: {lab: {auth: {password: CANARY}}}`)
	write("ca.pem", "not looked into here")
	t.Setenv("OS_CLIENT_CONFIG_FILE", filepath.Join(folder, "clouds.yaml"))
	t.Setenv("OS_CLOUD", "lab")

	vim, err := openstack.VIMFromClouds("")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]any{}
	for _, p := range []json.RawMessage{vim.InterfaceInfo.Reveal(), vim.AccessInfo.Reveal()} {
		if err := json.Unmarshal(p, &got); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]any{"endpoint": "http://k:5000/v3", "interface": "internal", "trustedCertificates": "not looked into here",
		"region": "RegionOne", "username": "u", "password": "CANARY", "project_name": "p", "user_domain_name": "d", "project_domain_name": "pd"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if vim, err = openstack.VIMFromClouds("open"); err != nil || access.Validate(vim) != nil || access.Unknown(vim) != nil {
		t.Error(err, access.Validate(vim), access.Unknown(vim))
	}
	for cloud, text := range map[string]string{"vendor": "profile", "nobody": `no cloud "nobody"`} {
		if _, err := openstack.VIMFromClouds(cloud); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", cloud, err)
		}
	}
	write("secure.yaml", "clouds: {lab: CANARY}")
	if _, err := openstack.VIMFromClouds("lab"); err == nil || strings.Contains(err.Error(), "CANARY") {
		t.Error(err)
	}
}
