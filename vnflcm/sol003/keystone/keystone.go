package keystone

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/sol003"
)

// Config says which Keystone is asked, and what its answers mean.
type Config struct {
	// AuthURL is the https URL of Keystone, with or without /v3 at its end. http is accepted for loopback addresses only.
	AuthURL string
	// Account returns the account with which the VNFM asks Keystone. It is called for each login, so that a password that was
	// changed is found: when the VNFM starts to ask, and when Keystone no longer accepts the token of the account.
	Account func() (Account, error)
	// Roles has the role of a sender for the names of Keystone's roles. Case does not matter, as in policies of OpenStack. The
	// highest role counts. A token without any of them is answered with 403. Required.
	Roles map[string]sol003.Role
	// NamesOfDomain makes the name of a project the tenant instead of its id, for the projects of the domain with this name.
	// Names are unique within a domain only, so tokens for projects of other domains are answered with 403. Default: ids.
	NamesOfDomain string
	// Recheck is how long an answer of Keystone is used, if the token does not expire before: a token that was revoked, or whose
	// roles were changed, is accepted for at most this time. Default 1 minute.
	Recheck time.Duration
	// Client sends the requests to Keystone. Redirects are not followed, and a request takes at most 10 seconds.
	// Default: http.DefaultClient.
	Client *http.Client
	// Logger receives the reasons why Keystone cannot be asked, without answers of Keystone and without secrets. Default: none.
	Logger *slog.Logger
}

// Account is an account of the VNFM in Keystone: a user with a password and a project, or an application credential.
type Account struct {
	UserName      string
	UserDomain    string // name, default Default
	Password      vnflcm.Secret
	Project       string // name
	ProjectDomain string // name, default Default

	CredentialID     string
	CredentialSecret vnflcm.Secret
}

// check reports whether the account is complete.
func (a Account) check() error {
	byPassword, byCredential := a.UserName != "" && !a.Password.IsZero() && a.Project != "", a.CredentialID != "" && !a.CredentialSecret.IsZero()
	if byPassword == byCredential {
		return errors.New("the account needs either a user with password and project, or an application credential with id and secret")
	}
	return nil
}

// equal compares accounts with their secrets.
func (a Account) equal(b Account) bool {
	secrets := a.Password.Equal(b.Password) && a.CredentialSecret.Equal(b.CredentialSecret)
	for _, each := range []*Account{&a, &b} {
		each.Password, each.CredentialSecret = vnflcm.Secret{}, vnflcm.Secret{}
	}
	return secrets && a == b
}

const (
	maxToken   = 8 << 10 // bytes; tokens that Keystone signs are longer than its others
	askTime    = 10 * time.Second
	asksAtOnce = 16 // requests to Keystone

	recheckDefault = time.Minute
)

// New returns a function for sol003.Options. While Keystone cannot be asked, senders whose tokens were not validated within
// Config.Recheck are answered with 503.
func New(cfg Config) (func(*http.Request) (sol003.Principal, error), error) {
	endpoint, err := endpointOf(cfg.AuthURL)
	switch {
	case err != nil:
		return nil, err
	case cfg.Account == nil:
		return nil, errors.New("keystone: Config needs Account")
	case len(cfg.Roles) == 0:
		return nil, errors.New("keystone: Config needs Roles: without them every sender would be refused")
	case cfg.Recheck < 0:
		return nil, errors.New("keystone: Config.Recheck must not be negative")
	}
	roles := map[string]sol003.Role{}
	for name, role := range cfg.Roles {
		if !role.Valid() {
			return nil, fmt.Errorf("keystone: Config.Roles[%q]: %q is no role", name, role)
		}
		roles[strings.ToLower(name)] = role
	}
	cfg.Roles, cfg.Recheck = roles, cmp.Or(cfg.Recheck, recheckDefault)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	v := &validator{cfg: cfg, service: newService(endpoint, cfg.Account, cfg.Client), answers: newAnswers(), turns: make(chan struct{}, asksAtOnce)}
	return v.authorize, nil
}

// Challenge returns the WWW-Authenticate header with which OpenStack services name their Keystone, for sol003.Options.
func Challenge(authURL string) string { return fmt.Sprintf("Keystone uri=%q", authURL) }

// endpointOf returns the address of version 3 of the API, without a slash at the end.
func endpointOf(authURL string) (string, error) {
	at, err := url.Parse(authURL)
	switch {
	case err != nil || at.Host == "" || at.Scheme != "https" && (at.Scheme != "http" || !isLoopback(at.Hostname())):
		return "", errors.New("keystone: Config.AuthURL must be an https URL, or an http URL of a loopback address")
	case at.User != nil || at.RawQuery != "" || at.Fragment != "":
		return "", errors.New("keystone: Config.AuthURL must have no credentials, no query and no fragment")
	}
	at = at.JoinPath()
	at.Path = strings.TrimSuffix(strings.TrimSuffix(at.Path, "/"), "/v3") + "/v3"
	return at.String(), nil
}

func isLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}

// validator has tokens validated.
type validator struct {
	cfg     Config
	service *service
	answers *answers
	turns   chan struct{}
}

// Errors of a token, which sol003 answers with 401.
var (
	errNoToken = errors.New("keystone: the request has no token")
	errInvalid = errors.New("keystone: the token is not valid")
)

func (v *validator) authorize(r *http.Request) (sol003.Principal, error) {
	token := r.Header.Get("X-Auth-Token")
	if token == "" {
		return sol003.Principal{}, errNoToken
	}
	if len(token) > maxToken {
		return sol003.Principal{}, errInvalid
	}
	return v.answers.of(r.Context(), token, v.ask)
}

// ask asks Keystone for a token. The answer is for every request that waits for it, so it does not end with the request.
func (v *validator) ask(ctx context.Context, token string) answer {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTime)
	defer cancel()
	described, err := v.describe(ctx, token)
	switch {
	case errors.Is(err, errInvalid):
		return answer{err: err}
	case err == nil:
		return v.judge(described)
	}
	v.cfg.Logger.WarnContext(ctx, "Keystone cannot be asked", "url", v.service.endpoint, "error", err)
	return answer{err: fmt.Errorf("%w: %w", sol003.ErrUnavailable, err)}
}

// describe returns Keystone's description of a token.
func (v *validator) describe(ctx context.Context, token string) (*description, error) {
	select {
	case v.turns <- struct{}{}:
		defer func() { <-v.turns }()
	case <-ctx.Done():
		return nil, errors.New("too many requests wait for Keystone")
	}
	return v.service.describe(ctx, token)
}

// judge returns what a valid token allows.
func (v *validator) judge(d *description) (a answer) {
	a.lasts = min(d.lasts, v.cfg.Recheck)
	a.who.Name = fmt.Sprintf("%s (%s)", d.User.Name, d.User.ID)
	project := d.Project
	switch {
	case project == nil || project.ID == "" || d.IsDomain:
		a.err = fmt.Errorf("%w: the token is for no project", sol003.ErrForbidden)
		return a
	case v.cfg.NamesOfDomain == "":
		a.who.Tenant = project.ID
	case project.Domain.Name == v.cfg.NamesOfDomain && project.Name != "":
		a.who.Tenant = project.Name
	default:
		a.err = fmt.Errorf("%w: the project of the token is in another domain, or has no name", sol003.ErrForbidden)
		return a
	}
	var names []string
	for _, role := range d.Roles {
		names = append(names, strings.ToLower(role.Name))
	}
	a.who.Role, a.err = sol003.FindRole(v.cfg.Roles, names...)
	return a
}
