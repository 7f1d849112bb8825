package access

import (
	"cmp"
	"crypto/x509"
	"errors"
	"net/url"
	"slices"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// endpoint holds the attributes of interfaceInfo, and accessInfo's those, under the names of SOL003 and
// SOL013, of both versions of Tacker's API, and of Tacker's VIM registry.
type endpointInfo struct {
	Endpoint string `json:"endpoint"`
	AuthURL1 string `json:"auth_url"`
	AuthURL2 string `json:"authUrl"`

	Interface string `json:"interface"` // public, internal or admin

	CA1 string `json:"trustedCertificates"`
	CA2 string `json:"ssl_ca_cert"`
	CA3 string `json:"sslCaCert"`
	CA4 string `json:"caCert"`

	SkipVerify1 bool `json:"skipCertificateVerification"`
	SkipVerify2 bool `json:"insecure"`
}

type accessInfo struct {
	AuthURL1 string `json:"auth_url"`
	AuthURL2 string `json:"authUrl"`

	Username string        `json:"username"`
	UserID1  string        `json:"userId"`
	UserID2  string        `json:"user_id"`
	Password vnflcm.Secret `json:"password"`
	Token    vnflcm.Secret `json:"token"`

	CredentialID1     string        `json:"applicationCredentialId"`
	CredentialID2     string        `json:"application_credential_id"`
	CredentialName1   string        `json:"applicationCredentialName"`
	CredentialName2   string        `json:"application_credential_name"`
	CredentialSecret1 vnflcm.Secret `json:"applicationCredentialSecret"`
	CredentialSecret2 vnflcm.Secret `json:"application_credential_secret"`

	Project1   string `json:"project"`
	Project2   string `json:"projectName"`
	Project3   string `json:"project_name"`
	Project4   string `json:"tenant"`
	Project5   string `json:"tenantName"`
	ProjectID1 string `json:"projectId"`
	ProjectID2 string `json:"project_id"`

	UserDomain1   string `json:"userDomain"`
	UserDomain2   string `json:"user_domain_name"`
	UserDomain3   string `json:"userDomainName"`
	UserDomainID1 string `json:"userDomainId"`
	UserDomainID2 string `json:"user_domain_id"`

	ProjectDomain1   string `json:"projectDomain"`
	ProjectDomain2   string `json:"project_domain_name"`
	ProjectDomain3   string `json:"projectDomainName"`
	ProjectDomainID1 string `json:"projectDomainId"`
	ProjectDomainID2 string `json:"project_domain_id"`

	Region1 string `json:"region"`
	Region2 string `json:"regionName"`
	Region3 string `json:"region_name"`

	CertVerify1 *bool  `json:"cert_verify"`
	CertVerify2 *bool  `json:"certVerify"`
	CA          string `json:"ssl_ca_cert"`
}

// identity is who logs in, where, and how the server is known.
type identity struct {
	authURL, region, iface             string
	username, userID, userDomain       string
	userDomainID                       string
	password, token                    vnflcm.Secret
	credentialID, credentialName       string
	credentialSecret                   vnflcm.Secret
	project, projectID                 string
	projectDomain, projectDomainID, ca string
	insecure                           bool
}

const (
	interfacePath = "vimConnectionInfo.interfaceInfo"
	accessPath    = "vimConnectionInfo.accessInfo"
	// defaultDomain is what Tacker takes when nothing is said.
	defaultDomain = "Default"
)

// Validate reports every fault of a vimConnectionInfo that does not need the VIM to be found
// (*vnflcm.ParamError, joined).
func Validate(vim vnflcm.VimConnectionInfo) error {
	_, err := read(vim)
	return err
}

// Unknown lists the attributes of interfaceInfo and accessInfo that have no effect.
func Unknown(vim vnflcm.VimConnectionInfo) []string {
	var out []string
	for _, part := range []struct {
		path   string
		params vnflcm.Params
		into   any
	}{{interfacePath, vim.InterfaceInfo, &endpointInfo{}}, {accessPath, vim.AccessInfo, &accessInfo{}}} {
		unknown, err := part.params.Decode(part.into)
		if err != nil {
			continue // Validate reports it
		}
		for _, name := range unknown {
			out = append(out, part.path+"."+name)
		}
	}
	return out
}

// read takes the attributes together.
func read(vim vnflcm.VimConnectionInfo) (*identity, error) {
	var at endpointInfo
	var who accessInfo
	_, err1 := vim.InterfaceInfo.Decode(&at)
	_, err2 := vim.AccessInfo.Decode(&who)
	faults := []error{vnflcm.AtPath(interfacePath, err1), vnflcm.AtPath(accessPath, err2)}
	id := &identity{
		authURL: cmp.Or(at.Endpoint, at.AuthURL1, at.AuthURL2, who.AuthURL1, who.AuthURL2),
		region:  cmp.Or(who.Region1, who.Region2, who.Region3), iface: cmp.Or(at.Interface, "public"),
		username: who.Username, userID: cmp.Or(who.UserID1, who.UserID2),
		userDomain:   cmp.Or(who.UserDomain1, who.UserDomain2, who.UserDomain3),
		userDomainID: cmp.Or(who.UserDomainID1, who.UserDomainID2),
		password:     who.Password, token: who.Token,
		credentialID:     cmp.Or(who.CredentialID1, who.CredentialID2),
		credentialName:   cmp.Or(who.CredentialName1, who.CredentialName2),
		credentialSecret: who.CredentialSecret1,
		project:          cmp.Or(who.Project1, who.Project2, who.Project3, who.Project4, who.Project5),
		projectID:        cmp.Or(who.ProjectID1, who.ProjectID2),
		projectDomain:    cmp.Or(who.ProjectDomain1, who.ProjectDomain2, who.ProjectDomain3),
		projectDomainID:  cmp.Or(who.ProjectDomainID1, who.ProjectDomainID2),
		ca:               cmp.Or(at.CA1, at.CA2, at.CA3, at.CA4, who.CA),
		insecure:         at.SkipVerify1 || at.SkipVerify2 || refused(who.CertVerify1) || refused(who.CertVerify2),
	}
	if id.credentialSecret.IsZero() {
		id.credentialSecret = who.CredentialSecret2
	}
	return id, errors.Join(append(faults, id.check()...)...)
}

func refused(verify *bool) bool { return verify != nil && !*verify }

// check finds what is missing or contradictory.
func (id *identity) check() []error {
	var faults []error
	fault := func(path, value, reason string) {
		faults = append(faults, &vnflcm.ParamError{Path: path, Value: value, Reason: reason})
	}
	u, err := url.Parse(id.authURL)
	switch {
	case id.authURL == "":
		fault(interfacePath+".endpoint", "", "is required: the URL of Keystone, such as https://keystone.example.org/v3")
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		fault(interfacePath+".endpoint", "", "is no http or https URL")
	case u.User != nil:
		fault(interfacePath+".endpoint", "", "holds credentials: they belong into accessInfo")
	}
	if !slices.Contains([]string{"public", "internal", "admin"}, id.iface) {
		fault(interfacePath+".interface", id.iface, "must be public, internal or admin")
	}
	if id.ca != "" && !x509.NewCertPool().AppendCertsFromPEM([]byte(id.ca)) {
		fault(interfacePath+".trustedCertificates", "", "holds no certificate in PEM form")
	}
	return append(faults, id.checkCredentials()...)
}

func (id *identity) checkCredentials() []error {
	var faults []error
	need := func(missing bool, name, reason string) {
		if missing {
			faults = append(faults, &vnflcm.ParamError{Path: accessPath + "." + name, Reason: reason})
		}
	}
	user := id.username != "" || id.userID != ""
	switch {
	case id.credentialID != "" || id.credentialName != "":
		need(id.credentialSecret.IsZero(), "applicationCredentialSecret", "is required with an application credential")
		need(id.credentialID == "" && !user, "username", "is required with applicationCredentialName: whose credential it is")
	case !id.token.IsZero():
	default:
		need(!user, "username", "is required, or an application credential, or a token")
		need(id.password.IsZero(), "password", "is required")
		need(id.project == "" && id.projectID == "", "project", "is required: the project that the VNF is made in")
	}
	return faults
}
