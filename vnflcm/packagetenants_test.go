package vnflcm_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// namedToy returns the toy package with this product and VNFD id.
func namedToy(id, product string) fstest.MapFS {
	files := otherToy(id)
	for name, file := range files {
		files[name] = &fstest.MapFile{Data: []byte(strings.ReplaceAll(string(file.Data), "Toys", product))}
	}
	return files
}

// TestPackagesOfTenants checks that the same VNFD id can be a different package for each tenant, and that packages of other tenants do not
// exist for a tenant.
func TestPackagesOfTenants(t *testing.T) {
	t.Parallel()
	const both, onlyA, shared = "00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002", "00000000-0000-4000-8000-000000000003"
	dir := t.TempDir()
	for _, tenant := range []string{"a", "b", ".hidden", "é"} {
		must(t, os.MkdirAll(filepath.Join(dir, "tenants", tenant), 0o700))
		place(t, filepath.Join(dir, "tenants", tenant), "own.csar", namedToy(both, "of "+tenant))
	}
	place(t, filepath.Join(dir, "tenants", "a"), "only.csar", namedToy(onlyA, "of a"))
	must(t, os.WriteFile(filepath.Join(dir, "tenants", "a", "secret.csar"), []byte("no zip"), 0o600))
	place(t, dir, "both", namedToy(both, "shared"))
	place(t, dir, "common.csar", namedToy(shared, "shared"))
	for link, target := range map[string]string{"tenants/b/stolen.csar": "../a/only.csar", "tenants/b/up.csar": "../../common.csar", "linked.csar": "tenants/a/only.csar", "tenants/linked": "a", "folder": "tenants/a"} {
		must(t, os.Symlink(target, filepath.Join(dir, link)))
	}
	x := newToys(t, onPackages(vnflcm.DirPackages(dir)))
	provider := func(tenant, vnfd string) string {
		inst, err := x.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: vnfd, Tenant: tenant})
		if err != nil {
			wantIs(t, err, vnflcm.ErrNoPackage)
			if strings.Contains(err.Error(), "secret") != (tenant == "a") {
				t.Errorf("tenant %q: %v", tenant, err)
			}
			_, unknown := x.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: "unknown", Tenant: tenant})
			if want := strings.ReplaceAll(fmt.Sprint(unknown), "unknown", vnfd); err.Error() != want {
				t.Errorf("tenant %q: %v\nwant %s", tenant, err, want)
			}
			return ""
		}
		return inst.VnfProvider
	}
	got := map[string][]string{}
	for _, tenant := range []string{"a", "b", "", "c", "A", "../tenants/a", "a/", "./a", "/", "..", ".", ".hidden", "a\x00", "linked", "é", "e\u0301", "ａ"} {
		got[tenant] = []string{provider(tenant, both), provider(tenant, onlyA), provider(tenant, shared)}
	}
	others := []string{"shared", "", "shared"}
	want := map[string][]string{"a": {"of a", "of a", "shared"}, "b": {"of b", "", "shared"}, "é": {"of é", "", "shared"}}
	for tenant := range got {
		if want[tenant] == nil {
			want[tenant] = others
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("providers:\n%s", diff)
	}
}

// TestListPackages lists packages of all tenants, with the faults of those that cannot be read.
func TestListPackages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "tenants", "a"), 0o700))
	place(t, filepath.Join(dir, "tenants", "a"), "own.csar", namedToy("vnfd-a", "of a"))
	place(t, dir, "common.csar", namedToy("vnfd-all", "shared"))
	must(t, os.WriteFile(filepath.Join(dir, "broken.csar"), []byte("no zip"), 0o600))
	place(t, dir, "faulty", fstest.MapFS{"a.yaml": {Data: []byte("tosca_definitions_version: tosca_simple_yaml_1_2\na: 1\na: 2\nb: 1\nb: 2\n")}})
	lister, able := vnflcm.DirPackages(dir).(vnflcm.PackageLister)
	if !able {
		t.Fatal("DirPackages is no PackageLister")
	}
	list, err := lister.ListPackages(t.Context())
	must(t, err)
	var got []string
	for _, p := range list {
		got = append(got, strings.Join([]string{p.Name, p.Tenant, p.VnfdID}, " "))
		if unreadable := p.VnfdID == ""; unreadable != (p.Fault != "") || strings.Contains(p.Fault, dir) {
			t.Errorf("%+v", p)
		}
		if p.Name == "faulty" && strings.Count(p.Fault, "\n") < 1 {
			t.Errorf("not every fault: %s", p.Fault)
		}
	}
	if diff := cmp.Diff([]string{"broken.csar  ", "common.csar  vnfd-all", "faulty  ", "own.csar a vnfd-a"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestPackageOfTenantStays checks that an instance keeps its package if its tenant gets another package with the same VNFD, or loses the
// package.
func TestPackageOfTenantStays(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	own := filepath.Join(dir, "tenants", "a")
	place(t, dir, "toy.csar", toyFS("cluster"))
	x := newToys(t, onPackages(vnflcm.DirPackages(dir)))
	instantiate := func() string {
		id := x.createFor("a")
		_, _ = x.instantiate(id, "plain", vnflcm.Completed)
		return id
	}
	ofShared := instantiate()
	must(t, os.MkdirAll(own, 0o700))
	place(t, own, "toy.csar", changedToy())
	ofOwn := instantiate()
	x.operate(ofShared)
	place(t, own, "second.csar", otherToy(toyVNFD))
	_, err := x.Create(context.Background(), vnflcm.CreateVnfRequest{VnfdID: toyVNFD, Tenant: "a"})
	wantText(t, err, "several packages", "second.csar")
	if p := vnflcm.Problem(err); p.Status != http.StatusConflict {
		t.Errorf("status %d", p.Status)
	}
	x.createFor("b")
	must(t, os.Rename(own, filepath.Join(dir, "tenants", "b")))
	_, err = x.Heal(t.Context(), ofOwn, vnflcm.HealVnfRequest{})
	wantIs(t, err, vnflcm.ErrPackageChanged)
	must(t, os.Rename(filepath.Join(dir, "tenants", "b"), own))
	x.operate(ofOwn)
}
