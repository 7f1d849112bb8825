package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"github.com/vnfkit/vnfkit/examples/internal/samples"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/sol003"
)

const cnfVNFD = "5f0c2b7e-93d4-4a68-b1c5-7d2e9a4f6081"

// newTenants starts a VNFM on a sandbox whose clients state their tenant.
func newTenants(t *testing.T, settings string) (*vnfm, *httptest.Server) {
	t.Helper()
	c := &config{onSandbox: true, Packages: filepath.Dir(samples.Package("k8s-cluster")), Metrics: "127.0.0.1:0"}
	must(t, yaml.Unmarshal([]byte(settings), c))
	v, err := compose(t.Context(), c, slog.New(slog.DiscardHandler))
	must(t, err)
	t.Cleanup(v.close)
	must(t, v.serveAs(sol003.Options{Subscriptions: v.notifier, Authorize: func(r *http.Request) (sol003.Principal, error) {
		return sol003.Principal{Tenant: r.Header.Get("X-Tenant"), Role: sol003.Role(r.Header.Get("X-Role"))}, nil
	}}))
	server := httptest.NewServer(v.routes(nil))
	t.Cleanup(server.Close)
	return v, server
}

// isolation has a row for every pattern: requests of a tenant for resources of another tenant. The answer must equal the answer for an
// unknown id.
var isolation = map[string]struct {
	paths []string // INSTANCE, OPERATION and VIM are replaced by ids of the other tenant
}{
	"/": {[]string{"/vnflcm/v1/vnf_instances/INSTANCE", "/vnflcm/v2/vnf_lcm_op_occs/OPERATION", "/vnflcm/v2/vnf_instances", // TestIsolation of vnflcm/sol003 checks every route
		"/vnfpkgm/v1/vnf_packages/PACKAGE", "/vnfpkgm/v1/vnf_packages", "/vnfpkgm/v2/vnf_packages/PACKAGE/package_content",
		"/preview/v1/vnf_instances/INSTANCE/heal", "/preview/v1/vnf_instances/INSTANCE/change_vnfpkg", "/preview/v1/vnf_instances/INSTANCE/create_snapshot", "/maintenance/v1/vnf_instances/INSTANCE/create_snapshot", "/preview/v1/vnf_instances/INSTANCE/revert_to_snapshot", "/maintenance/v1/vnf_instances/INSTANCE/revert_to_snapshot", "/vnflcm/v2/vnf_snapshots", "/maintenance/v1/vnf_instances/INSTANCE/renew_certificates", "/maintenance/v1/vnf_instances/INSTANCE/upgrade",
		"/progress/v1/vnf_lcm_op_occs/OPERATION",
		"/v1.0/vims/VIM", "/v1.0/vims.json", "/v1.0/vims?id=VIM", "/none/INSTANCE"}},
	"GET /{$}":               {[]string{"/", "/?q=secret", "/?state=running&sort=last&page=2"}},
	"GET /instances/{id}":    {[]string{"/instances/INSTANCE", "/instances/INSTANCE?page=2"}},
	"GET /operations/{file}": {[]string{"/operations/OPERATION", "/operations/OPERATION.svg"}},
	"GET /packages":          {[]string{"/packages", "/packages?after="}},
	"GET /healthz":           {[]string{"/healthz"}},
	"GET /readyz":            {[]string{"/readyz"}},
}

// TestIsolation sends requests of a tenant to every route. The answers must not contain resources of another tenant.
func TestIsolation(t *testing.T) {
	t.Parallel()
	v, server := newTenants(t, "")
	const secret = "north's secret name"
	instance, err := v.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: sampleVNFD, VnfInstanceName: secret, Tenant: "north"})
	must(t, err)
	vim, err := v.VIMRegistry().Register(t.Context(), "north", vnflcm.VIMRequest{Name: &instance.VnfInstanceName, Unchecked: true, Connection: vnflcm.VimConnectionInfo{VimType: "sandbox"}})
	must(t, err)
	name := secret + " changed"
	operation, err := v.Modify(t.Context(), instance.ID, vnflcm.VnfInfoModificationRequest{VnfInstanceName: &name}, "")
	must(t, err)
	_, err = v.Wait(t.Context(), operation)
	must(t, err)
	pkg, err := v.packages.Create(t.Context(), "north", vnflcm.KeyValuePairs{"name": secret})
	must(t, err)
	send := func(path string) string {
		t.Helper()
		method := http.MethodGet
		if strings.HasPrefix(path, "/preview") || strings.HasPrefix(path, "/maintenance") {
			method = http.MethodPost
		}
		r, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, strings.NewReader("{}"))
		must(t, err)
		r.Header.Set("X-Tenant", "south")
		r.Header.Set("Content-Type", "application/json")
		response, err := server.Client().Do(r)
		must(t, err)
		body, err := io.ReadAll(response.Body)
		must(t, errors.Join(err, response.Body.Close()))
		response.Header.Del("Date")
		return fmt.Sprint(response.Status, response.Header, string(body))
	}
	const unknown = "00000000-0000-4000-8000-ffffffffffff"
	patterns := v.resources(nil)
	for pattern := range patterns {
		row, exists := isolation[pattern]
		if !exists {
			t.Errorf("%q has no row in the table: add what a tenant could see there", pattern)
		}
		for _, path := range row.paths {
			got := send(strings.NewReplacer("INSTANCE", instance.ID, "OPERATION", operation, "PACKAGE", pkg.ID, "VIM", vim.VimID).Replace(path))
			want := send(strings.NewReplacer("INSTANCE", unknown, "OPERATION", unknown, "PACKAGE", unknown, "VIM", unknown).Replace(path))
			if diff := cmp.Diff(want, strings.NewReplacer(instance.ID, unknown, operation, unknown, pkg.ID, unknown, vim.VimID, unknown).Replace(got)); diff != "" || strings.Contains(got, "north") {
				t.Errorf("%s:\n%s\nan unknown id:\n%s", path, got, want)
			}
		}
	}
	for pattern := range isolation {
		if patterns[pattern] == nil {
			t.Errorf("%q is in the table and does not exist", pattern)
		}
	}
	metrics, err := v.measured.registry.Gather()
	must(t, err)
	for _, hidden := range []string{"north", instance.ID, operation} {
		if text := fmt.Sprint(metrics); strings.Contains(text, hidden) || len(metrics) == 0 {
			t.Errorf("the metrics name %s: %s", hidden, text)
		}
	}
}

