package sol003

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// typeHelm is the type of a VIM for charts in version 2 of Tacker's API. In the registry it is a kubernetes with extra.use_helm.
const typeHelm = "ETSINFV.HELM.V_3"

// request converts a body for a new VIM, or for a registered one of that type. Attributes keep Tacker's names, which drivers read in interfaceInfo and accessInfo. An empty text counts as absent:
// Tacker's client sends one for what its file does not have.
func (b *vimBody) request(registered string) (vnflcm.VIMRequest, error) {
	req := vnflcm.VIMRequest{Name: b.Name, Description: b.Description, IsDefault: b.IsDefault, Share: (*vnflcm.Share)(b.Share)}
	parts := &vimParts{isNew: registered == "", inter: map[string]any{}, access: map[string]any{}, extra: map[string]any{}}
	cred, err1 := decodeObject(b.AuthCred, "vim.auth_cred")
	project, err2 := decodeObject(b.VIMProject, "vim.vim_project")
	var err3 error
	parts.extra, err3 = decodeObject(b.Extra, "vim.extra")
	parts.fault(errors.Join(err1, err2, err3))
	req.Connection.VimType = b.Type
	switch names := vnflcm.VIMTypeNames(b.Type); {
	case registered == typeHelm && (b.Type == typeHelm || names[0] == "kubernetes"): // see tackerType
		req.Connection.VimType = typeHelm
	case b.Type == typeHelm:
		req.Connection.VimType, parts.extra["use_helm"] = "kubernetes", true
	case b.Type != "":
		req.Connection.VimType = names[0]
	case registered == "":
		req.Connection.VimType = "openstack" // as in Tacker's client
	}
	parts.isOpenStack = vnflcm.VIMTypeNames(cmp.Or(registered, req.Connection.VimType))[0] == "openstack"
	parts.address(b.AuthURL)
	for _, name := range slices.Sorted(maps.Keys(cred)) {
		parts.credential(name, cred[name])
	}
	for name, value := range project {
		parts.set(parts.access, "project_"+strings.TrimPrefix(name, "project_"), value)
	}
	for name, value := range parts.extra {
		parts.set(parts.extra, name, value)
	}
	parts.fault(parts.into(&req.Connection))
	return req, errors.Join(parts.faults...)
}

func decodeObject(p vnflcm.Params, at string) (map[string]any, error) {
	out := map[string]any{}
	_, err := p.Decode(&out)
	return out, vnflcm.AtPath(at, err)
}

// vimParts are the sections of a connection while a body is converted.
type vimParts struct {
	isNew, isOpenStack   bool
	inter, access, extra map[string]any
	faults               []error
}

func (p *vimParts) fault(err error) {
	if err != nil {
		p.faults = append(p.faults, err)
	}
}

// set sets an attribute. null removes one of a registered VIM.
func (p *vimParts) set(section map[string]any, name string, value any) {
	if value == "" || value == nil && p.isNew {
		delete(section, name)
		return
	}
	section[name] = value
}

// address sets the address. That of an OpenStack ends in the version of the Identity API, as Tacker stores it.
func (p *vimParts) address(text string) {
	if text == "" {
		return
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		p.fault(&vnflcm.ParamError{Path: "vim.auth_url", Reason: "must be an http or https URL"})
		return
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		p.fault(&vnflcm.ParamError{Path: "vim.auth_url", Reason: "must have no credentials, query or fragment"})
		return
	}
	p.inter["endpoint"] = u.String()
	if p.isOpenStack {
		p.inter["endpoint"] = withIdentityVersion(u)
	}
}

// withIdentityVersion returns the address of Keystone with the version of its API, which Tacker adds.
func withIdentityVersion(u *url.URL) string {
	if last := path.Base(u.Path); len(last) < 2 || last[0] != 'v' || last[1] < '0' || last[1] > '9' {
		u = u.JoinPath("v3")
	}
	return u.String()
}

// credential sets an attribute of auth_cred.
func (p *vimParts) credential(name string, value any) {
	path := "vim.auth_cred." + name
	switch name {
	case "key_type", "secret_uuid": // how Tacker keeps the secret
	case "auth_url":
		p.fault(&vnflcm.ParamError{Path: path, Reason: "belongs into vim.auth_url"})
	case "oidc_token_url", "client_id", "client_secret":
		p.fault(&vnflcm.ParamError{Path: path, Reason: "OpenID Connect is not supported: give a bearer_token"})
	case "cert_verify":
		verify, err := strconv.ParseBool(strings.ToLower(fmt.Sprint(value)))
		switch {
		case err != nil:
			p.fault(&vnflcm.ParamError{Path: path, Reason: "must be True or False"})
		case p.isOpenStack:
			p.set(p.access, "cert_verify", map[bool]any{false: false}[verify])
		default:
			p.set(p.inter, "insecure_skip_tls_verify", map[bool]any{false: true}[verify])
		}
	case "ssl_ca_cert":
		p.set(p.inter, name, value)
	default:
		p.set(p.access, name, value)
	}
}

func (p *vimParts) into(v *vnflcm.VimConnectionInfo) error {
	var errs [3]error
	v.InterfaceInfo, errs[0] = vnflcm.NewParams(p.inter)
	v.AccessInfo, errs[1] = vnflcm.NewParams(p.access)
	v.Extra, errs[2] = vnflcm.NewParams(p.extra)
	return errors.Join(errs[:]...)
}

