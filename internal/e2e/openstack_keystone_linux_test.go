package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/endpoints"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/regions"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/roles"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/services"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/sol003"
	"github.com/vnfkit/vnfkit/vnflcm/sol003/keystone"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// keystoneUsers are projects and users of a test in Keystone, which end with the test.
type keystoneUsers struct {
	t        *testing.T
	admin    *gophercloud.ServiceClient
	authURL  string
	prefix   string
	projects map[string]string // ids
	users    map[string]string
	roles    map[string]string
}

func newKeystoneUsers(t *testing.T) *keystoneUsers {
	t.Helper()
	o := needCloud(t).operator
	k := &keystoneUsers{t: t, admin: o.Identity, authURL: o.AuthURL(), prefix: fmt.Sprintf("%s-%d-", t.Name(), time.Now().UnixNano()),
		projects: map[string]string{}, users: map[string]string{}, roles: map[string]string{}}
	t.Cleanup(k.remove)
	pages, err := roles.List(k.admin, roles.ListOpts{}).AllPages(t.Context())
	must(t, err)
	known, err := roles.ExtractRoles(pages)
	must(t, err)
	for _, role := range known {
		k.roles[role.Name] = role.ID
	}
	return k
}

// remove deletes what the test has made.
func (k *keystoneUsers) remove() {
	ctx := context.Background()
	for _, id := range k.users {
		must(k.t, users.Delete(ctx, k.admin, id).ExtractErr())
	}
	for _, id := range k.projects {
		must(k.t, projects.Delete(ctx, k.admin, id).ExtractErr())
	}
	for name, id := range k.roles {
		if strings.HasPrefix(name, k.prefix) {
			must(k.t, roles.Delete(ctx, k.admin, id).ExtractErr())
		}
	}
}

// add makes projects, and users, each with a role in one of the projects: "name role project".
func (k *keystoneUsers) add(names ...string) {
	k.t.Helper()
	ctx := k.t.Context()
	for _, text := range names {
		part := strings.Fields(text)
		user, role, project := part[0], part[1], part[2]
		if k.projects[project] == "" {
			made, err := projects.Create(ctx, k.admin, projects.CreateOpts{Name: k.prefix + project, DomainID: "default"}).Extract()
			must(k.t, err)
			k.projects[project] = made.ID
		}
		if k.users[user] == "" {
			made, err := users.Create(ctx, k.admin, users.CreateOpts{Name: k.prefix + user, DomainID: "default", Password: user + "-secret"}).Extract()
			must(k.t, err)
			k.users[user] = made.ID
		}
		if k.roles[role] == "" {
			made, err := roles.Create(ctx, k.admin, roles.CreateOpts{Name: k.prefix + role}).Extract()
			must(k.t, err)
			k.roles[k.prefix+role], k.roles[role] = made.ID, made.ID
		}
		must(k.t, roles.Assign(ctx, k.admin, k.roles[role], roles.AssignOpts{UserID: k.users[user], ProjectID: k.projects[project]}).ExtractErr())
	}
}

// client logs in, and returns the client with the token.
func (k *keystoneUsers) client(options tokens.AuthOptions) *gophercloud.ServiceClient {
	k.t.Helper()
	client := &gophercloud.ServiceClient{ProviderClient: &gophercloud.ProviderClient{HTTPClient: k.admin.HTTPClient}, Endpoint: k.authURL + "/", Type: "identity"}
	token, err := tokens.Create(k.t.Context(), client, &options).ExtractTokenID()
	must(k.t, err)
	client.SetToken(token)
	return client
}

// token returns a token of a user for a project, or for none.
func (k *keystoneUsers) token(user, project string) string {
	k.t.Helper()
	return k.client(k.login(user, project)).Token()
}

func (k *keystoneUsers) login(user, project string) tokens.AuthOptions {
	return tokens.AuthOptions{UserID: k.users[user], Password: user + "-secret", Scope: tokens.Scope{ProjectID: k.projects[project]}}
}

