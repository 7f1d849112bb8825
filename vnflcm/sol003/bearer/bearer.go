package bearer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"

	"github.com/vnfkit/vnfkit/internal/answerlimit"
	"github.com/vnfkit/vnfkit/vnflcm/sol003"
)

// Config says which tokens are accepted.
type Config struct {
	// KeySet is the https URL of the JSON Web Key Set (RFC 7517) of the authorization server. It is read again every hour, and
	// at most every five minutes when a token names an unknown key.
	KeySet string
	// Issuer and Audience are required: the iss that a token must have, and what its aud must contain.
	Issuer, Audience string
	// Scope is a scope that a token must have. A token without it is answered with 403.
	Scope string
	// TenantClaim names the claim that has the tenant of the sender. A token without this claim is answered with 403: a
	// Principal without a Tenant could use all instances. "" separates no tenants.
	TenantClaim string
	// RoleClaim names the claim that has the roles of the sender: a list of texts, or one text with spaces between them, as
	// scope. Roles has the role of each value; the highest one counts. A token without any of them is answered with 403.
	// Both or neither are given; without them, senders have every right that their tenant leaves.
	RoleClaim string
	Roles     map[string]sol003.Role
	// Client fetches the key set. Default: http.DefaultClient. Redirects are not followed.
	Client *http.Client
}

// algorithms are asymmetric only: a server that verifies tokens must not be able to make them.
var algorithms = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}

const (
	leeway      = 30 * time.Second // between the clocks of the authorization server and of this machine
	fetchTime   = 10 * time.Second
	maxKeySet   = 1 << 20
	waitRefresh = time.Millisecond // a request with an unknown key does not wait for its turn to have the key set read
)

// New returns a function for sol003.Options. It starts a goroutine that reads the key set again; the goroutine ends with
// ctx. While no key set could be read, requests are answered with 503.
func New(ctx context.Context, cfg Config) (func(*http.Request) (sol003.Principal, error), error) {
	where, err := url.Parse(cfg.KeySet)
	switch {
	case err != nil || where.Scheme != "https" || where.Host == "":
		return nil, errors.New("bearer: Config.KeySet must be an https URL")
	case cfg.Issuer == "" || cfg.Audience == "":
		return nil, errors.New("bearer: Config needs Issuer and Audience: tokens for other services must not be accepted")
	case (cfg.RoleClaim == "") != (len(cfg.Roles) == 0):
		return nil, errors.New("bearer: Config needs both RoleClaim and Roles, or neither")
	}
	for value, role := range cfg.Roles {
		if !role.Valid() {
			return nil, fmt.Errorf("bearer: Config.Roles[%q]: %q is no role", value, role)
		}
	}
	client := *cmp.Or(cfg.Client, http.DefaultClient)
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	client.Transport = answerlimit.Transport{Next: client.Transport, Most: maxKeySet}
	keys, err := keyfunc.NewDefaultOverrideCtx(ctx, []string{cfg.KeySet}, keyfunc.Override{Client: &client, HTTPTimeout: fetchTime, RateLimitWaitMax: waitRefresh,
		RefreshErrorHandlerFunc: func(string) func(context.Context, error) { return func(context.Context, error) {} }})
	if err != nil {
		return nil, fmt.Errorf("bearer: %w", err)
	}
	v := &verifier{cfg: cfg, keys: keys, parser: jwt.NewParser(jwt.WithValidMethods(algorithms), jwt.WithIssuer(cfg.Issuer), jwt.WithAudience(cfg.Audience),
		jwt.WithExpirationRequired(), jwt.WithLeeway(leeway))}
	return v.authorize, nil
}

type verifier struct {
	cfg    Config
	keys   keyfunc.Keyfunc
	parser *jwt.Parser
}

var errNoToken = errors.New("bearer: the request has no bearer token")

func (v *verifier) authorize(r *http.Request) (who sol003.Principal, err error) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return who, errNoToken
	}
	claims := jwt.MapClaims{}
	if _, err := v.parser.ParseWithClaims(strings.TrimSpace(token), claims, v.keys.Keyfunc); err != nil {
		if known, readErr := v.keys.Storage().KeyReadAll(r.Context()); readErr == nil && len(known) == 0 {
			return who, sol003.ErrUnavailable
		}
		return who, fmt.Errorf("bearer: %w", err)
	}
	return v.principal(claims)
}

// principal returns the sender of a valid token. With an error it has what is known of the sender.
func (v *verifier) principal(claims jwt.MapClaims) (who sol003.Principal, err error) {
	who.Name, _ = claims["sub"].(string)
	if v.cfg.Scope != "" && !slices.Contains(texts(claims["scope"]), v.cfg.Scope) {
		return who, fmt.Errorf("%w: the token lacks the scope %s", sol003.ErrForbidden, v.cfg.Scope)
	}
	if v.cfg.TenantClaim != "" {
		if who.Tenant, _ = claims[v.cfg.TenantClaim].(string); who.Tenant == "" {
			return who, fmt.Errorf("%w: the token lacks the claim %s", sol003.ErrForbidden, v.cfg.TenantClaim)
		}
	}
	if v.cfg.RoleClaim != "" {
		who.Role, err = sol003.FindRole(v.cfg.Roles, texts(claims[v.cfg.RoleClaim])...)
	}
	return who, err
}

// texts are the values of a claim that is a list of texts, or a text with spaces between values (RFC 8693 4.2).
func texts(claim any) (out []string) {
	if text, ok := claim.(string); ok {
		return strings.Fields(text)
	}
	list, _ := claim.([]any)
	for _, each := range list {
		if text, ok := each.(string); ok {
			out = append(out, text)
		}
	}
	return out
}
