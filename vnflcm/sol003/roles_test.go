package sol003_test

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm/sol003"
)

// neededRoles maps every route to the role that a request needs.
var neededRoles = map[string]sol003.Role{
	"GET /vnflcm/api_versions":     sol003.RoleReader,
	"GET /vnflcm/{v}/api_versions": sol003.RoleReader,

	"POST /vnflcm/{v}/vnf_instances":        sol003.RoleOperator,
	"GET /vnflcm/{v}/vnf_instances":         sol003.RoleReader,
	"GET /vnflcm/{v}/vnf_instances/{id}":    sol003.RoleReader,
	"PATCH /vnflcm/{v}/vnf_instances/{id}":  sol003.RoleOperator,
	"DELETE /vnflcm/{v}/vnf_instances/{id}": sol003.RoleOperator,

	"POST /vnflcm/{v}/vnf_instances/{id}/instantiate":        sol003.RoleOperator,
	"POST /vnflcm/{v}/vnf_instances/{id}/scale":              sol003.RoleOperator,
	"POST /vnflcm/{v}/vnf_instances/{id}/scale_to_level":     sol003.RoleOperator,
	"POST /vnflcm/{v}/vnf_instances/{id}/heal":               sol003.RoleOperator,
	"POST /vnflcm/{v}/vnf_instances/{id}/terminate":          sol003.RoleOperator,
	"POST /vnflcm/{v}/vnf_instances/{id}/change_ext_conn":    sol003.RoleOperator,
	"POST /vnflcm/{v}/vnf_instances/{id}/change_flavour":     sol003.RoleOperator,
	"POST /vnflcm/{v}/vnf_instances/{id}/operate":            sol003.RoleOperator,
	"POST /vnflcm/{v}/vnf_instances/{id}/change_vnfpkg":      sol003.RoleOperator,
	"POST /vnflcm/{v}/vnf_instances/{id}/create_snapshot":    sol003.RoleOperator,
	"POST /vnflcm/{v}/vnf_instances/{id}/revert_to_snapshot": sol003.RoleOperator,

	"GET /vnflcm/{v}/vnf_lcm_op_occs":                sol003.RoleReader,
	"GET /vnflcm/{v}/vnf_lcm_op_occs/{id}":           sol003.RoleReader,
	"POST /vnflcm/{v}/vnf_lcm_op_occs/{id}/retry":    sol003.RoleOperator,
	"POST /vnflcm/{v}/vnf_lcm_op_occs/{id}/rollback": sol003.RoleOperator,
	"POST /vnflcm/{v}/vnf_lcm_op_occs/{id}/fail":     sol003.RoleOperator,
	"POST /vnflcm/{v}/vnf_lcm_op_occs/{id}/cancel":   sol003.RoleOperator,

	"POST /vnflcm/{v}/subscriptions":        sol003.RoleOperator,
	"GET /vnflcm/{v}/subscriptions":         sol003.RoleReader,
	"GET /vnflcm/{v}/subscriptions/{id}":    sol003.RoleReader,
	"DELETE /vnflcm/{v}/subscriptions/{id}": sol003.RoleOperator,

	"PATCH /preview/v1/vnf_instances/{id}":                       sol003.RoleOperator,
	"POST /preview/v1/vnf_instances/{id}/instantiate":            sol003.RoleOperator,
	"POST /preview/v1/vnf_instances/{id}/scale":                  sol003.RoleOperator,
	"POST /preview/v1/vnf_instances/{id}/scale_to_level":         sol003.RoleOperator,
	"POST /preview/v1/vnf_instances/{id}/heal":                   sol003.RoleOperator,
	"POST /preview/v1/vnf_instances/{id}/terminate":              sol003.RoleOperator,
	"POST /preview/v1/vnf_instances/{id}/operate":                sol003.RoleOperator,
	"POST /preview/v1/vnf_instances/{id}/change_vnfpkg":          sol003.RoleOperator,
	"POST /preview/v1/vnf_instances/{id}/renew_certificates":     sol003.RoleOperator,
	"POST /preview/v1/vnf_instances/{id}/upgrade":                sol003.RoleOperator,
	"GET /progress/v1/vnf_lcm_op_occs/{id}":                      sol003.RoleReader,
	"POST /maintenance/v1/vnf_instances/{id}/renew_certificates": sol003.RoleOperator,
	"POST /maintenance/v1/vnf_instances/{id}/upgrade":            sol003.RoleOperator,
	"GET /maintenance/v1/vnf_instances/{id}/certificates":        sol003.RoleReader,

	"POST /vnflcm/{v}/vnf_snapshots":                             sol003.RoleOperator,
	"GET /vnflcm/{v}/vnf_snapshots":                              sol003.RoleReader,
	"GET /vnflcm/{v}/vnf_snapshots/{id}":                         sol003.RoleReader,
	"DELETE /vnflcm/{v}/vnf_snapshots/{id}":                      sol003.RoleOperator,
	"POST /maintenance/v1/vnf_snapshots":                         sol003.RoleOperator,
	"GET /maintenance/v1/vnf_snapshots":                          sol003.RoleReader,
	"GET /maintenance/v1/vnf_snapshots/{id}":                     sol003.RoleReader,
	"DELETE /maintenance/v1/vnf_snapshots/{id}":                  sol003.RoleOperator,
	"POST /maintenance/v1/vnf_instances/{id}/create_snapshot":    sol003.RoleOperator,
	"POST /preview/v1/vnf_instances/{id}/create_snapshot":        sol003.RoleOperator,
	"POST /maintenance/v1/vnf_instances/{id}/revert_to_snapshot": sol003.RoleOperator,
	"POST /preview/v1/vnf_instances/{id}/revert_to_snapshot":     sol003.RoleOperator,

	"POST /v1.0/vims":                                    sol003.RoleAdmin,
	"POST /v1.0/vims.json":                               sol003.RoleAdmin,
	"GET /v1.0/vims":                                     sol003.RoleReader,
	"GET /v1.0/vims.json":                                sol003.RoleReader,
	"GET /v1.0/vims/{id}":                                sol003.RoleReader,
	"PUT /v1.0/vims/{id}":                                sol003.RoleAdmin,
	"DELETE /v1.0/vims/{id}":                             sol003.RoleAdmin,
	"GET /vnfpkgm/api_versions":                          sol003.RoleReader,
	"GET /vnfpkgm/{v}/api_versions":                      sol003.RoleReader,
	"POST /vnfpkgm/{v}/vnf_packages":                     sol003.RoleAdmin,
	"GET /vnfpkgm/{v}/vnf_packages":                      sol003.RoleReader,
	"GET /vnfpkgm/{v}/vnf_packages/{id}":                 sol003.RoleReader,
	"PATCH /vnfpkgm/{v}/vnf_packages/{id}":               sol003.RoleAdmin,
	"DELETE /vnfpkgm/{v}/vnf_packages/{id}":              sol003.RoleAdmin,
	"PUT /vnfpkgm/{v}/vnf_packages/{id}/package_content": sol003.RoleAdmin,
	"POST /vnfpkgm/{v}/subscriptions":                    sol003.RoleOperator,
	"GET /vnfpkgm/{v}/subscriptions":                     sol003.RoleReader,
	"GET /vnfpkgm/{v}/subscriptions/{id}":                sol003.RoleReader,
	"DELETE /vnfpkgm/{v}/subscriptions/{id}":             sol003.RoleOperator,

	"POST /vnfpkgm/{v}/vnf_packages/{id}/package_content/upload_from_uri":  sol003.RoleAdmin,
	"GET /vnfpkgm/{v}/vnf_packages/{id}/package_content":                   sol003.RoleReader,
	"GET /vnfpkgm/{v}/vnf_packages/{id}/vnfd":                              sol003.RoleReader,
	"GET /vnfpkgm/{v}/vnf_packages/{id}/manifest":                          sol003.RoleReader,
	"GET /vnfpkgm/{v}/vnf_packages/{id}/artifacts":                         sol003.RoleReader,
	"GET /vnfpkgm/{v}/vnf_packages/{id}/artifacts/{path...}":               sol003.RoleReader,
	"GET /vnfpkgm/{v}/onboarded_vnf_packages":                              sol003.RoleReader,
	"GET /vnfpkgm/{v}/onboarded_vnf_packages/{vnfdId}":                     sol003.RoleReader,
	"GET /vnfpkgm/{v}/onboarded_vnf_packages/{vnfdId}/package_content":     sol003.RoleReader,
	"GET /vnfpkgm/{v}/onboarded_vnf_packages/{vnfdId}/vnfd":                sol003.RoleReader,
	"GET /vnfpkgm/{v}/onboarded_vnf_packages/{vnfdId}/manifest":            sol003.RoleReader,
	"GET /vnfpkgm/{v}/onboarded_vnf_packages/{vnfdId}/artifacts":           sol003.RoleReader,
	"GET /vnfpkgm/{v}/onboarded_vnf_packages/{vnfdId}/artifacts/{path...}": sol003.RoleReader,
}

