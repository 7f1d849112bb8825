package bearer_test

import (
	"context"
	"crypto"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"go.uber.org/goleak"

	"github.com/vnfkit/vnfkit/vnflcm/sol003"
	"github.com/vnfkit/vnfkit/vnflcm/sol003/bearer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// login is an authorization server.
type login struct {
	*httptest.Server
	key     ed25519.PrivateKey
	fetched atomic.Int32
	broken  atomic.Bool
}

func newLogin() *login {
	l := &login{key: ed25519.NewKeyFromSeed([]byte(strings.Repeat("k", 32)))}
	public := base64.RawURLEncoding.EncodeToString(l.key.Public().(ed25519.PublicKey))
	l.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.fetched.Add(1)
		switch {
		case l.broken.Load():
			w.WriteHeader(http.StatusBadGateway)
		case r.URL.Path == "/moved":
			http.Redirect(w, r, "/keys", http.StatusFound)
		case r.URL.Path == "/huge":
			_, _ = io.Copy(w, io.LimitReader(zeros{}, 4<<20))
		default:
			_, _ = fmt.Fprintf(w, `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"k1","alg":"EdDSA","use":"sig","x":"%s"}]}`, public)
		}
	}))
	return l
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func (l *login) token(method jwt.SigningMethod, kid string, key any, change func(jwt.MapClaims)) string {
	claims := jwt.MapClaims{"iss": "login", "aud": []string{"vnfm", "other"}, "sub": "nfvo", "scope": "read lcm", "org": "north", "exp": time.Now().Add(time.Hour).Unix()}
	if change != nil {
		change(claims)
	}
	t := jwt.NewWithClaims(method, claims)
	t.Header["kid"] = kid
	text, err := t.SignedString(key)
	if err != nil {
		panic(err)
	}
	return text
}

