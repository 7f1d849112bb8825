package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/vnfkit/vnfkit/vnflcm/sol003"
	"github.com/vnfkit/vnfkit/vnflcm/sol003/bearer"
	"github.com/vnfkit/vnfkit/vnflcm/sol003/keystone"
)

// clientConfig is a client with a certificate: in the file its tenant ("": all), or an object.
type clientConfig struct {
	Tenant string      `yaml:"tenant"`
	Role   sol003.Role `yaml:"role"`
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (c *clientConfig) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		return node.Decode(&c.Tenant)
	}
	for i := 0; i < len(node.Content) && node.Kind == yaml.MappingNode; i += 2 {
		if name := node.Content[i]; name.Value != "tenant" && name.Value != "role" {
			return fmt.Errorf("line %d: field %s not found: a client has tenant and role", name.Line, name.Value)
		}
	}
	type plain clientConfig
	return node.Decode((*plain)(c))
}

type tokenConfig struct {
	KeySet      string                 `yaml:"key_set"`
	Issuer      string                 `yaml:"issuer"`
	Audience    string                 `yaml:"audience"`
	Scope       string                 `yaml:"scope"`
	TenantClaim string                 `yaml:"tenant_claim"`
	RoleClaim   string                 `yaml:"role_claim"`
	Roles       map[string]sol003.Role `yaml:"roles"` // by value of the claim
}

// keystoneConfig is the Keystone whose tokens clients have.
type keystoneConfig struct {
	AuthURL       string                 `yaml:"auth_url"`
	CA            string                 `yaml:"ca"` // PEM file of the authorities of its certificate; default: those of the system
	User          string                 `yaml:"user"`
	UserDomain    string                 `yaml:"user_domain"`
	Project       string                 `yaml:"project"`
	ProjectDomain string                 `yaml:"project_domain"`
	Credential    string                 `yaml:"application_credential_id"` // instead of the user
	Password      secret                 `yaml:"password"`                  // or the secret of the application credential; read at each login
	Roles         map[string]sol003.Role `yaml:"roles"`                     // by name of Keystone's role
	NamesOfDomain string                 `yaml:"tenant_names_of_domain"`    // tenants are names of projects of this domain; default: ids
	Recheck       time.Duration          `yaml:"recheck"`
}

func (c *config) usesTokens() bool {
	t := c.Tokens
	t.Roles = nil
	return !reflect.DeepEqual(t, tokenConfig{}) || len(c.Tokens.Roles) > 0
}

func (c *config) usesKeystone() bool {
	k := c.Keystone
	k.Roles = nil
	return !reflect.DeepEqual(k, keystoneConfig{}) || len(c.Keystone.Roles) > 0
}

// identifies reports whether clients are identified. Otherwise anyone on this machine may use the VNFM.
func (c *config) identifies() bool { return c.usesTokens() || c.usesKeystone() || c.TLS.ClientCA != "" }

// checkSenders reports the faults of the settings that identify clients.
func (c *config) checkSenders(wrong func(is bool, setting, reason string)) {
	wrong((c.TLS.ClientCA == "") != (len(c.TLS.Clients) == 0), "tls", "needs both client_ca and clients to identify clients by certificates")
	wrong(c.TLS.ClientCA != "" && c.TLS.Certificate == "", "tls.client_ca", "needs certificate and key")
	wrong(c.usesTokens() && (c.Tokens.KeySet == "" || c.Tokens.Issuer == "" || c.Tokens.Audience == ""), "tokens", "needs key_set, issuer and audience")
	wrong((c.Tokens.RoleClaim == "") != (len(c.Tokens.Roles) == 0), "tokens", "needs both role_claim and roles to find the roles of clients")
	k := c.Keystone
	wrong(c.usesKeystone() && (k.AuthURL == "" || len(k.Roles) == 0), "keystone", "needs auth_url and roles")
	wrong(c.usesKeystone() && (k.Credential == "") == (k.User == "" || k.Project == ""), "keystone", "needs either user and project, or application_credential_id")
	wrong(c.usesKeystone() && !k.Password.given(), "keystone", "needs password")
	c.checkRoles(wrong)
}