// renderVIM returns the document of a VIM. Of the VIM of another owner, who shares it, it shows no address and no credentials.
func (c *call) renderVIM(vim *vnflcm.VIM) object {
	out := object{"id": vim.VimID, "type": tackerType(vim), "tenant_id": "", "name": vim.Name, "description": vim.Description, "is_default": vim.IsDefault,
		"placement_attr": object{"regions": []string{}}, "status": "ACTIVE", "created_at": vimTime(vim.CreatedAt), "updated_at": vimTime(vim.UpdatedAt),
		"extra": object{}, "auth_url": "", "vim_project": object{}, "auth_cred": object{}}
	if !c.sees(vim.Tenant) {
		return out
	}
	out["tenant_id"] = vim.Tenant
	out["share"] = vimShare{}
	if vim.Share != nil {
		out["share"] = vimShare(*vim.Share)
	}
	inter, access, extra := revealed(vim.InterfaceInfo), revealed(vim.AccessInfo), revealed(vim.Extra)
	out["auth_url"] = shownURL(vim.VimType, text(inter, "endpoint"), text(access, "auth_url", "authUrl", "endpoint"))
	if region := cmp.Or(text(access, "region", "regionName", "region_name"), text(inter, "region", "regionName", "region_name")); region != "" {
		out["placement_attr"] = object{"regions": []string{region}}
	}
	project := object{}
	for name, from := range map[string][]string{"name": {"project_name", "project", "projectName", "tenant", "tenantName", "tenant_name"},
		"id": {"project_id", "projectId", "tenantId", "tenant_id"}, "project_domain_name": {"project_domain_name", "projectDomain", "projectDomainName", "project_domain"}} {
		if value := text(access, from...); value != "" {
			project[name] = value
		}
	}
	out["vim_project"], out["auth_cred"], out["extra"] = project, credentials(vim.VimType, inter, access), maskedExtra(vim.VimType, extra)
	return out
}

// revealed returns the attributes in clear: only those that are known to be public are shown.
func revealed(p vnflcm.Params) object {
	out := object{}
	_ = json.Unmarshal(p.Reveal(), &out) // Params are an object
	return out
}

// text returns the first attribute that is a text.
func text(section object, names ...string) string {
	for _, name := range names {
		if value, is := section[name].(string); is && value != "" {
			return value
		}
	}
	return ""
}

func tackerType(vim *vnflcm.VIM) string {
	if vim.VimType == typeHelm {
		return "kubernetes"
	}
	return vnflcm.VIMTypeNames(vim.VimType)[0]
}

// vimTime is the time as Tacker shows it, in UTC; null if it is not known.
func vimTime(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format(time.DateTime)
}

// shownURL returns the first address without credentials.
func shownURL(vimType string, addresses ...string) string {
	for _, address := range addresses {
		u, err := url.Parse(address)
		if err != nil || address == "" {
			continue
		}
		u.User, u.RawQuery, u.Fragment = nil, "", ""
		if vnflcm.VIMTypeNames(vimType)[0] == "openstack" {
			return withIdentityVersion(u)
		}
		return u.String()
	}
	return ""
}

// shownCredentials are attributes of accessInfo that are no secrets. Other attributes are shown as ***.
var shownCredentials = []string{"username", "user_name", "userName", "user_id", "userId", "user_domain_name", "userDomain", "userDomainName", "user_domain", "user_domain_id", "userDomainId",
	"project_domain_id", "projectDomainId", "ssl_ca_cert", "interface"}

// elsewhere are attributes of accessInfo that a document shows under other names.
var elsewhere = []string{"auth_url", "authUrl", "endpoint", "region", "regionName", "region_name", "cert_verify", "certVerify",
	"project_name", "project", "projectName", "tenant", "tenantName", "tenant_name", "project_id", "projectId", "tenantId", "tenant_id",
	"project_domain_name", "projectDomain", "projectDomainName", "project_domain"}

// credentials returns auth_cred.
func credentials(vimType string, inter, access object) object {
	out := object{}
	for name, value := range access {
		switch shown, isText := value.(string); {
		case slices.Contains(elsewhere, name):
		case isText && slices.Contains(shownCredentials, name):
			out[name] = shown
		default:
			out[name] = vnflcm.Mask
		}
	}
	if authority := text(inter, "ssl_ca_cert"); authority != "" {
		out["ssl_ca_cert"] = authority
	}
	insecure := isTrue(inter["insecure_skip_tls_verify"]) || isTrue(inter["skipCertificateVerification"]) || isFalse(access["cert_verify"]) || isFalse(access["certVerify"])
	if insecure || vnflcm.VIMTypeNames(vimType)[0] == "openstack" {
		out["cert_verify"] = map[bool]string{true: "False", false: "True"}[insecure]
	}
	return out
}

func isTrue(value any) bool  { return strings.EqualFold(fmt.Sprint(value), "true") }
func isFalse(value any) bool { return strings.EqualFold(fmt.Sprint(value), "false") }

// maskedExtra returns extra with *** for every value but use_helm.
func maskedExtra(vimType string, extra object) object {
	out := object{}
	for name, value := range extra {
		out[name] = masked(value)
	}
	if vimType == typeHelm || isTrue(extra["use_helm"]) {
		out["use_helm"] = true
	} else if isFalse(extra["use_helm"]) {
		out["use_helm"] = false
	}
	return out
}

// masked returns the value with its structure and without its content.
func masked(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := object{}
		for name, each := range v {
			out[name] = masked(each)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, each := range v {
			out[i] = masked(each)
		}
		return out
	case nil:
		return nil
	}
	return vnflcm.Mask
}
