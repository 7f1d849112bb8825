package keystone_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/sol003"
	"github.com/vnfkit/vnfkit/vnflcm/sol003/keystone"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const canary = "canary-7f3a"

type object = map[string]any

// cloud is a Keystone with one account, the tokens that a test gives it, and a clock that is wrong by hours.
type cloud struct {
	mu       sync.Mutex
	password string
	own      string            // the token of the account
	tokens   map[string]object // descriptions
	skew     time.Duration
	logins   int
	asked    int
	fault    http.HandlerFunc // answers instead
}

func newCloud() *cloud { return &cloud{password: canary + "-password", tokens: map[string]object{}} }

// with adds a token that lasts for an hour.
func (c *cloud) with(token string, parts ...object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := object{"expires_at": time.Now().Add(c.skew).Add(time.Hour).UTC().Format("2006-01-02T15:04:05.000000Z"), "user": object{"id": "u1", "name": "nfvo"}}
	for _, part := range parts {
		maps.Copy(d, part)
	}
	c.tokens[token] = d
}

func (c *cloud) set(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
}

// counts returns how many logins and validations there were since the last call.
func (c *cloud) counts() (logins, asked int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	logins, asked = c.logins, c.asked
	c.logins, c.asked = 0, 0
	return logins, asked
}

func (c *cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.URL.RequestURI() != "/identity/v3/auth/tokens?nocatalog" {
		http.Error(w, canary+r.URL.String(), http.StatusTeapot)
		return
	}
	if r.Method == http.MethodPost {
		c.logins++
	} else {
		c.asked++
	}
	switch {
	case c.fault != nil:
		c.fault(w, r)
	case r.Method == http.MethodPost:
		c.logIn(w, r)
	case r.Header.Get("X-Auth-Token") != c.own || c.own == "":
		http.Error(w, "wrong token "+r.Header.Get("X-Auth-Token"), http.StatusUnauthorized)
	case c.tokens[r.Header.Get("X-Subject-Token")] == nil:
		http.Error(w, "unknown token "+r.Header.Get("X-Subject-Token"), http.StatusNotFound)
	default:
		_ = json.NewEncoder(w).Encode(object{"token": c.tokens[r.Header.Get("X-Subject-Token")]})
	}
}

func (c *cloud) logIn(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	credential := `{"auth":{"identity":{"application_credential":{"id":"c1","secret":"` + c.password + `"},"methods":["application_credential"]}}}`
	user := `{"auth":{"identity":{"methods":["password"],"password":{"user":{"domain":{"name":"Default"},"name":"vnfm","password":"` + c.password +
		`"}}},"scope":{"project":{"domain":{"name":"Default"},"name":"service"}}}}`
	if string(body) != credential && string(body) != user {
		http.Error(w, "wrong "+string(body), http.StatusUnauthorized)
		return
	}
	c.own = fmt.Sprint(canary, "-own-", time.Now().UnixNano())
	w.Header().Set("X-Subject-Token", c.own)
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(object{"token": object{"issued_at": time.Now().Add(c.skew).UTC()}})
}

// RoundTrip implements http.RoundTripper, without a network.
func (c *cloud) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	c.ServeHTTP(w, r)
	return w.Result(), r.Context().Err()
}

// config is for a VNFM at the cloud.
func (c *cloud) config() keystone.Config {
	return keystone.Config{AuthURL: "https://cloud.example/identity", Account: c.account, Client: &http.Client{Transport: c},
		Roles: map[string]sol003.Role{"reader": sol003.RoleReader, "Member": sol003.RoleOperator, "admin": sol003.RoleAdmin}}
}

