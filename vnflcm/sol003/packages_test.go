package sol003_test

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/onboarding"
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
	"github.com/vnfkit/vnfkit/vnflcm/sol003"
	"github.com/vnfkit/vnfkit/vnflcm/sol003/notify"
)

const (
	pkgs1 = "/vnfpkgm/v1/vnf_packages"
	pkgs2 = "/vnfpkgm/v2/vnf_packages"

	maxPackage = 32 << 20 // bytes
)

// binary is an artifact that is not a text.
var binary = bytes.Repeat([]byte{0, 0xff, 0xfe, 'x'}, 50<<10)

// csarOf returns a CSAR of the toy package with a VNFD id, with a manifest and artifacts.
func csarOf(t *testing.T, vnfdID string) []byte {
	t.Helper()
	return csarWith(t, vnfdID, func(text string) string { return text })
}

// csarWith returns the package of csarOf with changed files of the toy package.
func csarWith(t *testing.T, vnfdID string, change func(string) string) []byte {
	t.Helper()
	files := fstest.MapFS{"Files/license.txt": {Data: []byte("free")}, "Files/data.bin": {Data: binary}, "Files/tests/a.sh": {Data: []byte("exit")}, "Files/unnamed": {Data: []byte("x")}}
	for name, file := range toyPackage {
		files[name] = &fstest.MapFile{Data: []byte(change(strings.ReplaceAll(string(file.Data), toyVNFD, vnfdID)))}
	}
	meta := files["TOSCA-Metadata/TOSCA.meta"]
	meta.Data = append(meta.Data, "ETSI-Entry-Manifest: top.mf\n"...)
	manifest := "metadata:\n  vnf_product_name: Toy\n  vnf_provider_id: Toys\n  vnf_package_version: '1.0'\n  vnf_release_date_time: 2026-01-01T00:00:00Z\n\n"
	for _, name := range []string{"TOSCA-Metadata/TOSCA.meta", "Definitions/top.yaml", "Definitions/simple.yaml", "Files/license.txt", "Files/data.bin"} {
		sum := sha256.Sum256(files[name].Data)
		manifest += fmt.Sprintf("Source: %s\nAlgorithm: SHA-256\nHash: %s\n\n", name, hex.EncodeToString(sum[:]))
	}
	manifest += "non_mano_artifact_sets:\n  prv.toys.tests:\n    Source: Files/tests/a.sh\n"
	files["top.mf"] = &fstest.MapFile{Data: []byte(manifest)}
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	must(t, errors.Join(w.AddFS(files), w.Close()))
	return out.Bytes()
}

// newOnboarding starts a VNFM that onboards packages.
func newOnboarding(t *testing.T, options sol003.Options) *vnfm {
	t.Helper()
	return newOnboardingWith(t, options, false)
}

// newOnboardingWith starts a VNFM that onboards packages, and sends notifications if notifies is set.
func newOnboardingWith(t *testing.T, options sol003.Options, notifies bool) *vnfm {
	t.Helper()
	repository, err := onboarding.New(filepath.Join(t.TempDir(), "onboarded"), onboarding.Options{Allow: outbound.AllowAny, AllowHTTP: true, MinFree: 1, MaxSize: maxPackage})
	must(t, err)
	options.Packages = repository
	x := newVNFMWith(t, func(c *vnflcm.Config) { c.Packages = repository }, options, func(m *vnflcm.Manager, o *sol003.Options) sol003.Manager {
		if notifies {
			n := notify.New(m, notify.Options{Allow: outbound.AllowAny})
			o.Subscriptions = n
			send(t, n)
		}
		return m
	})
	x.packages = repository
	t.Cleanup(x.runPackages())
	return x
}

// runPackages checks packages until the returned function is called.
func (x *vnfm) runPackages() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := x.packages.Run(ctx); !errors.Is(err, context.Canceled) && !errors.Is(err, vnflcm.ErrShutdown) {
			x.t.Errorf("Run: %v", err)
		}
	})
	return func() { cancel(); wg.Wait() }
}

