package sol003

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/vnfkit/vnfkit/internal/bounded"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// VIMs is the part of vnflcm.VIMRegistry that the handler uses. The tenant comes from the sender; "" sees and changes all entries.
type VIMs interface {
	List(ctx context.Context, tenant string) ([]*vnflcm.VIM, error)
	Get(ctx context.Context, tenant, vimID string) (*vnflcm.VIM, error)
	Register(ctx context.Context, owner string, req vnflcm.VIMRequest) (*vnflcm.VIM, error)
	Change(ctx context.Context, tenant, vimID string, req vnflcm.VIMRequest) (*vnflcm.VIM, error)
	Delete(ctx context.Context, tenant, vimID string) error
}

// vimsPrefix is where Tacker has its registry of VIMs, which ETSI has no resource for.
const vimsPrefix = "/v1.0/vims"

// vimResources exist with Options.VIMs. Tacker's client sends the suffix .json, which is no part of an id.
var vimResources = map[string]methods{
	"":      {http.MethodPost: (*call).registerVIM, http.MethodGet: (*call).listVIMs},
	".json": {http.MethodPost: (*call).registerVIM, http.MethodGet: (*call).listVIMs},
	"/{id}": {http.MethodGet: (*call).readVIM, http.MethodPut: (*call).changeVIM, http.MethodDelete: (*call).deleteVIM},
}

// vimRequest is the body of a request to Tacker's registry.
type vimRequest struct {
	VIM *vimBody `json:"vim"`
}

type vimBody struct {
	Name        *string       `json:"name"`
	Description *string       `json:"description"`
	Type        string        `json:"type"`
	AuthURL     string        `json:"auth_url"`
	AuthCred    vnflcm.Params `json:"auth_cred"`
	VIMProject  vnflcm.Params `json:"vim_project"`
	Extra       vnflcm.Params `json:"extra"`
	IsDefault   *bool         `json:"is_default"`
	TenantID    string        `json:"tenant_id"`
	Share       *vimShare     `json:"share"` // Tacker has no such attribute
}

// vimShare is "all", or a list of tenants.
type vimShare vnflcm.Share

// UnmarshalJSON implements json.Unmarshaler.
func (s *vimShare) UnmarshalJSON(data []byte) error {
	if *s = (vimShare{}); string(data) == `"all"` {
		s.All = true
		return nil
	}
	if json.Unmarshal(data, &s.Tenants) != nil {
		return errors.New(`must be "all" or a list of tenants`)
	}
	return nil
}

// MarshalJSON implements json.Marshaler.
func (s vimShare) MarshalJSON() ([]byte, error) {
	if s.All {
		return []byte(`"all"`), nil
	}
	return json.Marshal(append([]string{}, s.Tenants...))
}

func (c *call) registerVIM() error {
	body, verify, err := c.readVIMRequest(true)
	if err != nil {
		return err
	}
	owner := c.who.Tenant
	switch {
	case owner == "":
		owner = body.TenantID
	case body.TenantID != "" && body.TenantID != owner:
		return &statusError{status: http.StatusForbidden, detail: "vim.tenant_id: the sender may register VIMs of its own tenant only"}
	}
	req, err := body.request("")
	if err != nil {
		return vimFaults(err)
	}
	req.Unchecked = !verify
	vim, err := c.VIMs.Register(c.r.Context(), owner, req)
	if err != nil {
		return vimFaults(err)
	}
	c.w.Header().Set("Location", c.root()+vimsPrefix+"/"+vim.VimID)
	return c.document(http.StatusCreated, map[string]any{"vim": c.renderVIM(vim)})
}

func (c *call) changeVIM() error {
	// An id of another tenant is answered before the body is read, as for other resources.
	registered, err := c.VIMs.Get(c.r.Context(), c.who.Tenant, c.vimID())
	if err != nil {
		return err
	}
	body, verify, err := c.readVIMRequest(false)
	if err != nil {
		return err
	}
	body, err = c.changing(registered, *body)
	if err != nil {
		return vimFaults(err)
	}
	req, err := body.request(registered.VimType)
	if err != nil {
		return vimFaults(err)
	}
	req.Unchecked = !verify
	vim, err := c.VIMs.Change(c.r.Context(), c.who.Tenant, c.vimID(), req)
	if err != nil {
		return vimFaults(err)
	}
	return c.document(http.StatusOK, map[string]any{"vim": c.renderVIM(vim)})
}

// changing returns the body of a change without the address if that is the one of the VIM, as it is stored or as a document shows it. The
// owner cannot be changed.
func (c *call) changing(registered *vnflcm.VIM, body vimBody) (*vimBody, error) {
	visible := c.sees(registered.Tenant)
	if body.TenantID != "" && (!visible || body.TenantID != registered.Tenant) {
		return nil, &vnflcm.ParamError{Path: "vim.tenant_id", Reason: "cannot be changed"}
	}
	if visible && slices.Contains([]any{c.renderVIM(registered)["auth_url"], revealed(registered.InterfaceInfo)["endpoint"]}, any(body.AuthURL)) {
		body.AuthURL = ""
	}
	return &body, nil
}

func (c *call) vimID() string { return strings.TrimSuffix(c.r.PathValue("id"), ".json") }