// TestKeystoneTokens has a VNFM identify clients by tokens of a real Keystone.
func TestKeystoneTokens(t *testing.T) {
	t.Parallel()
	needPart(t, "openstack")
	k := newKeystoneUsers(t)
	k.add("vnfm admin service", "operator member north", "watcher reader north", "other member south", "stranger stranger north")

	var log bytes.Buffer
	secret := "vnfm-secret"
	var mu sync.Mutex
	sent := map[string]int{} // requests to Keystone by method
	cfg := keystone.Config{AuthURL: k.authURL, Logger: slog.New(slog.NewTextHandler(&log, nil)), Recheck: time.Millisecond,
		Client: &http.Client{Transport: counting(func(r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			sent[r.Method]++
		})},
		Account: func() (keystone.Account, error) {
			return keystone.Account{UserName: k.prefix + "vnfm", Password: vnflcm.NewSecret(secret), Project: k.prefix + "service"}, nil
		},
		Roles: map[string]sol003.Role{"reader": sol003.RoleReader, "member": sol003.RoleOperator, "admin": sol003.RoleAdmin}}
	logins := func() int {
		mu.Lock()
		defer mu.Unlock()
		n := sent[http.MethodPost]
		clear(sent)
		return n
	}
	api := newKeystoneAPI(t, cfg)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(log.String())
		}
	})

	operator, watcher, other := k.token("operator", "north"), k.token("watcher", "north"), k.token("other", "south")
	const instances = "/vnflcm/v2/vnf_instances"
	created := api.send(operator, "POST", instances, `{"vnfdId":"`+vnfdID+`"}`, 201)
	uri := strings.TrimPrefix(created.Get("Location"), api.http.URL)
	for _, c := range []struct {
		token, method, uri string
		want               int
	}{
		{operator, "GET", uri, 200}, {watcher, "GET", uri, 200}, {watcher, "DELETE", uri, 403}, {other, "GET", uri, 404}, {other, "DELETE", uri, 404},
		{other, "GET", instances, 200}, {k.token("stranger", "north"), "GET", uri, 403}, {k.token("operator", ""), "GET", uri, 403},
	} {
		api.send(c.token, c.method, c.uri, "", c.want)
	}
	if n := logins(); n != 1 {
		t.Errorf("the VNFM has logged in %d times", n)
	}

	// What Keystone does not know, in every form.
	for _, token := range []string{"", "x", "gAAAAAB", operator + "x", operator[:len(operator)-4], strings.Repeat("x", 300), "gAAAAA" + strings.Repeat("A", 4000), "ü \t'\"", strings.ToUpper(operator)} {
		if got := api.send(token, "GET", uri, "", 401).Get("WWW-Authenticate"); got != keystone.Challenge(k.authURL) {
			t.Errorf("%.20q: %q", token, got)
		}
	}
	if n := logins(); n != 0 {
		t.Errorf("tokens that are not valid make the VNFM log in %d times", n)
	}

	// Tokens for a domain and for the system.
	must(t, roles.Assign(t.Context(), k.admin, k.roles["admin"], roles.AssignOpts{UserID: k.users["operator"], DomainID: "default"}).ExtractErr())
	login := k.login("operator", "")
	login.Scope = tokens.Scope{DomainID: "default"}
	api.send(k.client(login).Token(), "GET", uri, "", 403)
	operator = k.token("operator", "north")

	// An application credential that ends, and so does its token.
	ends := time.Now().Add(15 * time.Second)
	client := k.client(k.login("watcher", "north"))
	credential, err := applicationcredentials.Create(t.Context(), client, k.users["watcher"], applicationcredentials.CreateOpts{Name: "brief", ExpiresAt: &ends}).Extract()
	must(t, err)
	brief := k.client(tokens.AuthOptions{ApplicationCredentialID: credential.ID, ApplicationCredentialSecret: credential.Secret}).Token()
	api.send(brief, "GET", uri, "", 200)
	api.await(brief, 401)

	// One with access rules: Keystone expects that a service that asks for its token checks the rules.
	limited, err := applicationcredentials.Create(t.Context(), client, k.users["watcher"], applicationcredentials.CreateOpts{Name: "limited",
		AccessRules: []applicationcredentials.AccessRule{{Path: "/v3/users", Method: "GET", Service: "identity"}}}).Extract()
	must(t, err)
	api.send(k.client(tokens.AuthOptions{ApplicationCredentialID: limited.ID, ApplicationCredentialSecret: limited.Secret}).Token(), "GET", uri, "", 401)

	// A token that is revoked, and those of a user who may no longer log in.
	must(t, tokens.Revoke(t.Context(), k.admin, watcher).Err)
	api.await(watcher, 401)
	off := false
	_, err = users.Update(t.Context(), k.admin, k.users["other"], users.UpdateOpts{Enabled: &off}).Extract()
	must(t, err)
	api.await(other, 401)

	k.rotate(api, operator, &secret)
	if text := log.String(); strings.Contains(text, "-secret") || strings.Contains(text, operator) || !strings.Contains(text, "the account is refused") {
		t.Error(text)
	}
}

// rotate changes the password of the VNFM's account, in Keystone first.
func (k *keystoneUsers) rotate(api *keystoneAPI, token string, secret *string) {
	k.t.Helper()
	_, err := users.Update(k.t.Context(), k.admin, k.users["vnfm"], users.UpdateOpts{Password: "next-secret"}).Extract()
	must(k.t, err)
	api.await(token, 503)
	*secret = "next-secret"
	api.await(token, 200)
}