// newPackage creates a package and returns its URI.
func (x *vnfm) newPackage(header ...string) string {
	x.t.Helper()
	return x.send("POST", pkgs1, `{}`, 201, header...).Header.Get("Location")
}

// upload uploads a content and waits until the package has a state of version 2.
func (x *vnfm) upload(uri string, content []byte, want string, header ...string) answer {
	x.t.Helper()
	x.send("PUT", uri+"/package_content", string(content), 202, append(header, "Content-Type", "application/zip")...)
	return x.awaitPackage(uri, want, header...)
}

func (x *vnfm) awaitPackage(uri, want string, header ...string) answer {
	x.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		a := x.send("GET", strings.Replace(uri, "/v1/", "/v2/", 1), "", 200, header...)
		switch state := a.object()["onboardingState"]; {
		case state == want:
			return a
		case state == "ERROR" || time.Now().After(deadline):
			x.t.Fatalf("the package is %v, not %s: %s", state, want, a.body)
		}
	}
}

// TestPackageLife creates, uploads, uses, disables and deletes a package.
func TestPackageLife(t *testing.T) {
	t.Parallel()
	x := newOnboarding(t, sol003.Options{})
	created := x.send("POST", pkgs1, `{"userDefinedData":{"site":"north","rack":"7"}}`, 201)
	uri := created.Header.Get("Location")
	id, _ := created.object()["id"].(string)
	if diff := cmp.Diff([]any{x.http.URL + pkgs1 + "/" + id, "CREATED", "DISABLED", "NOT_IN_USE", object{"site": "north", "rack": "7"}},
		[]any{uri, created.object()["onboardingState"], created.object()["operationalState"], created.object()["usageState"], created.object()["userDefinedData"]}); diff != "" {
		t.Errorf("the new package:\n%s", diff)
	}
	wantLinks(t, created, "packageContent", "self")
	for _, path := range []string{"/package_content", "/vnfd", "/artifacts/Files/license.txt"} {
		x.send("GET", uri+path, "", 409)
	}
	x.send("PATCH", uri, `{"operationalState":"ENABLED"}`, 409)

	csar := csarOf(t, toyVNFD)
	done := x.upload(uri, csar, "ONBOARDED")
	sum := sha256.Sum256(csar)
	want := object{"id": id, "vnfdId": toyVNFD, "vnfProvider": "Toys", "vnfProductName": "Toy", "vnfSoftwareVersion": "1.2", "vnfdVersion": "1.0",
		"onboardingState": "ONBOARDED", "operationalState": "ENABLED", "usageState": "NOT_IN_USE", "packageSecurityOption": "OPTION_1",
		"vnfmInfo": array{"0:vnfkit"}, "checksum": object{"algorithm": "SHA-256", "hash": hex.EncodeToString(sum[:])}}
	got := object{}
	for name := range want {
		got[name] = done.object()[name]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the onboarded package:\n%s", diff)
	}
	wantLinks(t, done, "packageContent", "self", "vnfd")
	x.send("PUT", uri+"/package_content", "x", 409, "Content-Type", "application/zip")
	x.send("DELETE", uri, "", 409) // ENABLED

	instance := x.create("v2")
	if usage := x.send("GET", uri, "", 200).object()["usageState"]; usage != "IN_USE" {
		t.Errorf("with an instance: %v", usage)
	}
	changed := x.send("PATCH", uri, `{"operationalState":"DISABLED","userDefinedData":{"rack":null,"room":"2"}}`, 200, "Content-Type", "application/merge-patch+json", "Accept", "application/merge-patch+json")
	if diff := cmp.Diff(object{"operationalState": "DISABLED", "userDefinedData": object{"site": "north", "room": "2"}}, changed.object()); diff != "" {
		t.Errorf("the modification:\n%s", diff)
	}
	x.send("PATCH", uri, `{"operationalState":"DISABLED"}`, 409) // the package is already DISABLED
	x.send("DELETE", uri, "", 409)                               // IN_USE
	x.send("POST", "/vnflcm/v2/vnf_instances", `{"vnfdId":"`+toyVNFD+`"}`, 422)
	x.begin(instance+"/instantiate", instantiate, vnflcm.Completed) // the instance keeps its package
	x.begin(instance+"/terminate", `{"terminationType":"FORCEFUL"}`, vnflcm.Completed)
	x.send("DELETE", instance, "", 204)
	x.send("DELETE", uri, "", 204)
	x.send("GET", uri, "", 404)
	x.send("DELETE", uri, "", 404)
}