func (c *call) readVIM() error {
	vim, err := c.VIMs.Get(c.r.Context(), c.who.Tenant, c.vimID())
	if err != nil {
		return err
	}
	return c.document(http.StatusOK, map[string]any{"vim": c.renderVIM(vim)})
}

func (c *call) deleteVIM() error {
	if err := c.VIMs.Delete(c.r.Context(), c.who.Tenant, c.vimID()); err != nil {
		return err
	}
	c.w.WriteHeader(http.StatusNoContent)
	return nil
}

// vimFilters are the attributes by which a list can be filtered.
var vimFilters = []string{"id", "name", "type", "tenant_id", "status", "is_default"}

// listVIMs answers the whole list, as Tacker does for a query without limit.
func (c *call) listVIMs() error {
	query, err := c.vimQuery(append([]string{"fields"}, vimFilters...)...)
	if err != nil {
		return err
	}
	list, err := c.VIMs.List(c.r.Context(), c.who.Tenant)
	if errors.Is(err, vnflcm.ErrUnreadable) { // the list has the readable ones
		c.Logger.ErrorContext(c.r.Context(), "a list lacks records", "resource", c.r.Pattern, "error", vnflcm.Problem(err).Detail)
	} else if err != nil {
		return err
	}
	out := []object{}
	for _, vim := range list {
		document := c.renderVIM(vim)
		if !matchesAll(document, query) {
			continue
		}
		if fields := query["fields"]; len(fields) > 0 {
			for name := range document {
				if !slices.Contains(fields, name) {
					delete(document, name)
				}
			}
		}
		out = append(out, document)
	}
	return c.document(http.StatusOK, map[string]any{"vims": out})
}

// matchesAll reports whether a document has one of the values of each filter.
func matchesAll(document object, query url.Values) bool {
	for _, name := range vimFilters {
		is := func(wanted string) bool { return strings.EqualFold(wanted, fmt.Sprint(document[name])) }
		if name != "is_default" {
			is = func(wanted string) bool { return wanted == document[name] }
		}
		if values := query[name]; len(values) > 0 && !slices.ContainsFunc(values, is) {
			return false
		}
	}
	return true
}

// vimQuery reads the query of a URI, which may have these parameters.
func (c *call) vimQuery(known ...string) (url.Values, error) {
	query, err := url.ParseQuery(c.r.URL.RawQuery)
	if err != nil {
		return nil, badRequest("the query of the URI is not percent-encoded")
	}
	for name := range query {
		if !slices.Contains(known, name) {
			return nil, badRequest(fmt.Sprintf("the resource has no query parameter %q%s", beginning(name), didYouMean(name, known)))
		}
	}
	return query, nil
}

// readVIMRequest reads a body, and whether the login is to be checked: the query parameter verify is false for a VIM that cannot be reached
// yet.
func (c *call) readVIMRequest(isNew bool) (body *vimBody, verify bool, err error) {
	query, err := c.vimQuery("verify")
	if err != nil {
		return nil, false, err
	}
	verify = true
	if given := query["verify"]; len(given) > 0 {
		if verify, err = strconv.ParseBool(strings.ToLower(given[0])); err != nil || len(given) > 1 {
			return nil, false, badRequest("verify: must be true or false")
		}
	}
	var req vimRequest
	if _, err := c.readBody(&req, mediaJSON); err != nil {
		return nil, false, badVIM(err, func(path string) string { return path })
	}
	if req.VIM == nil || isNew && req.VIM.AuthURL == "" {
		return nil, false, vimFaults(&vnflcm.ParamError{Path: "vim.auth_url", Reason: "is required"})
	}
	return req.VIM, verify, nil
}

// vimFaults answers faults of a connection with 400, as Tacker does, and names the attributes of its bodies.
func vimFaults(err error) error { return badVIM(err, tackerPath) }

// badVIM answers faults of a request with 400. rename returns the path of an attribute in the body.
func badVIM(err error, rename func(path string) string) error {
	if !errors.Is(err, vnflcm.ErrInvalidRequest) {
		return err
	}
	var lines []string
	for _, each := range faults(err) {
		if fault, ok := errors.AsType[*vnflcm.ParamError](each); ok {
			named := *fault
			named.Path = rename(fault.Path)
			each = &named
		}
		lines = append(lines, each.Error())
	}
	return &statusError{status: http.StatusBadRequest, detail: bounded.Text(strings.Join(lines, "\n"), maxDetail), codes: vnflcm.Problem(err).Codes}
}

// tackerPath returns the path in Tacker's body of an attribute of a connection.
func tackerPath(path string) string {
	path = strings.TrimPrefix(path, "vimConnectionInfo.")
	section, name, _ := strings.Cut(path, ".")
	switch {
	case path == "vimType":
		return "vim.type"
	case path == "interfaceInfo.endpoint", path == "accessInfo.auth_url":
		return "vim.auth_url"
	case path == "interfaceInfo.insecure_skip_tls_verify":
		return "vim.auth_cred.cert_verify"
	case section == "accessInfo" && strings.HasPrefix(name, "project"):
		return "vim.vim_project." + strings.TrimPrefix(strings.TrimPrefix(name, "project_"), "project")
	case section == "accessInfo", section == "interfaceInfo":
		return strings.TrimSuffix("vim.auth_cred."+name, ".")
	case strings.HasPrefix(path, "vim"):
		return path
	}
	return "vim." + path
}