func (c *cloud) account() (keystone.Account, error) {
	return keystone.Account{UserName: "vnfm", Password: vnflcm.NewSecret(canary + "-password"), Project: "service"}, nil
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// authorizer sends a token to the function of New.
func authorizer(t *testing.T, cfg keystone.Config) func(token string) (sol003.Principal, error) {
	t.Helper()
	authorize, err := keystone.New(cfg)
	must(t, err)
	return func(token string) (sol003.Principal, error) {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
		if token != "" {
			r.Header.Set("X-Auth-Token", token)
		}
		who, err := authorize(r)
		if strings.Contains(fmt.Sprintf("%v %+v", err, err), canary) {
			t.Errorf("the error shows a secret: %v", err)
		}
		return who, err
	}
}

// Descriptions of tokens.
var (
	inDefault = object{"id": "default", "name": "Default"}
	north     = object{"project": object{"id": "p-north", "name": "north", "domain": inDefault}}
	elsewhere = object{"project": object{"id": "p-else", "name": "north", "domain": object{"id": "d2", "name": "Other"}}}
)

func roles(names ...string) object {
	list := []object{}
	for _, name := range names {
		list = append(list, object{"id": "r-" + name, "name": name})
	}
	return object{"roles": list}
}

// TestTokens has a table of what Keystone says of a token, and who its sender is.
func TestTokens(t *testing.T) {
	t.Parallel()
	c := newCloud()
	c.with("member", north, roles("member"))
	c.with("reader", north, roles("x", "Reader"))
	c.with("all", north, roles("reader", "member", "ADMIN"))
	c.with("none", north, roles("heat_stack_owner"))
	c.with("roleless", north, roles())
	c.with("unscoped")
	c.with("domain", object{"domain": inDefault}, roles("admin"))
	c.with("system", object{"system": object{"all": true}}, roles("admin"))
	c.with("project is a domain", north, object{"is_domain": true}, roles("admin"))
	c.with("project without id", object{"project": object{"name": "north", "domain": inDefault}}, roles("admin"))
	c.with("project without name", object{"project": object{"id": "p-none", "domain": inDefault}}, roles("admin"))
	c.with("elsewhere", elsewhere, roles("member"))
	c.with("expires now", north, roles("member"), object{"expires_at": "2001-01-01T00:00:00.000000Z"})
	c.with("for ever", north, roles("member"), object{"expires_at": nil})
	c.with("of no user", north, roles("member"), object{"user": nil})
	invalid := errors.New("any other")
	who := func(tenant string, role sol003.Role) sol003.Principal {
		return sol003.Principal{Name: "nfvo (u1)", Tenant: tenant, Role: role}
	}
	for name, rows := range map[string]map[string]struct {
		want sol003.Principal
		err  error
	}{
		"": {
			"member": {who("p-north", sol003.RoleOperator), nil}, "reader": {who("p-north", sol003.RoleReader), nil}, "all": {who("p-north", sol003.RoleAdmin), nil},
			"none": {who("p-north", ""), sol003.ErrForbidden}, "roleless": {who("p-north", ""), sol003.ErrForbidden},
			"unscoped": {who("", ""), sol003.ErrForbidden}, "domain": {who("", ""), sol003.ErrForbidden}, "system": {who("", ""), sol003.ErrForbidden},
			"project is a domain": {who("", ""), sol003.ErrForbidden}, "project without id": {who("", ""), sol003.ErrForbidden},
			"elsewhere":   {who("p-else", sol003.RoleOperator), nil},
			"expires now": {who("p-north", sol003.RoleOperator), nil},
			"for ever":    {err: sol003.ErrUnavailable}, "of no user": {err: sol003.ErrUnavailable}, // a Keystone says so of no valid token
			"": {err: invalid}, canary: {err: invalid}, strings.Repeat("x", 9000): {err: invalid},
		},
		"Default": {
			"member": {who("north", sol003.RoleOperator), nil}, "elsewhere": {who("", ""), sol003.ErrForbidden}, "none": {who("north", ""), sol003.ErrForbidden},
			"project without name": {who("", ""), sol003.ErrForbidden}, // "" would be a sender that sees all tenants
		},
	} {
		cfg := c.config()
		cfg.NamesOfDomain = name
		send := authorizer(t, cfg)
		for token, row := range rows {
			got, err := send(token)
			forbidden, later := errors.Is(row.err, sol003.ErrForbidden), errors.Is(row.err, sol003.ErrUnavailable)
			if got != row.want || (err == nil) != (row.err == nil) || errors.Is(err, sol003.ErrForbidden) != forbidden || errors.Is(err, sol003.ErrUnavailable) != later {
				t.Errorf("names of %q, %.30q: %+v %v", name, token, got, err)
			}
		}
	}
}

// TestAnswersLast: an answer of Keystone is used until the token expires, or for Config.Recheck. The clock of Keystone is wrong.
func TestAnswersLast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCloud()
		c.skew = -5 * time.Hour
		c.with("long", north, roles("member"))
		c.with("short", north, roles("member"), object{"expires_at": time.Now().Add(c.skew + 20*time.Second).UTC().Format("2006-01-02T15:04:05.000000")}) // as of an application credential
		c.with("forbidden", north, roles("x"))
		send := authorizer(t, c.config())
		want := func(token string, valid bool, asked int) {
			t.Helper()
			_, err := send(token)
			if _, n := c.counts(); (err == nil) != valid || n != asked {
				t.Errorf("%s: %v, asked %d times, want %d", token, err, n, asked)
			}
		}
		start := time.Now()
		at := func(seconds int) { time.Sleep(time.Until(start.Add(time.Duration(seconds) * time.Second))) }
		want("long", true, 1)
		want("short", true, 1)
		want("forbidden", false, 1)
		want("unknown", false, 1)
		at(9)
		want("long", true, 0)
		want("short", true, 0)
		want("forbidden", false, 0)
		want("unknown", false, 0)
		c.with("unknown", north, roles("member"))
		c.set(func() { delete(c.tokens, "short"); delete(c.tokens, "long") }) // one expires, the other one is revoked
		at(11)
		want("unknown", true, 1)
		at(18)
		want("short", true, 0)
		at(21)
		want("short", false, 1)
		at(59)
		want("long", true, 0)
		want("forbidden", false, 0)
		at(61)
		want("long", false, 1)
		want("forbidden", false, 1)
	})
}