// TestPackageFailure checks that a faulty package has the reason of the failure and can be uploaded again. Version 1 has no state ERROR.
func TestPackageFailure(t *testing.T) {
	t.Parallel()
	x := newOnboarding(t, sol003.Options{})
	uri := x.newPackage()
	failed := x.upload(uri, []byte("no archive"), "ERROR")
	details, _ := failed.object()["onboardingFailureDetails"].(object)
	if details["detail"] == "" || details["status"] == nil {
		t.Errorf("the reason: %v", details)
	}
	v1 := x.send("GET", uri, "", 200).object()
	if diff := cmp.Diff([]any{"CREATED", details}, []any{v1["onboardingState"], v1["onboardingFailureDetails"]}); diff != "" {
		t.Errorf("version 1:\n%s", diff)
	}
	x.upload(uri, csarOf(t, toyVNFD), "ONBOARDED")
	if left := x.send("GET", uri, "", 200).object()["onboardingFailureDetails"]; left != nil {
		t.Errorf("after another upload: %v", left)
	}
	x.send("PUT", x.newPackage()+"/package_content", "x", 415, "Content-Type", "text/plain")
	x.send("PUT", pkgs1+"/unknown/package_content", "x", 404, "Content-Type", "application/zip")
}

// TestPackageFiles reads the files of a package with all requests for files.
func TestPackageFiles(t *testing.T) {
	t.Parallel()
	x := newOnboarding(t, sol003.Options{})
	csar := csarOf(t, toyVNFD)
	v1 := x.newPackage()
	x.upload(v1, csar, "ONBOARDED")
	v2 := strings.Replace(v1, "/v1/", "/v2/", 1)
	for _, uri := range []string{v1, v2, "/vnfpkgm/v2/onboarded_vnf_packages/" + toyVNFD} {
		content := x.send("GET", uri+"/package_content", "", 200)
		tag := content.Header.Get("ETag")
		if !bytes.Equal([]byte(content.body), csar) || tag == "" || content.Header.Get("Content-Type") != "application/zip" {
			t.Errorf("%s: %d bytes, %v", uri, len(content.body), content.Header)
		}
		for _, file := range []struct {
			path, media string
			content     []byte
		}{{"/package_content", "application/zip", csar}, {"/artifacts/Files/data.bin", "application/octet-stream", binary}} {
			size := len(file.content)
			for header, want := range map[string][2]int{"bytes=0-9": {0, 10}, "bytes=100-": {100, size}, "bytes=-7": {size - 7, size}, "bytes=5-999999999": {5, size}, "items=1-2": {0, size},
				fmt.Sprintf("bytes=%d-", size): {-1}, "bytes=0-1,5-6": {-2}, "bytes=x": {-2}, "bytes=9-1": {-2}} {
				status := map[int]int{-1: 416, -2: 400, 0: 206}[min(want[0], 0)]
				if strings.HasPrefix(header, "items") {
					status = 200
				}
				got := x.send("GET", uri+file.path, "", status, "Range", header, "If-Range", tag)
				switch {
				case status == 416 && got.Header.Get("Content-Range") != fmt.Sprintf("bytes */%d", size):
					t.Errorf("%s: %v", header, got.Header)
				case status < 300 && (got.body != string(file.content[want[0]:want[1]]) || got.Header.Get("Content-Type") != file.media):
					t.Errorf("%s %s: %d bytes, %v", file.path, header, len(got.body), got.Header)
				}
			}
			x.send("GET", uri+file.path, "", 200, "Range", "bytes=0-9", "If-Range", `"other"`)
			x.send("GET", uri+file.path, "", 304, "If-None-Match", tag)
			if head := x.send("HEAD", uri+file.path, "", 200); head.ContentLength != int64(size) {
				t.Errorf("HEAD: %d bytes", head.ContentLength)
			}
		}
		x.send("GET", uri+"/artifacts/Files/license.txt", "", 200, "Accept", "application/json") // the header of Tacker's client
		for _, path := range []string{"/artifacts/Files/unnamed", "/artifacts/Files", "/artifacts/none", "/artifacts/..%2fFiles%2flicense.txt"} {
			x.send("GET", uri+path, "", 404)
		}
		for accept, want := range map[string]int{"": 200, "application/zip": 200, "text/plain,application/zip": 200, "*/*": 200, "text/plain": 406, "application/json": 406} {
			got := x.send("GET", uri+"/vnfd", "", want, "Accept", accept)
			if want == 200 {
				wantZip(t, got, "Definitions/simple.yaml", "Definitions/top.yaml", "TOSCA-Metadata/TOSCA.meta")
			}
		}
	}
	x.send("GET", v1+"/manifest", "", 404)
	x.send("GET", v1+"/vnfd?include_signatures", "", 400)
	wantZip(t, x.send("GET", v2+"/vnfd?include_signatures", "", 200), "Definitions/simple.yaml", "Definitions/top.yaml", "TOSCA-Metadata/TOSCA.meta", "top.mf")
	if manifest := x.send("GET", v2+"/manifest", "", 200); !strings.Contains(manifest.body, "Source: Files/data.bin") || manifest.Header.Get("Content-Type") != "text/plain" {
		t.Errorf("the manifest: %v %s", manifest.Header, manifest.body)
	}
	x.send("GET", v2+"/manifest", "", 406, "Accept", "application/zip")
	for query, want := range map[string][]string{
		"": {"Files/data.bin", "Files/license.txt", "Files/tests/a.sh"}, "exclude_all_mano_artifacts": {"Files/tests/a.sh"}, "exclude_all_non_mano_artifacts": {"Files/data.bin", "Files/license.txt"},
		"select_non_mano_artifact_sets=prv.toys.tests": {"Files/data.bin", "Files/license.txt", "Files/tests/a.sh"}, "select_non_mano_artifact_sets=none": {"Files/data.bin", "Files/license.txt"},
		"include_signatures&exclude_all_mano_artifacts": {"Files/tests/a.sh", "top.mf"},
	} {
		wantZip(t, x.send("GET", v2+"/artifacts?"+query, "", 200), want...)
	}
	x.send("GET", v2+"/artifacts?include_external_artifacts", "", 501)
	x.send("GET", v2+"/artifacts?exclude_all_non_mano_artifacts&select_non_mano_artifact_sets=a", "", 400)
	x.send("GET", v2+"/artifacts?unknown", "", 400)
	wantZip(t, x.send("GET", v2+"/artifacts/Files/data.bin?include_signatures", "", 200), "Files/data.bin", "top.mf")
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
		x.send(method, v2, "{}", 405)
	}
}

