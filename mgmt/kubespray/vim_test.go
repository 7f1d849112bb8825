package kubespray_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/mgmt/kubespray"
	"github.com/vnfkit/vnfkit/mgmt/loadbalancer"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// ask asks the API as the entry in the VIM registry says, from outside: TLS is verified. It returns the code.
func (l *lab) ask(id, path string) (int, error) {
	l.t.Helper()
	return l.send(id, http.MethodGet, path, "")
}

func (l *lab) send(id, method, path, body string) (int, error) {
	l.t.Helper()
	vim, err := l.VIMs().Get(l.t.Context(), kubespray.VIMID(id))
	if err != nil {
		l.t.Fatal(err)
	}
	var access struct {
		AuthURL string `json:"auth_url"`
		Token   string `json:"bearer_token"`
		CA      string `json:"ssl_ca_cert"`
	}
	if unknown, err := vim.AccessInfo.Decode(&access); err != nil || len(unknown) > 0 {
		l.t.Fatalf("%v; also %q", err, unknown)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(access.CA)) {
		l.t.Fatalf("no CA: %q", access.CA)
	}
	transport := &http.Transport{DialContext: l.world.Dial, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(l.t.Context(), method, access.AuthURL+path, strings.NewReader(body))
	if err != nil {
		l.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+access.Token)
	answer, err := transport.RoundTrip(request)
	if err != nil {
		return 0, err
	}
	return answer.StatusCode, answer.Body.Close()
}

// TestAuthURL: at the load balancer's port, or at the first control-plane node's.
func TestAuthURL(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		changes []change
		port    string
	}{
		"load balancer": {nil, ":8383"},
		"none":          {[]change{with(t, `{"external_lb_param":null}`)}, ":6443"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			id := l.cluster(c.changes...)
			vim, err := l.VIMs().Get(t.Context(), kubespray.VIMID(id))
			if err != nil {
				t.Fatal(err)
			}
			var access struct {
				AuthURL string `json:"auth_url"`
			}
			if _, err := vim.AccessInfo.Decode(&access); err != nil {
				t.Fatal(err)
			}
			if got := access.AuthURL[len(access.AuthURL)-5:]; got != c.port {
				t.Errorf("the API is at %s", access.AuthURL)
			}
			if code, err := l.ask(id, "/api/v1/nodes"); code != http.StatusOK {
				t.Errorf("%d, %v", code, err)
			}
		})
	}
}

// TestPartsOfCNFs: a new load balancer leads to the services of CNFs again, at workers as they are, and one that cannot be
// read keeps none of the others from it.
func TestPartsOfCNFs(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	id := l.cluster(sized("simple", 1))
	for name, part := range map[string]string{
		"vnfkit-lb-1": `{"frontends":[{"name":"web","port":30080,"to":["workers"],"toward":30080}]}`,
		"vnfkit-lb-2": `{"frontends":[{"name":"a\nb","port":30081,"to":["workers"],"toward":30081}]}`,
		"vnfkit-lb-3": `none`,
		// Who may write ConfigMaps must not have the load balancer lead elsewhere.
		"vnfkit-lb-4": `{"groups":{"workers":[{"id":"x","name":"x","address":"192.0.2.1"}]},"frontends":[{"name":"web","port":30082,"to":["workers"],"toward":30082}]}`,
	} {
		object, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
			"metadata": map[string]any{"name": name, "labels": map[string]string{"vnfkit.io/loadbalancer": "part"}}, "data": map[string]string{"part.json": part}})
		if err != nil {
			t.Fatal(err)
		}
		if code, err := l.send(id, http.MethodPost, "/api/v1/namespaces/kube-system/configmaps", string(object)); code != http.StatusCreated {
			t.Fatalf("%d, %v", code, err)
		}
	}
	l.must(l.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{l.vnfcs(id, "externalLB")[0].ID}}))
	config := read(t, l.world.Host("externalLB-0"), loadbalancer.ConfigFile)
	if n := strings.Count(config, ":30080\n"); n != 3 || strings.Contains(config, "30081") || strings.Contains(config, "30082") {
		t.Errorf("%d ports:\n%s", n, config)
	}
	if n := strings.Count(l.logged(), "not exposed any more"); n != 3 {
		t.Errorf("%d warnings", n)
	}
	l.scaleOut(id)
	if after := read(t, l.world.Host("externalLB-0"), loadbalancer.ConfigFile); strings.Count(after, ":30080\n") != strings.Count(config, ":30080\n")+1 {
		t.Errorf("the new worker is not led to:\n%s", after)
	}
}