// TestOneQuestion: requests with one token at the same time have Keystone asked once, also if the sender of the first one disconnects.
func TestOneQuestion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCloud()
		c.with("member", north, roles("member"))
		slow := transport(func(r *http.Request) (*http.Response, error) {
			select {
			case <-time.After(time.Second):
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
			return c.RoundTrip(r)
		})
		cfg := c.config()
		cfg.Client = &http.Client{Transport: slow}
		authorize, err := keystone.New(cfg)
		must(t, err)
		var group sync.WaitGroup
		for i := range 50 {
			group.Go(func() {
				time.Sleep(time.Duration(i)) // the first one is known
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if i < 2 {
					time.AfterFunc(time.Millisecond, cancel)
				}
				r := httptest.NewRequestWithContext(ctx, "GET", "/", nil)
				r.Header.Set("X-Auth-Token", "member")
				who, err := authorize(r)
				if i == 1 {
					if !errors.Is(err, sol003.ErrUnavailable) {
						t.Errorf("a request that waits and ends: %v", err)
					}
				} else if err != nil || who.Tenant != "p-north" {
					t.Errorf("request %d: %v %v", i, who, err)
				}
			})
		}
		group.Wait()
		if logins, asked := c.counts(); logins != 1 || asked != 1 {
			t.Errorf("%d logins, asked %d times", logins, asked)
		}
	})
}

type transport func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestAccount: the account logs in again when Keystone no longer accepts its token, and finds a changed password at once. A refused
// password is not tried again for a while.
func TestAccount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		c := newCloud()
		password := canary + "-password"
		cfg := c.config()
		cfg.Recheck, cfg.Logger = time.Nanosecond, slog.New(slog.NewTextHandler(&log, nil))
		cfg.Account = func() (keystone.Account, error) {
			if password == "" {
				return keystone.Account{}, errors.New("no such file")
			}
			return keystone.Account{UserName: "vnfm", Password: vnflcm.NewSecret(password), Project: "service"}, nil
		}
		c.with("member", north, roles("member"))
		send := authorizer(t, cfg)
		want := func(valid bool, logins, asked int) {
			t.Helper()
			time.Sleep(time.Nanosecond)
			_, err := send("member")
			if l, a := c.counts(); (err == nil) != valid || !valid && !errors.Is(err, sol003.ErrUnavailable) || l != logins || a != asked {
				t.Errorf("%v, %d logins, asked %d times", err, l, a)
			}
		}
		want(true, 1, 1)
		want(true, 0, 1)
		c.set(func() { c.own = "" }) // it has expired
		want(true, 1, 2)
		c.set(func() { c.own, c.password = "", canary+"-rotated" })
		want(false, 1, 1)
		want(false, 0, 0)
		password = canary + "-mistyped"
		want(false, 1, 0)
		password = ""
		want(false, 0, 0)
		password = canary + "-rotated"
		want(true, 1, 1)
		c.set(func() { c.own, c.password = "", "away for a while" })
		want(false, 1, 1)
		c.set(func() { c.password = canary + "-rotated" })
		want(false, 0, 0)
		time.Sleep(30 * time.Second)
		want(true, 1, 1)
		c.set(func() {
			c.fault = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }
		})
		want(false, 1, 1)
		if text := log.String(); strings.Contains(text, canary) || !strings.Contains(text, "the account is refused") || !strings.Contains(text, "no such file") {
			t.Error(text)
		}
	})
}