// TestVnfdInOneFile reads a VNFD that is one file.
func TestVnfdInOneFile(t *testing.T) {
	t.Parallel()
	x := newOnboarding(t, sol003.Options{})
	const vnfd = `tosca_definitions_version: tosca_simple_yaml_1_2
node_types:
  toy.VNF: {derived_from: tosca.nodes.nfv.VNF}
topology_template:
  substitution_mappings: {node_type: toy.VNF, properties: {flavour_id: simple}}
  node_templates:
    VNF:
      type: toy.VNF
      properties: {descriptor_id: ` + toyVNFD + `, descriptor_version: '1.0', provider: Toys, product_name: Toy, software_version: '1.2', vnfm_info: ['0:vnfkit'], flavour_id: simple, flavour_description: a toy}
`
	var csar bytes.Buffer
	w := zip.NewWriter(&csar)
	must(t, errors.Join(w.AddFS(fstest.MapFS{"vnfd.yaml": {Data: []byte(vnfd)}}), w.Close()))
	uri := x.newPackage()
	x.upload(uri, csar.Bytes(), "ONBOARDED")
	for accept, want := range map[string]string{"text/plain": "text/plain", "text/plain,application/zip": "text/plain", "": "text/plain", "application/zip": "application/zip"} {
		got := x.send("GET", uri+"/vnfd", "", 200, "Accept", accept)
		if got.Header.Get("Content-Type") != want || want == "text/plain" && got.body != vnfd {
			t.Errorf("%q: %v %s", accept, got.Header, got.body)
		}
	}
	x.send("GET", strings.Replace(uri, "/v1/", "/v2/", 1)+"/manifest", "", 404)
}