// TestRoles sends every request with every role. A request with an insufficient role must be answered before any record is read.
func TestRoles(t *testing.T) {
	t.Parallel()
	x := newTenants(t, false)
	for r, needed := range rowsOf(t, x.options, neededRoles) {
		method, pattern, _ := strings.Cut(r, " ")
		for role, includes := range map[sol003.Role][]sol003.Role{
			sol003.RoleReader: {sol003.RoleReader}, sol003.RoleOperator: {sol003.RoleReader, sol003.RoleOperator}, "Admin": nil, "none": nil,
			sol003.RoleAdmin: {sol003.RoleReader, sol003.RoleOperator, sol003.RoleAdmin}, "": {sol003.RoleReader, sol003.RoleOperator, sol003.RoleAdmin},
		} {
			if slices.Contains(includes, needed) {
				if answer := x.withRole(role, method, pattern, "00000000-0000-4000-8000-ffffffffffff"); strings.HasPrefix(answer, "403") {
					t.Errorf("%s by %q: %s", r, role, answer)
				}
				continue
			}
			answers := map[string]bool{}
			for _, id := range slices.Concat([]string{"00000000-0000-4000-8000-ffffffffffff"}, x.a.instances, x.a.operations, x.a.subscriptions, x.a.packages, []string{x.a.vim}) {
				answers[x.withRole(role, method, pattern, id)] = true
			}
			for answer := range answers {
				if len(answers) > 1 || !strings.HasPrefix(answer, "403") || !strings.HasSuffix(answer, " reads []") {
					t.Errorf("%s by %q: %s", r, role, answer)
				}
			}
		}
	}
	if diff := cmp.Diff(x.a.documents, x.read(x.a)); diff != "" {
		t.Errorf("a request was accepted:\n%s", diff)
	}
}

