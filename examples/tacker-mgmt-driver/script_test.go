package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/internal/tackertest"
)

// said is the dictionary for a hook of a VNF with a server for which an earlier hook has published metadata, and with a deleted server.
const said = `{"operation": "heal_end", "request": {}, "tmp_csar_dir": "DIR", "grant_request": {"vnfLcmOpOccId": "op-1"}, "grant_response": null,
	"user_script_err_handling_data": {}, "vnf_instance": {"id": "vnf-1", "vnfdId": "d", "vnfProvider": "p", "vnfProductName": "n", "vnfSoftwareVersion": "1",
	"vnfdVersion": "1", "instantiationState": "INSTANTIATED", "vimConnectionInfo": {"vim1": {"vimId": "v", "vimType": "ETSINFV.OPENSTACK_KEYSTONE.V_3"}},
	"instantiatedVnfInfo": {"flavourId": "simple", "vnfState": "STARTED", "metadata": {"stack_id": "s1", "published": PUBLISHED},
	"vnfcResourceInfo": [{"id": "srv1", "vduId": "masterNode", "computeResource": {"resourceId": "srv1", "vimConnectionId": "vim1"}}]}}}`

// TestScript runs the script as the conductor of Tacker does, with a fake program in the package. If VNFKIT_TACKER names a checkout, it
// uses Tacker's code.
func TestScript(t *testing.T) {
	t.Parallel()
	if tackertest.Python() == "" {
		t.Skip("this machine has no python3, which runs the script")
	}
	if os.Getenv(tackertest.TackerEnv) == "" {
		t.Logf("%s names no checkout of Tacker: the conductor is imitated", tackertest.TackerEnv)
	}
	for name, c := range map[string]struct{ driver, program, before, vims, published, failure string }{
		"nothing": {"registry", "echo '{}'", `{"old": {"a": "1"}}`, `vim1`, `{"old":{"a":"1"}}`, ""},
		"a cluster": {"kubeadm", `echo '{"published": {"srv1": {"address": "192.0.2.1"}}, "vims": [{"vimId": "a", "vimType": "kubernetes", "accessInfo": {"bearer_token": "t"}}]}'`,
			`{"old": {"a": "1"}}`, `vim1 a`, `{"srv1":{"address":"192.0.2.1"}}`, ""},
		"kept":   {"kubespray", `echo '{"vims": [{"vimId": "a", "vimType": "kubernetes"}]}'`, `{"srv1": {"b": "2"}}`, `vim1 a`, `{"srv1":{"b":"2"}}`, ""},
		"failed": {"kubeadm", "echo why it failed >&2; exit 3", "{}", "", "", "heal_end failed: b'why it failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			text, err := os.ReadFile("script.py")
			must(t, err)
			must(t, os.MkdirAll(filepath.Join(dir, "Definitions"), 0o700))
			must(t, os.MkdirAll(filepath.Join(dir, "Scripts"), 0o700))
			must(t, os.WriteFile(filepath.Join(dir, "Scripts", c.driver+".py"), text, 0o600))
			program := "#!/bin/sh\ncat >" + dir + "/in\n[ \"$*\" = '-driver " + c.driver + "' ] || exit 9\n" + c.program + "\n"
			must(t, os.WriteFile(filepath.Join(dir, "Scripts", "tacker-mgmt-driver"), []byte(program), 0o600)) // an archive without modes has lost the x bit
			given := strings.NewReplacer("DIR", dir, "PUBLISHED", c.before).Replace(said)
			out, err := tackertest.Execute(t.Context(), []byte(given), "../Scripts/"+c.driver+".py")
			if c.failure != "" {
				if err == nil || !strings.Contains(err.Error(), c.failure) {
					t.Errorf("error %v", err)
				}
				return
			}
			must(t, err)
			got, err := os.ReadFile(filepath.Join(dir, "in"))
			must(t, err)
			var want, passed any
			must(t, json.Unmarshal([]byte(given), &want))
			must(t, json.Unmarshal(got, &passed))
			delete(want.(map[string]any), "vnf_instance") // Tacker's objects add defaults
			delete(passed.(map[string]any), "vnf_instance")
			if diff := cmp.Diff(want, passed); diff != "" {
				t.Errorf("the program got:\n%s", diff)
			}
			checkInstance(t, out, c.vims, c.published)
		})
	}
}

// checkInstance compares the published metadata and the order of the VIMs, of which Tacker uses the first.
func checkInstance(t *testing.T, text []byte, vims, published string) {
	t.Helper()
	var got struct {
		VIMs json.RawMessage `json:"vimConnectionInfo"`
		Info struct {
			Metadata struct {
				Published json.RawMessage `json:"published"`
			} `json:"metadata"`
		} `json:"instantiatedVnfInfo"`
	}
	must(t, json.Unmarshal(text, &got))
	var order []string
	keys := json.NewDecoder(strings.NewReader(string(got.VIMs)))
	for depth := 0; keys.More() || depth > 1; {
		token, err := keys.Token()
		must(t, err)
		switch v := token.(type) {
		case json.Delim:
			depth += map[json.Delim]int{'{': 1, '}': -1}[v]
		case string:
			if depth == 1 {
				order = append(order, v)
			}
		}
	}
	if diff := cmp.Diff(vims, strings.Join(order, " ")); diff != "" {
		t.Errorf("VIMs:\n%s", diff)
	}
	if got := strings.ReplaceAll(string(got.Info.Metadata.Published), " ", ""); got != published {
		t.Errorf("published %s, want %s", got, published)
	}
}