func wantZip(t *testing.T, a answer, want ...string) {
	t.Helper()
	r, err := zip.NewReader(strings.NewReader(a.body), int64(len(a.body)))
	must(t, err)
	var names []string
	for _, f := range r.File {
		names = append(names, f.Name)
		content, err := f.Open()
		must(t, err)
		_, err = io.Copy(io.Discard, content) //nolint:gosec // the archive is from the tested VNFM
		must(t, err)
	}
	slices.Sort(names)
	if diff := cmp.Diff(want, names); diff != "" || a.Header.Get("Content-Type") != "application/zip" {
		t.Errorf("%s: %s\n%s", a.Request.URL, a.Header.Get("Content-Type"), diff)
	}
}

// TestPackageLists reads lists with filters, selectors and pages.
func TestPackageLists(t *testing.T) {
	t.Parallel()
	x := newOnboarding(t, sol003.Options{PageSize: 2})
	var all []string
	for i := range 5 {
		uri := x.send("POST", pkgs1, fmt.Sprintf(`{"userDefinedData":{"number":"%d"}}`, i), 201).Header.Get("Location")
		all = append(all, uri[strings.LastIndex(uri, "/")+1:])
		if i == 0 {
			x.upload(uri, csarOf(t, toyVNFD), "ONBOARDED")
		}
	}
	onboarded, third := all[0], all[3]
	slices.Sort(all)
	read := func(uri string) (ids []string) {
		t.Helper()
		for uri != "" {
			page := x.send("GET", uri, "", 200)
			ids = append(ids, page.ids()...)
			uri, _, _ = strings.Cut(strings.TrimPrefix(page.Header.Get("Link"), "<"), ">")
		}
		return ids
	}
	for query, want := range map[string][]string{
		"": all, "?filter=(eq,vnfdId," + toyVNFD + ")": {onboarded}, "?filter=(eq,onboardingState,CREATED)": slices.DeleteFunc(slices.Clone(all), func(id string) bool { return id == onboarded }),
		"?filter=(eq,userDefinedData/number,3)": {third}, "?filter=(eq,vnfProductName,Toy);(neq,id," + onboarded + ")": nil, "?all_records=yes": all,
	} {
		for _, uri := range []string{pkgs1, pkgs2} {
			if diff := cmp.Diff(want, read(uri+query)); diff != "" {
				t.Errorf("%s:\n%s", query, diff)
			}
		}
	}
	if diff := cmp.Diff([]string{onboarded}, read("/vnfpkgm/v2/onboarded_vnf_packages")); diff != "" {
		t.Errorf("onboarded packages:\n%s", diff)
	}
	if page := x.send("GET", pkgs1+"?all_records=yes", "", 200); len(page.ids()) != 5 || page.Header.Get("Link") != "" {
		t.Errorf("all records: %v %s", page.ids(), page.Header.Get("Link"))
	}
	item := func(query string) object {
		t.Helper()
		list, _ := x.send("GET", pkgs1+"?filter=(eq,id,"+onboarded+")"+query, "", 200).tree.(array)
		if len(list) != 1 {
			t.Fatalf("%s: %v", query, list)
		}
		return list[0].(object)
	}
	complexes := []string{"additionalArtifacts", "checksum", "userDefinedData"}
	for query, want := range map[string][]string{"": nil, "&exclude_default": nil, "&all_fields": complexes, "&fields=checksum": {"checksum"}, "&exclude_fields=checksum": {"additionalArtifacts", "userDefinedData"},
		"&exclude_default&fields=userDefinedData": {"userDefinedData"}} {
		var got []string
		for _, name := range complexes {
			if _, has := item(query)[name]; has {
				got = append(got, name)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q:\n%s", query, diff)
		}
	}
	for _, bad := range []string{"?filter=(eq,none,1)", "?fields=none", "?all_fields&fields=checksum", "?unknown"} {
		x.send("GET", pkgs1+bad, "", 400)
	}
	x.send("GET", "/vnfpkgm/api_versions", "", 200)
	x.send("GET", "/vnfpkgm/v1/api_versions", "", 200)
	x.send("GET", "/vnfpkgm/v2/api_versions", "", 200)
	x.send("GET", "/vnfpkgm/v2/onboarded_vnf_packages/none", "", 404)
	x.send("GET", pkgs1, "", 406, "Version", "2.1.0")
}

// TestUploadFromURI fetches a package.
func TestUploadFromURI(t *testing.T) {
	t.Parallel()
	x := newOnboarding(t, sol003.Options{})
	csar := csarOf(t, toyVNFD)
	source := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "u" || password != canary {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = w.Write(csar)
	}))
	t.Cleanup(source.Close)
	uri := x.newPackage()
	x.send("POST", uri+"/package_content/upload_from_uri", `{"addressInformation":"ftp://x/"}`, 422)
	x.send("POST", uri+"/package_content/upload_from_uri", `{"addressInformation":"`+source.URL+`","userName":"u","password":"wrong"}`, 202)
	x.awaitPackage(uri, "ERROR")
	x.send("POST", uri+"/package_content/upload_from_uri", `{"addressInformation":"`+source.URL+`","userName":"u","password":"`+canary+`"}`, 202)
	x.awaitPackage(uri, "ONBOARDED")
	x.send("POST", uri+"/package_content/upload_from_uri", `{"addressInformation":"`+source.URL+`"}`, 409)
}

