package main

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/examples/internal/samples"
)

// TestAllow sends a request whose VIM is on this machine. The program must connect to the VIM only if its settings allow the address, and
// must never quote the answer of a server that is not OpenStack.
func TestAllow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		settings string
		status   int
		reached  bool
	}{
		"by default": {"", 422, false},
		"allowed":    {"allow: [127.0.0.0/8]\n", 500, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reached := make(chan string, 100)
			inside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				reached <- r.URL.Path
				w.WriteHeader(http.StatusForbidden)
				_, _ = w.Write([]byte(`{"secret": "hunter2"}`))
			}))
			t.Cleanup(inside.Close)
			file := filepath.Join(t.TempDir(), "vnfm.yaml")
			must(t, os.WriteFile(file, []byte(c.settings+"data: "+t.TempDir()+"\npackages: "+filepath.Dir(samples.Package("k8s-cluster"))), 0o600))
			settings, err := readConfig([]string{"-config", file})
			must(t, err)
			v, err := compose(t.Context(), settings, slog.New(slog.DiscardHandler))
			must(t, err)
			t.Cleanup(v.close)
			server := httptest.NewServer(v.routes(nil))
			t.Cleanup(server.Close)
			p := &program{t: t, api: server.URL + "/vnflcm/v2", http: server.Client(), log: new(output)}
			body := request(t, "instantiate_sandbox.json")
			body["vimConnectionInfo"] = map[string]any{"mine": map[string]any{"vimType": "ETSINFV.OPENSTACK_KEYSTONE.V_3",
				"interfaceInfo": map[string]any{"endpoint": inside.URL + "/v3"}, "accessInfo": map[string]any{"username": "me", "password": "mine", "project": "nfv"}}}
			instance := p.create(sampleVNFD)
			_, document := p.send("POST", instance+"/instantiate", body, c.status)
			if detail, _ := document["detail"].(string); strings.Contains(detail, "hunter2") || strings.Contains(detail, "not allowed") == c.reached {
				t.Errorf("detail: %s", detail)
			}
			if got := len(reached) > 0; got != c.reached {
				t.Errorf("the server was reached: %t", got)
			}
		})
	}
}