// checkRoles reports roles that do not exist and, once a client has a role, clients without one.
func (c *config) checkRoles(wrong func(is bool, setting, reason string)) {
	hasRoles := len(c.Tokens.Roles)+len(c.Keystone.Roles) > 0
	for setting, roles := range map[string]map[string]sol003.Role{"tokens.roles": c.Tokens.Roles, "keystone.roles": c.Keystone.Roles} {
		for _, name := range slices.Sorted(maps.Keys(roles)) {
			wrong(!roles[name].Valid(), setting+"."+name, "must be reader, operator or admin")
		}
	}
	for _, client := range c.TLS.Clients {
		hasRoles = hasRoles || client.Role != ""
	}
	for _, subject := range slices.Sorted(maps.Keys(c.TLS.Clients)) {
		role := c.TLS.Clients[subject].Role
		wrong(role != "" && !role.Valid(), fmt.Sprintf("tls.clients[%q].role", subject), "must be reader, operator or admin")
		wrong(role == "" && hasRoles, fmt.Sprintf("tls.clients[%q]", subject), "needs a role, because other clients have roles")
	}
	wrong(hasRoles && c.usesTokens() && len(c.Tokens.Roles) == 0, "tokens", "needs role_claim and roles, because other clients have roles")
}

// authorize returns how clients are identified, nil if anyone may use the VNFM.
func (c *config) authorize(ctx context.Context, log *slog.Logger) (_ func(*http.Request) (sol003.Principal, error), err error) {
	if !c.identifies() {
		return nil, nil
	}
	certificates := sol003.ClientCertificates(c.TLS.subjects())
	var tokens, openstack func(*http.Request) (sol003.Principal, error)
	if c.usesTokens() {
		if tokens, err = bearer.New(ctx, c.Tokens.bearer()); err != nil {
			return nil, err
		}
	}
	if c.usesKeystone() {
		if openstack, err = c.Keystone.authorize(log); err != nil {
			return nil, err
		}
	}
	return func(r *http.Request) (sol003.Principal, error) {
		switch {
		case openstack != nil && r.Header.Get("X-Auth-Token") != "":
			return openstack(r)
		case tokens != nil && (r.TLS == nil || len(r.TLS.VerifiedChains) == 0):
			return tokens(r)
		}
		return certificates(r)
	}, nil
}

// curlLogin returns the arguments with which curl sends the credentials of a client.
func (c *config) curlLogin() string {
	switch {
	case c.usesKeystone():
		return `-H "X-Auth-Token: $OS_TOKEN"`
	case c.usesTokens():
		return `-H "Authorization: Bearer $TOKEN"`
	case c.TLS.ClientCA != "":
		return "--cert client.crt --key client.key"
	}
	return ""
}

// challenge is the WWW-Authenticate header of a 401.
func (c *config) challenge() string {
	var ways []string
	if c.usesKeystone() {
		ways = append(ways, keystone.Challenge(c.Keystone.AuthURL))
	}
	if c.usesTokens() {
		ways = append(ways, "Bearer")
	}
	return strings.Join(ways, ", ")
}

func (t tokenConfig) bearer() bearer.Config {
	return bearer.Config{KeySet: t.KeySet, Issuer: t.Issuer, Audience: t.Audience, Scope: t.Scope, TenantClaim: t.TenantClaim, RoleClaim: t.RoleClaim, Roles: t.Roles}
}

// subjects are the clients that certificates identify.
func (t tlsConfig) subjects() map[string]sol003.Principal {
	out := map[string]sol003.Principal{}
	for subject, client := range t.Clients {
		out[subject] = sol003.Principal{Name: subject, Tenant: client.Tenant, Role: client.Role}
	}
	return out
}

// authorize returns how clients with tokens of the Keystone are identified.
func (k keystoneConfig) authorize(log *slog.Logger) (func(*http.Request) (sol003.Principal, error), error) {
	var transport http.RoundTripper = newTransport(nil)
	if k.CA != "" {
		var err error
		if transport, err = transportFor("keystone.ca", k.CA, log); err != nil {
			return nil, err
		}
	}
	return keystone.New(keystone.Config{AuthURL: k.AuthURL, Account: k.account, Roles: k.Roles, NamesOfDomain: k.NamesOfDomain, Recheck: k.Recheck,
		Client: &http.Client{Transport: transport}, Logger: log})
}

// account returns the account of the VNFM, with the password that the file has now.
func (k keystoneConfig) account() (keystone.Account, error) {
	password, err := k.Password.read()
	if err != nil {
		return keystone.Account{}, fmt.Errorf("keystone.password: %w", err)
	}
	if k.Credential != "" {
		return keystone.Account{CredentialID: k.Credential, CredentialSecret: password}, nil
	}
	return keystone.Account{UserName: k.User, UserDomain: k.UserDomain, Password: password, Project: k.Project, ProjectDomain: k.ProjectDomain}, nil
}

func newTransport(trust *tls.Config) *http.Transport {
	return &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 16, IdleConnTimeout: time.Minute, TLSClientConfig: trust}
}
