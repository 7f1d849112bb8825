package access

import (
	"cmp"
	"crypto/x509"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/vnfkit/vnfkit/internal/vimattributes"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// defaultDomain is the domain of users and projects if the VIM's entry names no domain, as in Tacker.
const defaultDomain = "Default"

// identity holds the address of an OpenStack, the credentials and the TLS settings. All fields are part of the key in the
// Cache.
type identity struct {
	Endpoint string // Keystone, ends in /v3/
	Username, UserID, Password,
	UserDomain, UserDomainID,
	Project, ProjectID,
	ProjectDomain, ProjectDomainID,
	CredentialID, CredentialName, CredentialSecret,
	Token, Region, Interface string
	CA                    string // PEM
	Insecure, AnyHostname bool
	// FromOperator says that the address is the operator's: the policy for addresses does not apply.
	FromOperator bool
}

// Validate reports every fault of the address, credentials and TLS settings in a VIM's entry, as *vnflcm.ParamError,
// joined.
func Validate(vim vnflcm.VimConnectionInfo) error {
	_, _, err := read(vim)
	return err
}

// Unknown returns the names of the attributes of interfaceInfo and accessInfo that this package does not know, for a
// warning.
func Unknown(vim vnflcm.VimConnectionInfo) []string {
	_, unknown, _ := read(vim)
	return unknown
}

// read reads a VIM's entry. It accepts the attribute names of SOL003, of both versions of Tacker's API, and of clouds.yaml.
func read(vim vnflcm.VimConnectionInfo) (identity, []string, error) {
	inter, access := vimattributes.Of(vim)
	id := identity{
		Username:         access.Text("username", "user_name", "userName"),
		UserID:           access.Text("userId", "user_id"),
		Password:         access.Secret("password"),
		UserDomain:       access.Text("userDomain", "userDomainName", "user_domain", "user_domain_name"),
		UserDomainID:     access.Text("userDomainId", "user_domain_id"),
		Project:          access.Text("project", "projectName", "project_name", "tenant", "tenantName", "tenant_name"),
		ProjectID:        access.Text("projectId", "project_id", "tenantId", "tenant_id"),
		ProjectDomain:    access.Text("projectDomain", "projectDomainName", "project_domain", "project_domain_name"),
		ProjectDomainID:  access.Text("projectDomainId", "project_domain_id"),
		CredentialID:     access.Text("applicationCredentialId", "application_credential_id"),
		CredentialName:   access.Text("applicationCredentialName", "application_credential_name"),
		CredentialSecret: access.Secret("applicationCredentialSecret", "application_credential_secret"),
		Token:            access.Secret("token"),
		Region:           cmp.Or(access.Text("region", "regionName", "region_name"), inter.Text("region", "regionName", "region_name")),
		Interface:        cmp.Or(inter.Text("interface"), access.Text("interface"), "public"),
		FromOperator:     vim.FromOperator,
	}
	id.Insecure = inter.Bool(false, "skipCertificateVerification") || !access.Bool(true, "cert_verify", "certVerify")
	id.AnyHostname = inter.Bool(false, "skipCertificateHostnameCheck")
	// Read both sections, so that Unknown does not report attributes of the second one.
	ca, fallback := certificates(inter), certificates(access)
	id.CA = cmp.Or(ca, fallback)
	endpoint, other := inter.Text("endpoint"), access.Text("auth_url", "authUrl", "endpoint")
	id.endpoint(inter, cmp.Or(endpoint, other))
	id.check(inter, access)
	if id.Insecure && id.CA != "" {
		inter.Fault("skipCertificateVerification", "true", "contradicts the trusted certificates: leave out one of the two")
	}
	if !slices.Contains([]string{"public", "internal", "admin"}, id.Interface) {
		inter.Fault("interface", id.Interface, "must be public, internal or admin")
	}
	err := vimattributes.Faults(inter, access)
	return id, vimattributes.Unknown(inter, access), err
}

// endpoint sets the address of Keystone. It accepts the address with and without the version of the API.
func (id *identity) endpoint(inter *vimattributes.Section, text string) {
	if text == "" {
		inter.Fault("endpoint", "", "is required: the address of Keystone, as https://cloud.example:5000/v3")
		return
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https"):
		inter.Fault("endpoint", "", "must be an http or https URL, as https://cloud.example:5000/v3")
		return
	case u.User != nil:
		inter.Fault("endpoint", "", "must not hold credentials: they belong into accessInfo")
		return
	case u.RawQuery != "" || u.Fragment != "":
		inter.Fault("endpoint", "", "must have no query and no fragment")
		return
	}
	if last := path.Base(u.Path); versionSegment(last) && last != "v3" {
		inter.Fault("endpoint", last, "Identity API version 3 is needed: end it in /v3")
		return
	} else if last != "v3" {
		u = u.JoinPath("v3")
	}
	id.Endpoint = strings.TrimSuffix(u.String(), "/") + "/"
}

// check reports faults unless the attributes give exactly one way to log in.
func (id *identity) check(inter, access *vimattributes.Section) {
	credential := id.CredentialID != "" || id.CredentialName != "" || id.CredentialSecret != ""
	ways := 0
	for _, given := range []bool{id.Password != "", credential, id.Token != ""} {
		if given {
			ways++
		}
	}
	switch {
	case ways > 1:
		access.Fault("password", "", "only one of password, application credential and token may be given")
	case credential:
		id.checkCredential(access)
	case id.Token != "":
	default:
		if id.Password == "" {
			access.Fault("password", "", "is required, unless there is an application credential or a token")
		}
		if id.Username == "" && id.UserID == "" {
			access.Fault("username", "", "is required")
		}
		if id.Project == "" && id.ProjectID == "" {
			access.Fault("project", "", "is required: the project whose resources these are")
		}
	}
	if id.UserDomainID == "" {
		id.UserDomain = cmp.Or(id.UserDomain, defaultDomain)
	}
	if id.ProjectDomainID == "" {
		id.ProjectDomain = cmp.Or(id.ProjectDomain, defaultDomain)
	}
	if id.CA != "" && !x509.NewCertPool().AppendCertsFromPEM([]byte(id.CA)) {
		inter.Fault("trustedCertificates", "", "must be certificates in PEM form")
	}
}

func (id *identity) checkCredential(access *vimattributes.Section) {
	if id.CredentialSecret == "" {
		access.Fault("applicationCredentialSecret", "", "is required with an application credential")
	}
	switch {
	case id.CredentialID == "" && id.CredentialName == "":
		access.Fault("applicationCredentialId", "", "is required with applicationCredentialSecret")
	case id.CredentialID == "" && id.Username == "" && id.UserID == "":
		access.Fault("username", "", "is required with applicationCredentialName: names are unique per user only")
	}
}

// options returns the options with which gophercloud logs in. With a token gophercloud must not log in again: only other
// credentials give a new token.
func (id *identity) options() *gophercloud.AuthOptions {
	o := &gophercloud.AuthOptions{IdentityEndpoint: id.Endpoint, AllowReauth: id.Token == ""}
	switch {
	case id.Token != "":
		o.TokenID = id.Token
	case id.CredentialSecret != "":
		o.ApplicationCredentialID, o.ApplicationCredentialSecret = id.CredentialID, id.CredentialSecret
		if id.CredentialID == "" {
			o.ApplicationCredentialName = id.CredentialName
			id.user(o)
		}
		return o // an application credential is bound to a project
	default:
		o.Password = id.Password
		id.user(o)
	}
	switch {
	case id.ProjectID != "":
		o.Scope = &gophercloud.AuthScope{ProjectID: id.ProjectID}
	case id.Project != "":
		o.Scope = &gophercloud.AuthScope{ProjectName: id.Project, DomainID: id.ProjectDomainID}
		if id.ProjectDomainID == "" {
			o.Scope.DomainName = id.ProjectDomain
		}
	}
	return o
}

// user sets the user: the id alone, or the name and the domain. Keystone refuses an id together with a domain.
func (id *identity) user(o *gophercloud.AuthOptions) {
	if id.UserID != "" {
		o.UserID = id.UserID
		return
	}
	o.Username, o.DomainID = id.Username, id.UserDomainID
	if id.UserDomainID == "" {
		o.DomainName = id.UserDomain
	}
}
