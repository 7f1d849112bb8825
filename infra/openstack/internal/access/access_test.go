package access_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"

	"github.com/vnfkit/vnfkit/infra/openstack/internal/access"
	"github.com/vnfkit/vnfkit/vnflcm"
)

func open(t *testing.T, config access.Config) *access.Cache {
	t.Helper()
	cache := access.New(config)
	t.Cleanup(cache.Close)
	return cache
}

func TestLogin(t *testing.T) {
	t.Parallel()
	domain := attrs{"name": "Default"}
	user := attrs{"name": "nfv_user", "password": canary + "-password", "domain": domain}
	scope := attrs{"project": attrs{"name": "nfv", "domain": domain}}
	credential := attrs{"password": nil, "project": nil, "applicationCredentialSecret": canary}
	for name, c := range map[string]struct {
		access     attrs
		auth, want attrs // identity and scope
	}{
		"password":        {nil, attrs{"methods": []any{"password"}, "password": attrs{"user": user}}, scope},
		"names of Tacker": {attrs{"project": nil, "project_name": "nfv", "user_domain_name": "Default"}, attrs{"methods": []any{"password"}, "password": attrs{"user": user}}, scope},
		"project by id":   {attrs{"project": nil, "projectId": "p1"}, attrs{"methods": []any{"password"}, "password": attrs{"user": user}}, attrs{"project": attrs{"id": "p1"}}},
		"other domains": {attrs{"userDomain": "users", "projectDomain": "projects"},
			attrs{"methods": []any{"password"}, "password": attrs{"user": attrs{"name": "nfv_user", "password": canary + "-password", "domain": attrs{"name": "users"}}}},
			attrs{"project": attrs{"name": "nfv", "domain": attrs{"name": "projects"}}}},
		"application credential": {with(credential, attrs{"applicationCredentialId": "c1", "username": nil}),
			attrs{"methods": []any{"application_credential"}, "application_credential": attrs{"id": "c1", "secret": canary}}, nil},
		"application credential by name": {with(credential, attrs{"applicationCredentialName": "vnfm"}),
			attrs{"methods": []any{"application_credential"}, "application_credential": attrs{"name": "vnfm", "secret": canary, "user": attrs{"name": "nfv_user", "domain": domain}}}, nil},
		"token": {attrs{"password": nil, "username": nil, "token": canary}, attrs{"methods": []any{"token"}, "token": attrs{"id": canary}}, scope},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cloud := newCloud(t, httptest.NewServer)
			clients, err := open(t, access.Config{}).Clients(t.Context(), vim(t, cloud.URL, nil, c.access))
			if err != nil {
				t.Fatal(err)
			}
			auth := cloud.bodies[0]["auth"].(map[string]any)
			if diff := cmp.Diff(plain(c.auth), auth["identity"]); diff != "" {
				t.Errorf("identity:\n%s", diff)
			}
			if diff := cmp.Diff(plain(c.want), auth["scope"]); diff != "" {
				t.Errorf("scope:\n%s", diff)
			}
			got := []string{clients.Heat.Endpoint, clients.Nova.Endpoint, clients.Neutron.ResourceBaseURL(), clients.NovaMicroversion}
			want := []string{cloud.URL + "/heat/v1/p1/", cloud.URL + "/compute/v2.1/", cloud.URL + "/neutron/v2.0/", "2.90"}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func with(base, over attrs) attrs {
	out := attrs{}
	for _, m := range []attrs{base, over} {
		for k, v := range m {
			out[k] = v
		}
	}
	return out
}

func plain(v any) any {
	m, ok := v.(attrs)
	if !ok {
		return v
	}
	if m == nil {
		return nil
	}
	out := map[string]any{}
	for k, each := range m {
		out[k] = plain(each)
	}
	return out
}

func TestValidate(t *testing.T) {
	t.Parallel()
	const at = "vimConnectionInfo."
	for name, c := range map[string]struct {
		inter, access attrs
		want          []string // paths
	}{
		"fine":                   {},
		"versions and booleans":  {attrs{"endpoint": "http://k:5000/v3/", "skipCertificateVerification": "True"}, nil, nil},
		"auth_url":               {attrs{"endpoint": nil}, attrs{"auth_url": "https://k/identity"}, nil},
		"all missing":            {attrs{"endpoint": nil}, attrs{"username": nil, "password": nil, "project": nil}, []string{"accessInfo.password", "accessInfo.project", "accessInfo.username", "interfaceInfo.endpoint"}},
		"version 2":              {attrs{"endpoint": "http://k:5000/v2.0"}, nil, []string{"interfaceInfo.endpoint"}},
		"no URL":                 {attrs{"endpoint": "file:///etc/passwd"}, nil, []string{"interfaceInfo.endpoint"}},
		"credentials in the URL": {attrs{"endpoint": "http://u:" + canary + "@k:5000/v3"}, nil, []string{"interfaceInfo.endpoint"}},
		"two names, two values":  {nil, attrs{"project_name": "other"}, []string{"accessInfo.project_name"}},
		"two ways":               {nil, attrs{"token": canary}, []string{"accessInfo.password"}},
		"half a credential":      {nil, attrs{"password": nil, "applicationCredentialId": "x"}, []string{"accessInfo.applicationCredentialSecret"}},
		"types":                  {attrs{"interface": "secret", "skipCertificateVerification": "perhaps"}, attrs{"password": []string{canary}}, []string{"accessInfo.password", "accessInfo.password", "interfaceInfo.interface", "interfaceInfo.skipCertificateVerification"}},
		"no certificate":         {attrs{"trustedCertificates": "hello"}, nil, []string{"interfaceInfo.trustedCertificates"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := access.Validate(vim(t, "http://k:5000/v3", c.inter, c.access))
			var got []string
			for line := range strings.Lines(fmt.Sprint(err)) {
				if path, _, ok := strings.Cut(line, ":"); ok {
					got = append(got, strings.TrimPrefix(path, at))
				}
			}
			sortStrings := cmp.Transformer("sort", sorted)
			if diff := cmp.Diff(c.want, got, sortStrings); diff != "" {
				t.Errorf("%v\n%s", err, diff)
			}
			if err != nil && (!errors.Is(err, vnflcm.ErrInvalidRequest) || strings.Contains(err.Error(), canary)) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func TestUnknown(t *testing.T) {
	t.Parallel()
	got := access.Unknown(vim(t, "http://k", attrs{"colour": 1}, attrs{"paswort": "x"}))
	want := []string{"vimConnectionInfo.interfaceInfo.colour", "vimConnectionInfo.accessInfo.paswort"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestExpiry sends fifty requests at the same time with an expired token: one of them logs in, and all succeed.
func TestExpiry(t *testing.T) {
	t.Parallel()
	cloud := newCloud(t, httptest.NewServer)
	cache := open(t, access.Config{})
	info := vim(t, cloud.URL, nil, nil)
	var failed atomic.Int32
	all := func() {
		var group sync.WaitGroup
		for range 50 {
			group.Go(func() {
				clients, err := cache.Clients(t.Context(), info)
				if err == nil {
					err = list(t.Context(), clients)
				}
				if err != nil {
					failed.Add(1)
				}
			})
		}
		group.Wait()
	}
	for _, logins := range []int{1, 2, 3} {
		all()
		if cloud.logins != logins || failed.Load() != 0 {
			t.Fatalf("%d logins, want %d; %d requests failed", cloud.logins, logins, failed.Load())
		}
		cloud.expire()
	}
}

func TestTokenOnlyExpires(t *testing.T) {
	t.Parallel()
	cloud := newCloud(t, httptest.NewServer)
	clients, err := open(t, access.Config{}).Clients(t.Context(), vim(t, cloud.URL, nil, attrs{"password": nil, "token": canary}))
	if err != nil {
		t.Fatal(err)
	}
	cloud.expire()
	err = list(t.Context(), clients)
	if err = clients.Explain(err); !errors.Is(err, access.ErrAuth) || !strings.Contains(err.Error(), "a token cannot be renewed") {
		t.Error(err)
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	status := func(code int, header, value string, times int32) func(http.ResponseWriter, *http.Request) bool {
		var seen atomic.Int32
		return func(w http.ResponseWriter, _ *http.Request) bool {
			if seen.Add(1) > times {
				return false
			}
			w.Header().Set(header, value)
			w.WriteHeader(code)
			_, _ = fmt.Fprint(w, canary+"-password "+canary+"-token-1")
			return true
		}
	}
	hang := func(_ http.ResponseWriter, r *http.Request) bool {
		_, _ = io.Copy(io.Discard, r.Body) // then the server notices that the client has gone
		select {
		case <-r.Context().Done():
		case <-time.After(time.Minute):
		}
		return true
	}
	cut := func(times int32) func(http.ResponseWriter, *http.Request) bool {
		var seen atomic.Int32
		return func(http.ResponseWriter, *http.Request) bool {
			if seen.Add(1) <= times {
				panic(http.ErrAbortHandler)
			}
			return false
		}
	}
	for name, c := range map[string]struct {
		change func(*cloud)
		want   error
		text   string
	}{
		"wrong password":       {func(c *cloud) { c.login = status(401, "X", "", 99) }, access.ErrAuth, "/v3/auth/tokens"},
		"503, then well":       {func(c *cloud) { c.login = status(503, "Retry-After", "0", 2) }, nil, ""},
		"429, then well":       {func(c *cloud) { c.compute = status(429, "Retry-After", "1", 1) }, nil, ""},
		"always 503":           {func(c *cloud) { c.login = status(503, "Retry-After", "0", 99) }, access.ErrUnreachable, "503"},
		"503 for an hour":      {func(c *cloud) { c.login = status(503, "Retry-After", "3600", 1) }, access.ErrUnreachable, "503"},
		"hung":                 {func(c *cloud) { c.login = hang }, access.ErrUnreachable, "timeout"},
		"cut login, then well": {func(c *cloud) { c.login = cut(1) }, nil, ""},
		"cut logins":           {func(c *cloud) { c.login = cut(99) }, access.ErrUnreachable, "EOF"},
		"cut GET, then well":   {func(c *cloud) { c.compute = cut(1) }, nil, ""},
		"redirect elsewhere":   {func(c *cloud) { c.compute = status(302, "Location", "http://other.invalid/", 1) }, access.ErrUnreachable, "redirects to another host"},
		"no Heat":              {func(c *cloud) { c.types = []string{"compute", "network"} }, access.ErrEndpoint, "orchestration"},
		"other region":         {func(c *cloud) { c.region = "Elsewhere" }, access.ErrEndpoint, "public in Elsewhere"},
		"Nova without version": {func(c *cloud) { c.max = "" }, access.ErrMicroversion, "2.90"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cloud := newCloud(t, httptest.NewServer)
			c.change(cloud)
			config := access.Config{}
			if name == "hung" {
				config.ResponseTimeout = time.Second // no less: a busy machine holds back answers
			}
			cache := open(t, config)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err := cache.Clients(ctx, vim(t, cloud.URL, nil, nil))
			if !errors.Is(err, c.want) || !strings.Contains(fmt.Sprint(err), c.text) {
				t.Fatalf("the error is %v", err)
			}
			if text := fmt.Sprintf("%v %+v", err, err); strings.Contains(text, canary) {
				t.Errorf("a secret is shown: %s", text)
			}
			// A failure is not cached.
			cloud.heal()
			if _, err := cache.Clients(ctx, vim(t, cloud.URL, nil, nil)); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestRegions: a VIM that names no region uses the only region of the catalog.
func TestRegions(t *testing.T) {
	t.Parallel()
	cloud := newCloud(t, httptest.NewServer)
	for _, c := range []struct {
		catalog string
		named   any // nil: none
		want    string
	}{
		{"RegionOne", nil, ""}, {"RegionOne RegionTwo", "RegionTwo", ""}, {"RegionTwo RegionOne", nil, "several: RegionOne, RegionTwo"},
	} {
		cloud.region = c.catalog
		_, err := open(t, access.Config{}).Clients(t.Context(), vim(t, cloud.URL, nil, attrs{"region": c.named}))
		if (err != nil) != (c.want != "") || err != nil && (!errors.Is(err, access.ErrEndpoint) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("regions %s, %v named: %v", c.catalog, c.named, err)
		}
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	cloud := newCloud(t, httptest.NewTLSServer)
	foreign := strings.Replace(cloud.URL, "127.0.0.1", "localhost", 1) // not in the certificate
	for name, c := range map[string]struct {
		url   string
		inter attrs
		ok    bool
	}{
		"unknown CA":              {cloud.URL, nil, false},
		"private CA":              {cloud.URL, attrs{"trustedCertificates": cloud.certificate()}, true},
		"private CA, other name":  {foreign, attrs{"ssl_ca_cert": cloud.certificate()}, false},
		"private CA, any name":    {foreign, attrs{"ssl_ca_cert": cloud.certificate(), "skipCertificateHostnameCheck": true}, true},
		"unknown CA, any name":    {foreign, attrs{"skipCertificateHostnameCheck": true}, false},
		"not verified, as wished": {foreign, attrs{"skipCertificateVerification": "true"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := open(t, access.Config{}).Clients(t.Context(), vim(t, c.url, c.inter, nil))
			if c.ok != (err == nil) || err != nil && !errors.Is(err, access.ErrUnreachable) {
				t.Error(err)
			}
		})
	}
}

func TestRequire(t *testing.T) {
	t.Parallel()
	cloud := newCloud(t, httptest.NewServer)
	cloud.max = "2.9"
	clients, err := open(t, access.Config{}).Clients(t.Context(), vim(t, cloud.URL, nil, nil))
	if err != nil {
		t.Fatal(err)
	}
	if err := clients.Require("2.9"); err != nil || clients.Nova.Microversion != "2.9" {
		t.Error(err, clients.Nova.Microversion)
	}
	if err := clients.Require("2.74"); !errors.Is(err, access.ErrMicroversion) || !strings.Contains(err.Error(), "2.74 is needed, 2.1 to 2.9 is offered") {
		t.Error(err)
	}
}

// TestCache: the identity is the key of the cache. Other credentials log in again, and the number of entries is bounded.
func TestCache(t *testing.T) {
	t.Parallel()
	cloud := newCloud(t, httptest.NewServer)
	cache := open(t, access.Config{Identities: 2})
	for i, c := range []struct {
		password string
		logins   int
	}{{"a", 1}, {"a", 1}, {"b", 2}, {"a", 2}, {"c", 3}, {"a", 3}, {"b", 4}} {
		if _, err := cache.Clients(t.Context(), vim(t, cloud.URL, nil, attrs{"password": c.password})); err != nil {
			t.Fatal(err)
		}
		if cloud.logins != c.logins {
			t.Errorf("%d: %d logins, want %d", i, cloud.logins, c.logins)
		}
	}
}

// TestAbandonedLogin: the end of one caller's context does not fail other callers that wait for the same clients.
func TestAbandonedLogin(t *testing.T) {
	t.Parallel()
	cloud := newCloud(t, httptest.NewServer)
	first := make(chan struct{})
	var once sync.Once
	cloud.login = func(_ http.ResponseWriter, r *http.Request) (done bool) {
		once.Do(func() {
			close(first)
			_, _ = io.Copy(io.Discard, r.Body) // then the server notices that the client has gone
			select {
			case <-r.Context().Done():
			case <-time.After(time.Minute):
			}
			done = true
		})
		return done
	}
	cache := open(t, access.Config{})
	info := vim(t, cloud.URL, nil, nil)
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		if _, err := cache.Clients(ctx, info); !errors.Is(err, context.Canceled) {
			t.Errorf("the error is %v", err)
		}
	})
	<-first
	group.Go(func() {
		if _, err := cache.Clients(t.Context(), info); err != nil {
			t.Error(err)
		}
	})
	cancel()
	group.Wait()
}

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }

func list(ctx context.Context, c *access.Clients) error {
	_, err := c.Heat.Get(ctx, c.Heat.ServiceURL("stacks"), &struct{}{}, nil) //nolint:bodyclose // gophercloud closes what it decodes
	return err
}

// TestHugeAnswers: the size of answers is bounded, and so is the part of an answer that an error shows.
func TestHugeAnswers(t *testing.T) {
	t.Parallel()
	filler := strings.Repeat("x", 1<<16)
	for name, c := range map[string]struct {
		service string
		status  int
		want    string
	}{
		"endless JSON":             {"Heat", http.StatusOK, "the answer is longer than 64 MiB"},
		"endless refusal":          {"Heat", http.StatusBadGateway, "HTTP status 502"},
		"endless fault":            {"Heat", http.StatusBadRequest, "HTTP status 400"},
		"endless JSON of Nova":     {"Nova", http.StatusOK, "the answer is longer than 64 MiB"},
		"endless refusal of Nova":  {"Nova", http.StatusForbidden, "HTTP status 403"},
		"endless login":            {"Keystone", http.StatusCreated, "the answer is longer than 64 MiB"},
		"endless refusal of login": {"Keystone", http.StatusBadGateway, "HTTP status 502"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var sent atomic.Int64
			cloud := newCloud(t, httptest.NewServer)
			endless := func(w http.ResponseWriter, _ *http.Request) bool {
				w.Header().Set("X-Subject-Token", "x")
				w.WriteHeader(c.status)
				_, err := w.Write([]byte(`{"stacks": ["`))
				for err == nil && sent.Load() < 256<<20 {
					_, err = w.Write([]byte(filler))
					sent.Add(int64(len(filler)))
				}
				return true
			}
			if c.service == "Keystone" {
				cloud.login = endless
			}
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			clients, err := open(t, access.Config{}).Clients(ctx, vim(t, cloud.URL, nil, nil))
			if err == nil {
				cloud.mu.Lock()
				cloud.heat, cloud.compute = endless, endless
				cloud.mu.Unlock()
				service := map[string]*gophercloud.ServiceClient{"Heat": clients.Heat, "Nova": clients.Nova}[c.service]
				var into any
				_, err = service.Get(ctx, service.ServiceURL("stacks"), &into, nil) //nolint:bodyclose // gophercloud closes it
				err = clients.Explain(err)
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 4<<10 {
				t.Errorf("%.300v, %d bytes", err, len(fmt.Sprint(err)))
			}
			if n := sent.Load(); n > 80<<20 {
				t.Errorf("%d MiB were read", n>>20)
			}
		})
	}
}