// withRole sends a request of tenant a, and returns the answer and the kinds of the records that were read.
func (x *tenants) withRole(role sol003.Role, method, pattern, id string) string {
	x.t.Helper()
	x.reads.take()
	answer := x.as(x.a.tenant, method, strings.Replace(pattern, "{id}", id, 1), "", http.Header{"X-Role": {string(role)}})
	return answer + fmt.Sprint(" reads ", x.reads.take())
}

// TestFindRole checks that the highest role is used, and that a sender without any role is refused.
func TestFindRole(t *testing.T) {
	t.Parallel()
	known := map[string]sol003.Role{"member": sol003.RoleOperator, "reader": sol003.RoleReader, "admin": sol003.RoleAdmin, "typo": "opertor", "unset": ""}
	for _, c := range []struct {
		names []string
		want  sol003.Role // "": ErrForbidden
	}{
		{[]string{"reader", "member"}, sol003.RoleOperator}, {[]string{"admin", "reader"}, sol003.RoleAdmin}, {[]string{"other", "reader"}, sol003.RoleReader},
		{nil, ""}, {[]string{"other"}, ""}, {[]string{"typo", "unset", ""}, ""}, {[]string{"Admin"}, ""},
	} {
		got, err := sol003.FindRole(known, c.names...)
		if got != c.want || errors.Is(err, sol003.ErrForbidden) != (c.want == "") {
			t.Errorf("%v: %q %v", c.names, got, err)
		}
	}
}

// TestRolesOfCertificates checks that every client needs a role if the settings have a role for any client.
func TestRolesOfCertificates(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		others sol003.Principal
		role   sol003.Role
		want   bool
	}{
		"no roles":     {sol003.Principal{}, "", true},
		"both":         {sol003.Principal{Role: sol003.RoleAdmin}, sol003.RoleReader, true},
		"only others":  {sol003.Principal{Role: sol003.RoleReader}, "", false},
		"no such role": {sol003.Principal{Role: sol003.RoleReader}, "root", false},
	} {
		authorize := sol003.ClientCertificates(map[string]sol003.Principal{"CN=nfvo": {Name: "nfvo", Role: c.role}, "CN=other": c.others})
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
		r.TLS = &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{{Subject: pkix.Name{CommonName: "nfvo"}}}}}
		who, err := authorize(r)
		if (err == nil) != c.want || err != nil && !errors.Is(err, sol003.ErrForbidden) || who.Name != "nfvo" {
			t.Errorf("%s: %+v %v", name, who, err)
		}
	}
}
