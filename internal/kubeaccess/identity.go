package kubeaccess

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/url"
	"strings"

	"github.com/vnfkit/vnfkit/internal/jumphost"
	"github.com/vnfkit/vnfkit/internal/vimattributes"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// identity is who asks which cluster, and how.
type identity struct {
	Endpoint           *url.URL
	Token              string
	Username, Password string
	Certificate, Key   string // PEM
	CA                 string // PEM; empty: the roots of the system
	ServerName         string
	Insecure           bool
	Namespace          string
	Spare              bool // a password is given that the token makes useless
	Via                *sshexec.Target
	FromOperator       bool // the address is the operator's
	unknown            []string
}

// Check reports every fault of the attributes for the connection to the cluster (*vnflcm.ParamError, joined). It does
// not connect. The attributes are optional if the program supplies the connection (Options.Cluster).
func Check(ctx context.Context, vim vnflcm.VimConnectionInfo, o Options) error {
	s, err := supplied(ctx, vim, o)
	if s != nil || err != nil {
		return err
	}
	_, err = read(vim, nil)
	return err
}

// read reads the attributes of both of Tacker's APIs, and those that only vnfkit has.
func read(vim vnflcm.VimConnectionInfo, keys sshexec.HostKeyStore) (identity, error) {
	inter, access := vimattributes.Of(vim)
	// Tacker writes these attributes; clients do not need them.
	access.Ignore("project_name", "type", "vim_project", "ssl_ca_cert_hash", "certificate_key")
	id := identity{
		Token:       access.Secret("bearer_token"),
		Username:    access.Text("username"),
		Password:    access.Secret("password"),
		Certificate: access.Secret("client_certificate"),
		Key:         access.Secret("client_key"),
		CA:          certificates(cmp.Or(inter.Text("ssl_ca_cert"), access.Text("ssl_ca_cert"))),
		ServerName:  inter.Text("tls_server_name"),
		Insecure:    inter.Bool(false, "insecure_skip_tls_verify"),

		FromOperator: vim.FromOperator,
	}
	if id.Token != "" && (id.Username != "" || id.Password != "") { // as in Tacker, and in the sample of the specification
		id.Username, id.Password, id.Spare = "", "", true
	}
	endpoint, at, name := inter.Text("endpoint"), inter, "endpoint"
	if other := access.Text("auth_url"); endpoint == "" && other != "" {
		endpoint, at, name = other, access, "auth_url"
	} else if other != "" && strings.TrimSuffix(other, "/") != strings.TrimSuffix(endpoint, "/") {
		access.Fault("auth_url", "", "is not what interfaceInfo.endpoint says: give one of them")
	}
	if text := access.Secret("kubeconfig"); text != "" {
		if endpoint != "" {
			at.Fault(name, "", "is in the kubeconfig too: leave one of them out")
		}
		if id.CA != "" {
			inter.Fault("ssl_ca_cert", "", "belongs into the kubeconfig")
		}
		endpoint, at, name = id.kubeconfig(access, text), access, "kubeconfig"
	}
	id.endpoint(at, name, endpoint)
	id.check(inter, access)
	id.unknown = vimattributes.Unknown(inter, access)
	via, unknown, err := jumphost.Target(vim, keys)
	id.Via = via
	for _, each := range unknown {
		id.unknown = append(id.unknown, jumphost.Path+"."+each)
	}
	return id, errors.Join(vimattributes.Faults(inter, access), err)
}

// certificates returns "" if Tacker wrote None.
func certificates(text string) string {
	if strings.EqualFold(strings.TrimSpace(text), "none") {
		return ""
	}
	return text
}

func (id *identity) endpoint(at *vimattributes.Section, name, text string) {
	if text == "" {
		if name != "kubeconfig" { // its fault is already reported
			at.Fault(name, "", "is required: the address of the Kubernetes API, as https://10.0.0.10:6443")
		}
		return
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "" || (u.Scheme != "http" && u.Scheme != "https"):
		at.Fault(name, "", "must be an https URL, as https://10.0.0.10:6443")
		return
	case u.User != nil:
		at.Fault(name, "", "must not hold credentials: they belong into accessInfo")
		return
	case u.RawQuery != "" || u.Fragment != "":
		at.Fault(name, "", "must have no query and no fragment")
		return
	case u.Scheme == "http" && !loopback(u.Hostname()):
		at.Fault(name, u.Scheme+"://"+u.Host, "would send the credentials in the clear: use https (http only to a loopback address)")
		return
	}
	id.Endpoint = u
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// check reports missing attributes, contradictions, and more than one way to log in.
func (id *identity) check(inter, access *vimattributes.Section) {
	ways := 0
	for _, given := range []bool{id.Token != "", id.Username != "" || id.Password != "", id.Certificate != "" || id.Key != ""} {
		if given {
			ways++
		}
	}
	switch {
	case ways == 0 && !access.Faulty():
		access.Fault("bearer_token", "", "is required, unless there is a username with password, a client_certificate with client_key, or a kubeconfig")
	case ways > 1:
		access.Fault("bearer_token", "", "only one of bearer_token, username with password, client_certificate with client_key, and kubeconfig may be given")
	case strings.ContainsAny(id.Token, "\r\n \t"):
		access.Fault("bearer_token", "", "must not hold white space")
	case (id.Username == "") != (id.Password == ""):
		access.Fault("password", "", "username and password must be given together")
	}
	if id.Certificate != "" || id.Key != "" {
		if _, err := tls.X509KeyPair([]byte(id.Certificate), []byte(id.Key)); err != nil {
			// The error is left out: it may quote the key.
			access.Fault("client_certificate", "", "client_certificate and client_key must be a certificate and its key, in PEM form")
		}
	}
	if id.CA != "" && !x509.NewCertPool().AppendCertsFromPEM([]byte(id.CA)) {
		inter.Fault("ssl_ca_cert", "", "must be certificates in PEM form")
	}
	if id.Insecure && id.CA != "" {
		inter.Fault("insecure_skip_tls_verify", "true", "contradicts the CA certificate: leave out one of the two")
	}
	if id.Endpoint == nil || id.Endpoint.Scheme == "https" {
		return
	}
	if id.CA != "" || id.Certificate != "" || id.ServerName != "" || id.Insecure {
		inter.Fault("endpoint", id.Endpoint.Scheme+"://"+id.Endpoint.Host, "is not encrypted, so that certificates have no effect: use https")
	}
}

// warnings are about settings that work and are insecure.
func (id *identity) warnings() (out []string) {
	if id.Insecure {
		out = append(out, "the certificate of the cluster is not verified: insecure_skip_tls_verify is set, and any server that answers gets the credentials")
	}
	if id.Spare {
		out = append(out, "username and password are not used: there is a bearer_token")
	}
	if id.Endpoint.Scheme == "http" {
		out = append(out, notEncrypted)
	}
	return out
}

const notEncrypted = "the connection to the cluster is not encrypted"
