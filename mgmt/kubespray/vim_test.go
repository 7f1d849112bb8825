package kubespray_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/mgmt/kubespray"
	"github.com/vnfkit/vnfkit/mgmt/loadbalancer"
	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// ask sends a request to the API as the entry in the VIM registry says. It returns the status code.
func (l *lab) ask(id, path string) (int, error) {
	l.t.Helper()
	entry, _ := l.Entry(kubespray.VIMID(id))
	code, _, err := l.Ask(entry, http.MethodGet, path, "")
	return code, err
}

// TestAuthURL: the URL has the port of the load balancer, or of the first control-plane node.
func TestAuthURL(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		changes []mgmttest.Change
		port    string
	}{
		"load balancer": {nil, ":8383"},
		"none":          {[]mgmttest.Change{with(t, `{"external_lb_param":null}`)}, ":6443"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			id := l.Instantiated(sample, c.changes...)
			entry, _ := l.Entry(kubespray.VIMID(id))
			if !strings.HasSuffix(entry.AuthURL, c.port) {
				t.Errorf("the API is at %s", entry.AuthURL)
			}
			if code, err := l.ask(id, "/api/v1/nodes"); code != http.StatusOK {
				t.Errorf("%d, %v", code, err)
			}
		})
	}
}

// TestTokenRenewal checks that a Manager that starts after a token has expired gets a new token through a control-plane
// node.
func TestTokenRenewal(t *testing.T) {
	t.Parallel()
	var clock clustertest.Clock
	clock.Set(-6 * time.Minute) // clock of the API server: the token must be renewed at once
	l := openLab(t, setup{sandbox: sandbox.Config{Now: clock.Now}})
	id := l.Instantiated(sample, with(t, `{"vim_registration":{"token":"request","token_expiration":600}}`))
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	first, _ := l.Entry(kubespray.VIMID(id))
	clock.Set(time.Hour)
	if code, err := l.ask(id, "/api/v1/nodes"); code != http.StatusUnauthorized {
		t.Errorf("after the end of the token: %d, %v", code, err)
	}
	l.Process()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		entry, _ := l.Entry(kubespray.VIMID(id))
		if !entry.Token.Equal(first.Token) {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the token is not renewed:\n%s", l.Log())
		}
	}
	if code, err := l.ask(id, "/api/v1/nodes"); code != http.StatusOK {
		t.Errorf("%d, %v", code, err)
	}
}

// TestPartsOfCNFs checks that a new load balancer gets the routes to services of CNFs, to the workers that exist now, and
// that a part that cannot be read does not block the other parts.
func TestPartsOfCNFs(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	id := l.Instantiated(sample, clustertest.Sized("simple", 1))
	entry, _ := l.Entry(kubespray.VIMID(id))
	for name, part := range map[string]string{
		"vnfkit-lb-1": `{"frontends":[{"name":"web","port":30080,"to":["workers"],"toward":30080}]}`,
		"vnfkit-lb-2": `{"frontends":[{"name":"a\nb","port":30081,"to":["workers"],"toward":30081}]}`,
		"vnfkit-lb-3": `none`,
		// A user who may write ConfigMaps must not be able to route the load balancer to other machines.
		"vnfkit-lb-4": `{"groups":{"workers":[{"id":"x","name":"x","address":"192.0.2.1"}]},"frontends":[{"name":"web","port":30082,"to":["workers"],"toward":30082}]}`,
	} {
		object, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
			"metadata": map[string]any{"name": name, "labels": map[string]string{"vnfkit.io/loadbalancer": "part"}}, "data": map[string]string{"part.json": part}})
		if err != nil {
			t.Fatal(err)
		}
		if code, _, err := l.Ask(entry, http.MethodPost, "/api/v1/namespaces/kube-system/configmaps", string(object)); code != http.StatusCreated {
			t.Fatalf("%d, %v", code, err)
		}
	}
	l.Must(l.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{l.vnfcs(id, "externalLB")[0].ID}}))
	config := read(t, l.World.Host("externalLB-0"), loadbalancer.ConfigFile)
	if n := strings.Count(config, ":30080\n"); n != 3 || strings.Contains(config, "30081") || strings.Contains(config, "30082") {
		t.Errorf("%d ports:\n%s", n, config)
	}
	if n := strings.Count(l.Log(), "not exposed any more"); n != 3 {
		t.Errorf("%d warnings", n)
	}
	_, answer, err := l.Ask(entry, http.MethodGet, "/api/v1/namespaces/kube-system/configmaps/vnfkit-lb-1", "")
	var kept struct{ Data map[string]string }
	if err := errors.Join(err, json.Unmarshal(answer, &kept)); err != nil || len(kept.Data) != 2 || kept.Data["host-keys"] != l.World.Host("externalLB-0").PublicKey() {
		t.Errorf("%v: %s", err, answer)
	}
	l.scaleOut(id)
	if after := read(t, l.World.Host("externalLB-0"), loadbalancer.ConfigFile); strings.Count(after, ":30080\n") != strings.Count(config, ":30080\n")+1 {
		t.Errorf("the new worker is not led to:\n%s", after)
	}
}