// TestApplicationCredential: the account may be an application credential.
func TestApplicationCredential(t *testing.T) {
	t.Parallel()
	c := newCloud()
	c.with("member", north, roles("member"))
	cfg := c.config()
	cfg.Account = func() (keystone.Account, error) {
		return keystone.Account{CredentialID: "c1", CredentialSecret: vnflcm.NewSecret(canary + "-password")}, nil
	}
	if who, err := authorizer(t, cfg)("member"); err != nil || who.Role != sol003.RoleOperator {
		t.Errorf("%v %v", who, err)
	}
}

// TestFaults: whatever is wrong with Keystone, the answer is 503, and is forgotten. The log has the reason, and no secret.
func TestFaults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault  http.HandlerFunc
		reason string
	}{
		"no right":    {status(http.StatusForbidden), "may not validate tokens"},
		"overloaded":  {status(http.StatusServiceUnavailable), "status 503"},
		"bad request": {status(http.StatusBadRequest), "status 400"},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://evil.example/", http.StatusFound)
		}, "status 302"},
		"no JSON":        {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<"+canary) }, "invalid character"},
		"another answer": {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }, "describes no token"},
		"huge": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintf(w, `{"token": {"x": "%s"}}`, strings.Repeat("x", 2<<20))
		}, "too large"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			cloud := newCloud()
			cloud.with("member", north, roles("member"))
			cfg := cloud.config()
			cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
			cfg.Client.Transport = transport(func(r *http.Request) (*http.Response, error) {
				if r.URL.Host != "cloud.example" {
					t.Errorf("a request to %s", r.URL)
				}
				return cloud.RoundTrip(r)
			})
			send := authorizer(t, cfg)
			fault := func(on bool) {
				cloud.set(func() {
					if cloud.fault = nil; on {
						cloud.fault = func(w http.ResponseWriter, r *http.Request) {
							if r.Method == http.MethodPost {
								cloud.logIn(w, r)
								return
							}
							c.fault(w, r)
						}
					}
				})
			}
			fault(true)
			if _, err := send("member"); !errors.Is(err, sol003.ErrUnavailable) || !strings.Contains(log.String(), c.reason) || strings.Contains(log.String(), canary) {
				t.Errorf("%v\n%s", err, log.String())
			}
			fault(false)
			if _, err := send("member"); err != nil {
				t.Error(err)
			}
		})
	}
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Error(w, fmt.Sprint(canary, r.Header), code) }
}

// TestSilence: a Keystone that does not answer is given up after 10 seconds, and requests do not pile up.
func TestSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCloud()
		cfg := c.config()
		cfg.Client.Transport = transport(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		send := authorizer(t, cfg)
		start := time.Now()
		var group sync.WaitGroup
		for i := range 100 {
			group.Go(func() {
				if _, err := send(fmt.Sprint("token ", i)); !errors.Is(err, sol003.ErrUnavailable) {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if took := time.Since(start); took != 10*time.Second { // of a clock that only waiting moves
			t.Errorf("the last request waited %s", took)
		}
	})
}

// TestFlood: a client that sends many tokens that are not valid does not push out the valid ones.
func TestFlood(t *testing.T) {
	t.Parallel()
	c := newCloud()
	c.with("member", north, roles("member"))
	send := authorizer(t, c.config())
	_, err := send("member")
	must(t, err)
	for i := range 3000 {
		if _, err := send(fmt.Sprint("token ", i)); err == nil || errors.Is(err, sol003.ErrUnavailable) {
			t.Fatal(err)
		}
	}
	c.counts()
	_, err = send("member")
	must(t, err)
	if _, asked := c.counts(); asked != 0 {
		t.Errorf("asked %d times for a token that is known", asked)
	}
}

// TestTLS: the certificate of Keystone is verified.
func TestTLS(t *testing.T) {
	t.Parallel()
	c := newCloud()
	c.with("member", north, roles("member"))
	server := httptest.NewUnstartedServer(c)
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	server.StartTLS()
	defer server.Close()
	cfg := c.config()
	cfg.AuthURL, cfg.Client = server.URL+"/identity/v3/", server.Client()
	if _, err := authorizer(t, cfg)("member"); err != nil {
		t.Error(err)
	}
	strict := &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}}
	defer strict.CloseIdleConnections()
	cfg.Client = &http.Client{Transport: strict}
	if _, err := authorizer(t, cfg)("member"); !errors.Is(err, sol003.ErrUnavailable) {
		t.Error(err)
	}
}