// TestSharedPackages checks that every tenant can read a package without a tenant, and that no tenant can change it.
func TestSharedPackages(t *testing.T) {
	t.Parallel()
	x := newOnboarding(t, sol003.Options{Authorize: func(r *http.Request) (sol003.Principal, error) {
		return sol003.Principal{Tenant: r.Header.Get("X-Tenant")}, nil
	}})
	uri := x.newPackage()
	x.upload(uri, csarOf(t, toyVNFD), "ONBOARDED")
	as := []string{"X-Tenant", "north"}
	for _, path := range []string{"", "/package_content", "/vnfd", "/artifacts/Files/license.txt"} {
		x.send("GET", uri+path, "", 200, as...)
	}
	x.send("GET", "/vnfpkgm/v2/onboarded_vnf_packages/"+toyVNFD, "", 200, as...)
	if list := x.send("GET", pkgs1, "", 200, as...); len(list.ids()) != 1 {
		t.Errorf("the list: %v", list.ids())
	}
	x.send("PATCH", uri, `{"operationalState":"DISABLED"}`, 403, as...)
	x.send("DELETE", uri, "", 403, as...)
	x.send("PUT", uri+"/package_content", "x", 403, append(as, "Content-Type", "application/zip")...)
	x.send("POST", uri+"/package_content/upload_from_uri", `{"addressInformation":"https://example.com/"}`, 403, as...)

	own := x.newPackage(as...)
	x.upload(own, csarOf(t, toyVNFD), "ONBOARDED", as...) // with the same VNFD id
	if got := x.send("GET", "/vnfpkgm/v2/onboarded_vnf_packages/"+toyVNFD, "", 200, as...).object()["id"]; got != own[strings.LastIndex(own, "/")+1:] {
		t.Errorf("the tenant's package is %v", got)
	}
}

// TestNoVnfmInfo checks that vnfmInfo in a notification is an empty list, and not absent, if the VNFD names no VNFM.
func TestNoVnfmInfo(t *testing.T) {
	t.Parallel()
	x := newOnboardingWith(t, sol003.Options{}, true)
	nfvo := newSubscriber(t, nil)
	x.send("POST", "/vnfpkgm/v2/subscriptions", fmt.Sprintf(`{"callbackUri":"%s/x"}`, nfvo.URL), 201)
	x.upload(x.newPackage(), csarWith(t, toyVNFD, func(text string) string { return strings.ReplaceAll(text, "vnfm_info: ['0:vnfkit']", "vnfm_info: []") }), "ONBOARDED")
	nfvo.told(t, 1)
	nfvo.mu.Lock()
	defer nfvo.mu.Unlock()
	if info, isList := nfvo.got[0]["vnfmInfo"].([]any); !isList || len(info) > 0 {
		t.Errorf("vnfmInfo is %v", nfvo.got[0]["vnfmInfo"])
	}
}