// TestKeystoneAccounts: which accounts of the VNFM may validate tokens, and what it says if not.
func TestKeystoneAccounts(t *testing.T) {
	t.Parallel()
	needPart(t, "openstack")
	k := newKeystoneUsers(t)
	k.add("admin admin service", "member member service", "operator member north")
	token := k.token("operator", "north")
	client := k.client(k.login("admin", "service"))
	credential, err := applicationcredentials.Create(t.Context(), client, k.users["admin"], applicationcredentials.CreateOpts{Name: "vnfm"}).Extract()
	must(t, err)
	byPassword := func(user string) keystone.Account {
		return keystone.Account{UserName: k.prefix + user, Password: vnflcm.NewSecret(user + "-secret"), Project: k.prefix + "service"}
	}
	for name, c := range map[string]struct {
		account keystone.Account
		reason  string // "": tokens are validated
	}{
		"admin":          {byPassword("admin"), ""},
		"credential":     {keystone.Account{CredentialID: credential.ID, CredentialSecret: vnflcm.NewSecret(credential.Secret)}, ""},
		"member":         {byPassword("member"), "may not validate tokens"},
		"wrong password": {keystone.Account{UserName: k.prefix + "admin", Password: vnflcm.NewSecret("x"), Project: k.prefix + "service"}, "the account is refused"},
		"no project":     {keystone.Account{UserName: k.prefix + "admin", Password: vnflcm.NewSecret("admin-secret"), Project: k.prefix + "none"}, "the account is refused"},
	} {
		var log bytes.Buffer
		authorize, err := keystone.New(keystone.Config{AuthURL: k.authURL, Client: &http.Client{Transport: counting(func(*http.Request) {})}, Logger: slog.New(slog.NewTextHandler(&log, nil)),
			Account: func() (keystone.Account, error) { return c.account, nil }, Roles: map[string]sol003.Role{"member": sol003.RoleOperator}, NamesOfDomain: "Default"})
		must(t, err)
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
		r.Header.Set("X-Auth-Token", token)
		who, err := authorize(r)
		want := sol003.Principal{Name: k.prefix + "operator (" + k.users["operator"] + ")", Tenant: k.prefix + "north", Role: sol003.RoleOperator}
		if c.reason != "" {
			want = sol003.Principal{}
		}
		if who != want || errors.Is(err, sol003.ErrUnavailable) != (c.reason != "") || !strings.Contains(log.String(), c.reason) {
			t.Errorf("%s: %+v %v\n%s", name, who, err, log.String())
		}
	}
}

// TestKeystoneTackerClient has OpenStack Tacker's client log in as at a site of Tacker: it finds the VNFM in the service catalog. The VNFM is the
// program examples/vnfm.
func TestKeystoneTackerClient(t *testing.T) {
	t.Parallel()
	needPart(t, "openstack")
	if _, err := exec.LookPath("openstack"); err != nil {
		t.Skip("packages are missing: python3-tackerclient python3-openstackclient")
	}
	k := newKeystoneUsers(t)
	k.add("vnfm admin service", "operator member north", "watcher reader north", "other member south")
	dir := t.TempDir()
	password, audit := filepath.Join(dir, "password"), filepath.Join(dir, "audit")
	must(t, os.WriteFile(password, []byte("vnfm-secret\n"), 0o600))
	endpoint := needCloud(t).startVNFM(t, withoutHooks(t), map[string]any{"audit": audit, "keystone": map[string]any{
		"auth_url": k.authURL, "user": k.prefix + "vnfm", "project": k.prefix + "service", "password": map[string]string{"file": password},
		"roles": map[string]string{"reader": "reader", "member": "operator"}}})
	k.register("nfv-orchestration", endpoint)
	clients := map[string]*tackerClient{}
	for user, project := range map[string]string{"operator": "north", "watcher": "north", "other": "south"} {
		clients[user] = &tackerClient{t: t, version: "2", login: []string{"--os-auth-url", k.authURL, "--os-username", k.prefix + user, "--os-password", user + "-secret",
			"--os-project-name", k.prefix + project, "--os-user-domain-name", "Default", "--os-project-domain-name", "Default", "--os-region-name", k.region()}}
	}

	var created, shown map[string]any
	clients["operator"].run(&created, "create", vnfdID, "-f", "json")
	instance := fmt.Sprint(created["ID"])
	clients["watcher"].run(&shown, "show", instance, "-f", "json")
	if shown["ID"] != instance {
		t.Errorf("a reader sees %v", shown)
	}
	var list []map[string]any
	clients["other"].run(&list, "list", "-f", "json")
	if len(list) != 0 {
		t.Errorf("another project sees %v", list)
	}
	for user, want := range map[string]string{"watcher": "needs the role operator", "other": "not found"} {
		if out, faults, err := clients[user].try("delete", instance); !strings.Contains(strings.ToLower(string(out)+faults), want) {
			t.Errorf("%s deletes: %v\n%s%s", user, err, out, faults)
		}
	}
	clients["operator"].run(nil, "delete", instance)

	text, err := os.ReadFile(audit) //nolint:gosec // our own
	must(t, err)
	var got []string
	for line := range strings.Lines(string(text)) {
		var r sol003.AuditRecord
		must(t, json.Unmarshal([]byte(line), &r))
		user, _, _ := strings.Cut(strings.TrimPrefix(r.Principal, k.prefix), " ")
		got = append(got, fmt.Sprint(user, " ", r.Role, " ", r.Method, " ", r.Status))
	}
	slices.Sort(got)
	want := []string{"operator operator DELETE 204", "operator operator POST 201", "other operator DELETE 404", "watcher reader DELETE 403"}
	if diff := cmp.Diff(want, got); diff != "" || strings.Contains(string(text), "secret") {
		t.Errorf("%s\n%s", diff, text)
	}
}