// TestConfig has settings that are refused.
func TestConfig(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*keystone.Config){
		"no URL": func(c *keystone.Config) { c.AuthURL = "" }, "http": func(c *keystone.Config) { c.AuthURL = "http://cloud.example:5000" },
		"login in the URL": func(c *keystone.Config) { c.AuthURL = "https://u:p@cloud.example" }, "query": func(c *keystone.Config) { c.AuthURL = "https://cloud.example/?x" },
		"no host": func(c *keystone.Config) { c.AuthURL = "https:///v3" }, "no account": func(c *keystone.Config) { c.Account = nil },
		"no roles": func(c *keystone.Config) { c.Roles = nil }, "no such role": func(c *keystone.Config) { c.Roles = map[string]sol003.Role{"member": "root"} },
		"negative": func(c *keystone.Config) { c.Recheck = -1 },
	} {
		cfg := newCloud().config()
		change(&cfg)
		if _, err := keystone.New(cfg); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	for _, at := range []string{"http://127.0.0.1:5000", "http://localhost:5000/identity/v3", "http://[::1]/v3/"} {
		cfg := newCloud().config()
		cfg.AuthURL = at
		if _, err := keystone.New(cfg); err != nil {
			t.Errorf("%s: %v", at, err)
		}
	}
	for name, account := range map[string]keystone.Account{
		"empty": {}, "no password": {UserName: "u", Project: "p"}, "no project": {UserName: "u", Password: vnflcm.NewSecret("p")}, "no secret": {CredentialID: "c"},
		"both": {UserName: "u", Password: vnflcm.NewSecret("p"), Project: "p", CredentialID: "c", CredentialSecret: vnflcm.NewSecret("s")},
	} {
		cfg := newCloud().config()
		cfg.Account = func() (keystone.Account, error) { return account, nil }
		if _, err := authorizer(t, cfg)("member"); !errors.Is(err, sol003.ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A handler for clients of OpenStack. The Keystone is one of the test.
func Example() {
	cloud := newCloud()
	cloud.with("gAAAAAB", north, roles("member"))
	const authURL = "https://cloud.example/identity"
	authorize, err := keystone.New(keystone.Config{AuthURL: authURL, Account: cloud.account, Client: &http.Client{Transport: cloud},
		Roles: map[string]sol003.Role{"reader": sol003.RoleReader, "member": sol003.RoleOperator, "admin": sol003.RoleAdmin}})
	if err != nil {
		fmt.Println(err)
		return
	}
	pages, err := sol003.NewAuthorizer(sol003.Options{Authorize: authorize, Challenge: keystone.Challenge(authURL)})
	if err != nil {
		fmt.Println(err)
		return
	}
	hello := pages.Handler(func(w http.ResponseWriter, _ *http.Request, who sol003.Principal) error {
		_, err := fmt.Fprintf(w, "%s: %s of %s", who.Name, who.Role, who.Tenant)
		return err
	})
	send := func(token string) *httptest.ResponseRecorder {
		request, answer := httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/", nil), httptest.NewRecorder()
		request.Header.Set("X-Auth-Token", token)
		hello.ServeHTTP(answer, request)
		return answer
	}
	fmt.Println(send("gAAAAAB").Body)
	fmt.Println(send("expired").Header().Get("WWW-Authenticate"))
	// Output:
	// nfvo (u1): operator of p-north
	// Keystone uri="https://cloud.example/identity"
}