// TestPackageNotifications compares the notifications of a package's life with its changes.
func TestPackageNotifications(t *testing.T) {
	t.Parallel()
	x := newOnboardingWith(t, sol003.Options{}, true)
	nfvo := newSubscriber(t, nil)
	const body = `{"callbackUri":"%s/%s"%s}`
	for api, filter := range map[string]string{
		"v1": `,"filter":{"vnfdId":["` + toyVNFD + `"],"vnfProductsFromProviders":[{"vnfProvider":"Toys"}]}`,
		"v2": `,"filter":{"notificationTypes":["VnfPackageChangeNotification"],"operationalState":"DISABLED","vnfmInfo":["0:vnfkit"]}`} {
		made := x.send("POST", "/vnfpkgm/"+api+"/subscriptions", fmt.Sprintf(body, nfvo.URL, api, filter), 201)
		uri := made.Header.Get("Location")
		x.send("POST", "/vnfpkgm/"+api+"/subscriptions", fmt.Sprintf(body, nfvo.URL, api, filter), 303)
		x.send("GET", uri, "", 200)
		x.send("GET", strings.Replace(uri, "/vnfpkgm/", "/vnflcm/", 1), "", 404)
		if list := x.send("GET", "/vnfpkgm/"+api+"/subscriptions", "", 200); !slices.Contains(list.ids(), uri[strings.LastIndex(uri, "/")+1:]) {
			t.Errorf("the list: %v", list.ids())
		}
		if list := x.send("GET", "/vnflcm/"+api+"/subscriptions", "", 200); len(list.ids()) != 0 {
			t.Errorf("the list of the other API: %v", list.ids())
		}
	}
	x.send("POST", "/vnfpkgm/v1/subscriptions", fmt.Sprintf(body, nfvo.URL, "x", `,"filter":{"notificationTypes":["VnfIdentifierCreationNotification"],"operationalState":"ON"}`), 422)
	lists := x.send("POST", "/vnfpkgm/v1/subscriptions", fmt.Sprintf(body, nfvo.URL, "lists", `,"filter":{"operationalState":["ENABLED"],"vnfPkgId":["none"]}`), 201)
	if got := x.send("GET", lists.Header.Get("Location"), "", 200).object()["filter"].(object)["operationalState"]; got != "ENABLED" {
		t.Errorf("operationalState of the filter is %v", got)
	}
	x.send("POST", "/vnfpkgm/v1/subscriptions", fmt.Sprintf(body, nfvo.URL, "x", `,"filter":{"operationalState":["ENABLED","ON"]}`), 422)
	uri := x.newPackage()
	x.upload(uri, csarOf(t, toyVNFD), "ONBOARDED")
	x.send("PATCH", uri, `{"operationalState":"DISABLED"}`, 200)
	x.send("DELETE", uri, "", 204)
	nfvo.told(t, 5)
	nfvo.mu.Lock()
	defer nfvo.mu.Unlock()
	got := map[string][]string{}
	for _, d := range nfvo.got {
		href := fmt.Sprint(d["_links"].(object)["vnfPackage"].(object)["href"])
		api := strings.Split(strings.TrimPrefix(href, x.http.URL+"/vnfpkgm/"), "/")[0]
		got[api] = append(got[api], fmt.Sprint(d["notificationType"], " ", d["changeType"], " ", d["operationalState"]))
	}
	want := map[string][]string{"v1": {"VnfPackageOnboardingNotification <nil> <nil>", "VnfPackageChangeNotification OP_STATE_CHANGE DISABLED", "VnfPackageChangeNotification PKG_DELETE <nil>"},
		"v2": {"VnfPackageChangeNotification OP_STATE_CHANGE DISABLED", "VnfPackageChangeNotification PKG_DELETE <nil>"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