// TestSharedVIMs checks that the settings determine the tenants that may use a VIM, also a VIM that an operation has registered.
func TestSharedVIMs(t *testing.T) {
	t.Parallel()
	v, _ := newTenants(t, "vims: [{id: for-north, type: sandbox, share: [north]}, {id: for-east, type: sandbox, share: [east, north]}, {id: for-nobody, type: sandbox, share: []}, {id: not-there, share: all}]")
	ctx := t.Context()
	usable := func() map[string][]string {
		out := map[string][]string{}
		list, err := v.VIMs().List(ctx)
		must(t, err)
		for _, tenant := range []string{"", "north", "east", "south"} {
			for _, vim := range list {
				if vim.UsableBy(tenant) {
					out[tenant] = append(out[tenant], vim.VimID)
				}
			}
			if byDefault, err := v.VIMs().Default(ctx, tenant, "sandbox"); err == nil {
				out[tenant] = append(out[tenant], "default "+byDefault.VimID)
			}
		}
		return out
	}
	want := map[string][]string{
		"":      {"for-east", "for-nobody", "for-north", "sandbox", "default for-north"},
		"north": {"for-east", "for-north", "sandbox", "default for-north"},
		"east":  {"for-east", "sandbox", "default for-east"},
		"south": {"sandbox"},
	}
	if diff := cmp.Diff(want, usable()); diff != "" {
		t.Error(diff)
	}

	cluster, err := v.Create(ctx, vnflcm.CreateVnfRequest{VnfdID: sampleVNFD})
	must(t, err)
	request, err := samples.Request(filepath.Join(samples.Package("k8s-cluster"), "requests", "instantiate_sandbox.json"), nil)
	must(t, err)
	operation, err := v.Instantiate(ctx, cluster.ID, request)
	must(t, err)
	_, err = v.Wait(ctx, operation)
	must(t, err)
	chart, err := samples.Request(filepath.Join(samples.Package("cnf"), "requests", "instantiate_chart.json"), nil)
	must(t, err)
	chart.VimConnectionInfo = vnflcm.VimConnections{{VimID: kubeadm.VIMID(cluster.ID), VimType: "kubernetes"}}
	accepted := func(tenant string) bool {
		cnf, err := v.Create(ctx, vnflcm.CreateVnfRequest{VnfdID: cnfVNFD, Tenant: tenant})
		must(t, err)
		_, err = v.Preview(ctx, cnf.ID, chart)
		if err != nil && !strings.Contains(err.Error(), "is no registered VIM") {
			t.Errorf("tenant %q: %v", tenant, err)
		}
		return err == nil
	}
	for _, c := range []struct {
		share *shareConfig
		want  map[string]bool
	}{
		{nil, map[string]bool{"": true, "north": false, "south": false}},
		{&shareConfig{Tenants: []string{"north"}}, map[string]bool{"": true, "north": true, "south": false}},
		{&shareConfig{All: true}, map[string]bool{"": true, "north": true, "south": true}},
		{&shareConfig{}, map[string]bool{"": true, "north": false, "south": false}},
	} {
		if c.share != nil {
			must(t, v.shareCluster(ctx, vimConfig{ID: kubeadm.VIMID(cluster.ID), Share: c.share}))
		}
		got := map[string]bool{}
		for tenant := range c.want {
			got[tenant] = accepted(tenant)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("shared with %+v:\n%s", c.share, diff)
		}
	}
}
