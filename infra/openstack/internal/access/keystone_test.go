package access_test

import (
	"cmp"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/vnfkit/vnfkit/vnflcm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// canary is in every secret: no error may show it.
const canary = "CANARY"

// cloud is a Keystone and a Nova that a test can make fail.
type cloud struct {
	*httptest.Server
	mu       sync.Mutex
	valid    string // the token that Nova takes
	logins   int
	requests int
	bodies   []map[string]any
	// login and compute answer before the cloud does, when set; they return true when they have.
	login, compute, heat func(w http.ResponseWriter, r *http.Request) bool
	region               string
	elsewhere            string // the URL that the catalog has instead of the cloud's
	types                []string
	max                  string
}

func newCloud(t *testing.T, start func(http.Handler) *httptest.Server) *cloud {
	t.Helper()
	c := &cloud{}
	c.heal()
	mux := http.NewServeMux()
	mux.HandleFunc("/v3/auth/tokens", c.tokens)
	mux.HandleFunc("/compute/v2.1/", c.nova)
	mux.HandleFunc("/heat/v1/p1/stacks", c.stacks)
	c.Server = start(mux)
	t.Cleanup(c.Close)
	return c
}

func (c *cloud) tokens(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	login := c.login
	c.mu.Unlock()
	if login != nil && login(w, r) {
		return
	}
	var body map[string]any
	_ = json.NewDecoder(r.Body).Decode(&body)
	c.mu.Lock()
	c.logins++
	c.bodies = append(c.bodies, body)
	c.valid = fmt.Sprintf("%s-token-%d", canary, c.logins)
	w.Header().Set("X-Subject-Token", c.valid)
	var catalog []any
	for kind, path := range map[string]string{"orchestration": "/heat/v1/p1", "compute": "/compute/v2.1", "network": "/neutron",
		"image": "/image"} {
		if strings.Contains(strings.Join(c.types, " "), kind) {
			var endpoints []any
			for region := range strings.SplitSeq(c.region, " ") {
				endpoints = append(endpoints, map[string]any{"interface": "public", "region": region, "region_id": region, "url": cmp.Or(c.elsewhere, c.URL) + path})
			}
			catalog = append(catalog, map[string]any{"type": kind, "endpoints": endpoints})
		}
	}
	c.mu.Unlock()
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(map[string]any{"token": map[string]any{"expires_at": "2040-01-01T00:00:00.000000Z",
		"project": map[string]any{"id": "p1", "name": "nfv"}, "catalog": catalog}})
}

func (c *cloud) nova(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	compute, newest := c.compute, c.max
	c.mu.Unlock()
	if compute != nil && compute(w, r) {
		return
	}
	_, _ = fmt.Fprintf(w, `{"version": {"id": "v2.1", "version": %q, "min_version": "2.1"}}`, newest)
}

func (c *cloud) stacks(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	c.requests++
	ok, heat := r.Header.Get("X-Auth-Token") == c.valid, c.heat
	c.mu.Unlock()
	if !ok {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if heat == nil || !heat(w, r) {
		_, _ = fmt.Fprint(w, `{"stacks": []}`)
	}
}

// heal ends all faults that a test has set.
func (c *cloud) heal() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.login, c.compute, c.region, c.max = nil, nil, "RegionOne", "2.93"
	c.types = []string{"orchestration", "compute", "network"}
}

func (c *cloud) expire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.valid = "none"
}

func (c *cloud) certificate() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate().Raw}))
}

type attrs map[string]any

// vim returns a VIM's entry with a password. inter and access change attributes; nil removes an attribute.
func vim(t *testing.T, endpoint string, inter, access attrs) vnflcm.VimConnectionInfo {
	t.Helper()
	i := attrs{"endpoint": endpoint}
	a := attrs{"username": "nfv_user", "password": canary + "-password", "project": "nfv", "region": "RegionOne"}
	return vnflcm.VimConnectionInfo{VimType: "openstack", InterfaceInfo: params(t, i, inter), AccessInfo: params(t, a, access), FromOperator: true}
}

func params(t *testing.T, base, over attrs) vnflcm.Params {
	t.Helper()
	for k, v := range over {
		base[k] = v
		if v == nil {
			delete(base, k)
		}
	}
	p, err := vnflcm.NewParams(base)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