// region is a region of the test alone, in which clients find only its services.
func (k *keystoneUsers) region() string { return k.prefix + "region" }

// register adds a service to the catalog, in the region of the test.
func (k *keystoneUsers) register(kind, endpoint string) {
	k.t.Helper()
	ctx := k.t.Context()
	region, err := regions.Create(ctx, k.admin, regions.CreateOpts{ID: k.region()}).Extract()
	must(k.t, err)
	service, err := services.Create(ctx, k.admin, services.CreateOpts{Type: kind}).Extract()
	must(k.t, err)
	k.t.Cleanup(func() {
		ctx := context.Background()
		must(k.t, errors.Join(services.Delete(ctx, k.admin, service.ID).ExtractErr(), regions.Delete(ctx, k.admin, region.ID).ExtractErr()))
	})
	_, err = endpoints.Create(ctx, k.admin, endpoints.CreateOpts{Availability: gophercloud.AvailabilityPublic, Name: kind, Region: region.ID, URL: endpoint, ServiceID: service.ID}).Extract()
	must(k.t, err)
}

// counting reports each request to Keystone. It keeps no connections, so that the tests find no leaked goroutines.
func counting(report func(*http.Request)) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		report(r)
		return (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// keystoneAPI is the API of a Manager without VIMs.
type keystoneAPI struct {
	t    *testing.T
	http *httptest.Server
}

func newKeystoneAPI(t *testing.T, cfg keystone.Config) *keystoneAPI {
	t.Helper()
	authorize, err := keystone.New(cfg)
	must(t, err)
	m, err := vnflcm.New(t.Context(), vnflcm.Config{Store: store.NewMemory(), Key: bytes.Repeat([]byte{7}, 32), Packages: vnflcm.DirPackages("../../examples/packages")})
	must(t, err)
	t.Cleanup(func() { must(t, m.Close(context.Background())) })
	handler, err := sol003.NewHandler(m, sol003.Options{Authorize: authorize, Challenge: keystone.Challenge(cfg.AuthURL)})
	must(t, err)
	api := &keystoneAPI{t: t, http: httptest.NewServer(handler)}
	t.Cleanup(api.http.Close)
	return api
}

// send sends a request with a token, and returns the header of the answer.
func (a *keystoneAPI) send(token, method, uri, body string, want int) http.Header {
	a.t.Helper()
	status, header := a.try(token, method, uri, body)
	if status != want {
		a.t.Fatalf("%s %s with %.20q: status %d, want %d", method, uri, token, status, want)
	}
	return header
}

func (a *keystoneAPI) try(token, method, uri, body string) (int, http.Header) {
	a.t.Helper()
	r, err := http.NewRequestWithContext(a.t.Context(), method, a.http.URL+uri, strings.NewReader(body))
	must(a.t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Auth-Token", token)
	response, err := a.http.Client().Do(r)
	must(a.t, errors.Join(err, response.Body.Close()))
	return response.StatusCode, response.Header
}

// await sends requests with a token until the status is as wanted.
func (a *keystoneAPI) await(token string, want int) {
	a.t.Helper()
	seen := map[int]bool{}
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		status, _ := a.try(token, "GET", "/vnflcm/v2/vnf_instances", "")
		if status == want {
			return
		}
		seen[status] = true
	}
	a.t.Fatalf("the status does not become %d, but %v", want, slices.Sorted(maps.Keys(seen)))
}