func TestTokens(t *testing.T) {
	t.Parallel()
	l := newLogin()
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	authorize, err := bearer.New(ctx, bearer.Config{KeySet: l.URL + "/keys", Issuer: "login", Audience: "vnfm", Scope: "lcm", TenantClaim: "org", Client: l.Client()})
	if err != nil {
		t.Fatal(err)
	}
	other := ed25519.NewKeyFromSeed([]byte(strings.Repeat("o", 32)))
	signed := func(change func(jwt.MapClaims)) string {
		return "Bearer " + l.token(jwt.SigningMethodEdDSA, "k1", l.key, change)
	}
	invalid := errors.New("any other")
	for name, c := range map[string]struct {
		header string
		want   error
	}{
		"good":            {signed(nil), nil},
		"lower case":      {"b" + signed(nil)[1:], nil},
		"none":            {"", invalid},
		"basic":           {"Basic YTpi", invalid},
		"empty":           {"Bearer ", invalid},
		"no token":        {"Bearer x.y.z", invalid},
		"unsigned":        {"Bearer " + l.token(jwt.SigningMethodNone, "k1", jwt.UnsafeAllowNoneSignatureType, nil), invalid},
		"shared key":      {"Bearer " + l.token(jwt.SigningMethodHS256, "k1", []byte(l.key.Public().(ed25519.PublicKey)), nil), invalid},
		"another key":     {"Bearer " + l.token(jwt.SigningMethodEdDSA, "k1", crypto.PrivateKey(other), nil), invalid},
		"unknown key":     {"Bearer " + l.token(jwt.SigningMethodEdDSA, "k2", crypto.PrivateKey(other), nil), invalid},
		"expired":         {signed(func(c jwt.MapClaims) { c["exp"] = time.Now().Add(-time.Hour).Unix() }), invalid},
		"endless":         {signed(func(c jwt.MapClaims) { delete(c, "exp") }), invalid},
		"not yet":         {signed(func(c jwt.MapClaims) { c["nbf"] = time.Now().Add(time.Hour).Unix() }), invalid},
		"another issuer":  {signed(func(c jwt.MapClaims) { c["iss"] = "x" }), invalid},
		"another service": {signed(func(c jwt.MapClaims) { c["aud"] = "other" }), invalid},
		"no scope":        {signed(func(c jwt.MapClaims) { c["scope"] = "lcmx" }), sol003.ErrForbidden},
		"no tenant":       {signed(func(c jwt.MapClaims) { delete(c, "org") }), sol003.ErrForbidden},
		"tenants":         {signed(func(c jwt.MapClaims) { c["org"] = []string{"a", "b"} }), sol003.ErrForbidden},
	} {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
		r.Header.Set("Authorization", c.header)
		who, err := authorize(r)
		switch {
		case c.want == nil && (err != nil || who != sol003.Principal{Name: "nfvo", Tenant: "north"}):
			t.Errorf("%s: %v %v", name, who, err)
		case c.want != nil && (err == nil || who != known(c.want)):
			t.Errorf("%s: %v %v", name, who, err)
		case errors.Is(err, sol003.ErrUnavailable), errors.Is(err, sol003.ErrForbidden) != errors.Is(c.want, sol003.ErrForbidden):
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := l.fetched.Load(); n > 2 {
		t.Errorf("the key set was fetched %d times", n)
	}
}

// known is what a test learns of the sender of a token that is not accepted: of a valid token the name, for an audit record.
func known(err error) sol003.Principal {
	if errors.Is(err, sol003.ErrForbidden) {
		return sol003.Principal{Name: "nfvo"}
	}
	return sol003.Principal{}
}

// TestRoles: the highest role of the claim counts, and a token without any role is refused.
func TestRoles(t *testing.T) {
	t.Parallel()
	l := newLogin()
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cfg := bearer.Config{KeySet: l.URL + "/keys", Issuer: "login", Audience: "vnfm", RoleClaim: "https://login.example.com/roles", Client: l.Client(),
		Roles: map[string]sol003.Role{"watch": sol003.RoleReader, "run": sol003.RoleOperator, "own": sol003.RoleAdmin}}
	authorize, err := bearer.New(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		claim any // nil: none
		want  sol003.Role
	}{
		"one":      {[]string{"watch"}, sol003.RoleReader},
		"text":     {"run", sol003.RoleOperator},
		"texts":    {"other watch  own", sol003.RoleAdmin},
		"several":  {[]string{"run", "watch", "x"}, sol003.RoleOperator},
		"mixed":    {[]any{1, nil, map[string]string{"own": "own"}, "watch"}, sol003.RoleReader},
		"none":     {nil, ""},
		"empty":    {[]string{}, ""},
		"unknown":  {[]string{"root", "Watch", ""}, ""},
		"object":   {map[string]string{"own": "own"}, ""},
		"number":   {7, ""},
		"nameless": {[]string{"admin", "operator", "reader"}, ""},
	} {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
		r.Header.Set("Authorization", "Bearer "+l.token(jwt.SigningMethodEdDSA, "k1", l.key, func(claims jwt.MapClaims) {
			if c.claim != nil {
				claims[cfg.RoleClaim] = c.claim
			}
		}))
		who, err := authorize(r)
		if who != (sol003.Principal{Name: "nfvo", Role: c.want}) || errors.Is(err, sol003.ErrForbidden) != (c.want == "") {
			t.Errorf("%s: %+v %v", name, who, err)
		}
	}
	for name, change := range map[string]func(*bearer.Config){
		"no claim": func(c *bearer.Config) { c.RoleClaim = "" }, "no roles": func(c *bearer.Config) { c.Roles = nil },
		"no such role": func(c *bearer.Config) { c.Roles = map[string]sol003.Role{"x": "root"} }, "empty role": func(c *bearer.Config) { c.Roles = map[string]sol003.Role{"x": ""} },
	} {
		faulty := cfg
		change(&faulty)
		if _, err := bearer.New(ctx, faulty); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

// TestUnavailable has an authorization server that does not answer as it should.
func TestUnavailable(t *testing.T) {
	t.Parallel()
	l := newLogin()
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, path := range []string{"/moved", "/huge", "/keys"} {
		l.broken.Store(path == "/keys")
		authorize, err := bearer.New(ctx, bearer.Config{KeySet: l.URL + path, Issuer: "login", Audience: "vnfm", Client: l.Client()})
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
		r.Header.Set("Authorization", "Bearer "+l.token(jwt.SigningMethodEdDSA, "k1", l.key, nil))
		if who, err := authorize(r); !errors.Is(err, sol003.ErrUnavailable) {
			t.Errorf("%s: %v %v", path, who, err)
		}
	}
	for _, cfg := range []bearer.Config{{}, {KeySet: "http://login/keys", Issuer: "a", Audience: "b"}, {KeySet: l.URL, Issuer: "a"}, {KeySet: l.URL, Audience: "a"}} {
		if _, err := bearer.New(ctx, cfg); err == nil {
			t.Errorf("%+v was accepted", cfg)
		}
	}
}

// A handler that wants a token for the audience "vnfm". The authorization server is one of the test.
func Example() {
	server := newLogin()
	defer server.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	authorize, err := bearer.New(ctx, bearer.Config{KeySet: server.URL + "/keys", Issuer: "login", Audience: "vnfm", Client: server.Client()})
	if err != nil {
		fmt.Println(err)
		return
	}
	request := httptest.NewRequestWithContext(ctx, http.MethodGet, "/vnflcm/v2/vnf_instances", nil)
	request.Header.Set("Authorization", "Bearer "+server.token(jwt.SigningMethodEdDSA, "k1", server.key, nil))
	who, err := authorize(request)
	fmt.Println(who.Name, err)
	// Output:
	// nfvo <nil>
}
