package kubernetes_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/vnflcm"
)

const registryWord = "canary-registry"

// registryOf serves one chart at oci://HOST/charts/web, by TLS with a private certificate and with a login (OCI distribution specification).
func registryOf(t *testing.T, chart []byte) *httptest.Server {
	t.Helper()
	config := []byte(`{"apiVersion":"v2","name":"web","version":"0.1.0"}`)
	digest := func(of []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(of)) }
	descriptor := func(mediaType string, of []byte) map[string]any {
		return map[string]any{"mediaType": mediaType, "digest": digest(of), "size": len(of)}
	}
	manifest, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
		"config": descriptor("application/vnd.cncf.helm.config.v1+json", config),
		"layers": []any{descriptor("application/vnd.cncf.helm.chart.content.v1.tar+gzip", chart)}})
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{"": {}, "tags/list": []byte(`{"name":"charts/web","tags":["0.1.0"]}`), "manifests/0.1.0": manifest, "manifests/" + digest(manifest): manifest,
		"blobs/" + digest(config): config, "blobs/" + digest(chart): chart}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content, found := files[strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/v2/"), "charts/web/")]
		if name, word, ok := r.BasicAuth(); !ok || name != "reader" || word != registryWord {
			w.Header().Set("WWW-Authenticate", `Basic realm="charts"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if !found {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Docker-Content-Digest", digest(content))
		w.Header().Set("Content-Type", "application/octet-stream")
		if strings.Contains(r.URL.Path, "/manifests/") {
			w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	}))
	t.Cleanup(server.Close)
	return server
}

// TestChartOfRegistry: the chart of a CNF comes from a registry with a private CA and a login.
func TestChartOfRegistry(t *testing.T) {
	t.Parallel()
	server := registryOf(t, chart("web", webDeployment).pack(t))
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	l := newLab(t, kubernetes.VimTypeV1)
	l.instantiate("simple", fmt.Sprintf(`{"use_helm": true, "using_helm_install_param": [{"exthelmchart": true, "helmreleasename": "r", "helmchartname": "web", "helmchartversion": "0.1.0",
		"exthelmrepo_url": %q, "exthelmrepo_ca_cert": %q, "exthelmrepo_username": "reader", "exthelmrepo_password": %q}],
		"helm_replica_values": {"webs": "web.replicas"}, "vdu_mapping": {"WEB": {"kind": "Deployment", "name": "web-r"}}}`,
		strings.Replace(server.URL, "https://", "oci://", 1)+"/charts", ca, registryWord))
	l.scale(vnflcm.ScaleOut, "webs", 1)
	if n := len(l.vnfcs("WEB")); n != 2 {
		t.Errorf("%d pods of the chart, want 2", n)
	}
}
