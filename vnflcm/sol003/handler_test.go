package sol003_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/sol003"
	"github.com/vnfkit/vnfkit/vnflcm/sol003/notify"
)

var versions = []string{"v1", "v2"}

// TestLife runs all operations of a VNF in both versions of the API.
func TestLife(t *testing.T) {
	t.Parallel()
	for _, api := range versions {
		t.Run(api, func(t *testing.T) {
			t.Parallel()
			x := newVNFM(t, nil, sol003.Options{})
			uri := x.create(api)
			created := x.send("GET", uri, "", 200)
			wantLinks(t, created, "instantiate", "self")

			done := x.begin(uri+"/instantiate", instantiate, vnflcm.Completed)
			wantLinks(t, done, "self", "vnfInstance")
			running := x.send("GET", uri, "", 200)
			wantLinks(t, running, "changeExtConn", "heal", "operate", "scale", "scaleToLevel", "self", "terminate")
			if created.Header.Get("ETag") == running.Header.Get("ETag") {
				t.Error("the entity tag does not change with the instance")
			}
			_, isMap := running.object()["vimConnectionInfo"].(object)
			if isMap != (api == "v2") {
				t.Errorf("vimConnectionInfo: %v", running.object()["vimConnectionInfo"])
			}
			for href, link := range map[string]string{"/instantiate": "instantiate", "/heal": "heal", "/scale": "scale", "/scale_to_level": "scaleToLevel"} {
				if l, ok := running.object()["_links"].(object)[link].(object); ok && l["href"] != uri+href {
					t.Errorf("link %s: %v", link, l)
				}
			}

			x.begin(uri+"/scale", `{"type":"SCALE_OUT","aspectId":"workers","additionalParams":{"pin":"`+canary+`"}}`, vnflcm.Completed)
			x.begin(uri+"/scale_to_level", `{"scaleInfo":[{"aspectId":"workers","scaleLevel":2}]}`, vnflcm.Completed)
			x.begin(uri+"/heal", `{"cause":"alarm","vnfcInstanceId":["worker-0"]}`, vnflcm.Completed)
			x.begin(uri+"/change_ext_conn", `{"extVirtualLinks":[{"id":"l","resourceId":"net","extCps":[{"cpdId":"worker_cp"}]}]}`, vnflcm.Completed)
			modified := x.send("PATCH", uri, `{"vnfInstanceName":"renamed","metadata":{"site":null,"rack":"7"},"extensions":{"token":"`+canary+`"}}`, 202)
			x.await(modified.Header.Get("Location"), vnflcm.Completed)
			now := x.send("GET", uri, "", 200).object()
			if diff := cmp.Diff([]any{"renamed", object{"rack": "7"}}, []any{now["vnfInstanceName"], now["metadata"]}); diff != "" {
				t.Errorf("after PATCH:\n%s", diff)
			}
			x.begin(uri+"/terminate", `{"terminationType":"FORCEFUL"}`, vnflcm.Completed)
			x.send("DELETE", uri, "", 204)
			x.send("GET", uri, "", 404)
			list := x.send("GET", "/vnflcm/"+api+"/vnf_lcm_op_occs", "", 200)
			if len(list.ids()) != 7 {
				t.Errorf("operations after the deletion: %v", list.ids())
			}
		})
	}
}

func wantLinks(t *testing.T, a answer, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, a.links()); diff != "" {
		t.Errorf("links:\n%s", diff)
	}
}

// TestConnections adds, changes and removes VIM connections in the form of each version.
func TestConnections(t *testing.T) {
	t.Parallel()
	for api, patch := range map[string]string{
		"v1": `{"vimConnectionInfo":[{"id":"extra","vimType":"toy","accessInfo":{"password":"` + canary + `"}}]}`,
		"v2": `{"vimConnectionInfo":{"extra":{"vimType":"toy","accessInfo":{"password":"` + canary + `"}}}}`,
	} {
		x := newVNFM(t, nil, sol003.Options{})
		uri := x.running(api)
		connections := func() []string {
			inst, err := x.Get(t.Context(), uri[strings.LastIndex(uri, "/")+1:])
			must(t, err)
			var ids []string
			for _, v := range inst.VimConnectionInfo {
				ids = append(ids, v.ID)
			}
			return ids
		}
		x.await(x.send("PATCH", uri, patch, 202).Header.Get("Location"), vnflcm.Completed)
		if diff := cmp.Diff([]string{"own", "extra"}, connections()); diff != "" {
			t.Errorf("%s: added:\n%s", api, diff)
		}
		remove := `{"vimConnectionInfoDeleteList":["extra"],"vnfInstanceName":null}`
		if api == "v2" {
			remove = `{"vimConnectionInfo":{"extra":null},"vnfInstanceName":null}`
		}
		x.await(x.send("PATCH", uri, remove, 202, "Content-Type", "application/merge-patch+json").Header.Get("Location"), vnflcm.Completed)
		if diff := cmp.Diff([]string{"own"}, connections()); diff != "" {
			t.Errorf("%s: removed:\n%s", api, diff)
		}
		if name := x.send("GET", uri, "", 200).object()["vnfInstanceName"]; name != nil {
			t.Errorf("%s: the removed name is %v", api, name)
		}
	}
}

// TestFailedOperations checks the tasks of failed operations.
func TestFailedOperations(t *testing.T) {
	t.Parallel()
	for _, api := range versions {
		t.Run(api, func(t *testing.T) {
			t.Parallel()
			x := newVNFM(t, nil, sol003.Options{})
			failed := func(uri, body string, kind vnflcm.LcmOperation) string {
				t.Helper()
				x.cloud.setFault(kind, errors.New("no quota: password="+canary))
				occ := x.begin(uri, body, vnflcm.FailedTemp)
				x.cloud.setFault(kind, nil)
				want := []string{"fail", "retry", "rollback", "self", "vnfInstance"}
				if strings.Contains(body, "SCALE_IN") || strings.Contains(body, "small") {
					want = []string{"fail", "retry", "self", "vnfInstance"}
				}
				wantLinks(t, occ, want...)
				return occ.object()["_links"].(object)["self"].(object)["href"].(string)
			}
			uri := x.create(api)
			occ := failed(uri+"/instantiate", instantiate, vnflcm.OpInstantiate)
			conflict := x.send("POST", uri+"/instantiate", instantiate, 409)
			if !strings.Contains(conflict.detail(), "FAILED_TEMP") {
				t.Errorf("detail: %s", conflict.detail())
			}
			x.send("DELETE", uri, "", 409)
			x.send("POST", occ+"/retry", "", 202)
			x.await(occ, vnflcm.Completed)
			for _, task := range []string{"retry", "rollback", "fail"} {
				x.send("POST", occ+"/"+task, "", 409)
			}
			x.send("POST", occ+"/cancel", `{"cancelMode":"GRACEFUL"}`, 409)

			occ = failed(uri+"/scale", `{"type":"SCALE_OUT","aspectId":"workers"}`, vnflcm.OpScale)
			x.send("POST", occ+"/rollback", "", 202)
			x.await(occ, vnflcm.RolledBack)
			x.begin(uri+"/scale", `{"type":"SCALE_OUT","aspectId":"workers"}`, vnflcm.Completed)
			occ = failed(uri+"/scale", `{"type":"SCALE_IN","aspectId":"workers"}`, vnflcm.OpScale)
			x.send("POST", occ+"/rollback", "", 404)
			x.send("POST", occ+"/fail", "", 200)
			occ = failed(uri+"/scale_to_level", `{"instantiationLevelId":"large"}`, vnflcm.OpScale)
			x.send("POST", occ+"/rollback", "", 202)
			x.await(occ, vnflcm.RolledBack)
			occ = failed(uri+"/scale_to_level", `{"instantiationLevelId":"small"}`, vnflcm.OpScale)
			x.send("POST", occ+"/rollback", "", 404)
			done := x.send("POST", occ+"/fail", "", 200)
			if done.object()["operationState"] != "FAILED" || done.Header.Get("ETag") == "" {
				t.Errorf("after fail: %s", done.body)
			}

			gate := make(chan struct{})
			defer close(gate)
			x.cloud.mu.Lock()
			x.cloud.gate = gate
			x.cloud.mu.Unlock()
			occ = x.send("POST", uri+"/heal", `{}`, 202).Header.Get("Location")
			before := x.await(occ, vnflcm.Processing)
			wantLinks(t, before, "cancel", "self", "vnfInstance")
			x.send("POST", occ+"/cancel", `{"cancelMode":"SOON"}`, 422)
			x.send("POST", occ+"/cancel", `{"cancelMode":"FORCEFUL"}`, 202)
			x.await(occ, vnflcm.FailedTemp)
		})
	}
}

// TestPreconditions checks reading and modifying with entity tags.
func TestPreconditions(t *testing.T) {
	t.Parallel()
	for _, api := range versions {
		x := newVNFM(t, nil, sol003.Options{})
		uri := x.create(api)
		tag := x.send("GET", uri, "", 200).Header.Get("ETag")
		if !strings.HasPrefix(tag, `"`+api+"-") {
			t.Errorf("entity tag %s", tag)
		}
		x.send("GET", uri, "", 304, "If-None-Match", `W/"x", `+tag)
		x.send("GET", uri, "", 200, "If-None-Match", `"x"`)
		x.send("GET", uri, "", 304, "If-None-Match", "W/"+tag)
		x.send("PATCH", uri, `{"vnfInstanceName":"a"}`, 412, "If-Match", "W/"+tag) // If-Match needs a strong comparison
		x.send("PATCH", uri, `{"vnfInstanceName":"a"}`, 412, "If-Match", `"`+api+`-999"`)
		other := strings.Replace(tag, api, "v9", 1)
		x.send("PATCH", uri, `{"vnfInstanceName":"a"}`, 412, "If-Match", other)
		x.send("DELETE", uri, "", 412, "If-Match", other)
		occ := x.send("PATCH", uri, `{"vnfInstanceName":"a"}`, 202, "If-Match", other+", "+tag).Header.Get("Location")
		x.await(occ, vnflcm.Completed)
		x.send("PATCH", uri, `{"vnfInstanceName":"b"}`, 412, "If-Match", tag)
		x.await(x.send("PATCH", uri, `{"vnfInstanceName":"b"}`, 202, "If-Match", "*").Header.Get("Location"), vnflcm.Completed)
		x.send("GET", occ, "", 304, "If-None-Match", x.send("GET", occ, "", 200).Header.Get("ETag"))
		x.send("PATCH", strings.Replace(uri, "vnf_instances/", "vnf_instances/x", 1), `{}`, 404, "If-Match", tag)
		x.send("DELETE", uri, "", 204, "If-Match", x.send("GET", uri, "", 200).Header.Get("ETag"))
	}
}

// TestDeleteOfChangedInstance changes the instance after the handler has compared its entity tag and before it is deleted.
func TestDeleteOfChangedInstance(t *testing.T) {
	t.Parallel()
	for _, api := range versions {
		for name, c := range map[string]struct {
			wildcard    bool
			want, after int
		}{
			"entity tag": {want: 412, after: 200},
			"any":        {wildcard: true, want: 204, after: 404},
		} {
			t.Run(api+" "+name, func(t *testing.T) {
				t.Parallel()
				var racing *changedAfterGet
				x := newVNFMWith(t, nil, sol003.Options{}, func(m *vnflcm.Manager, _ *sol003.Options) sol003.Manager {
					racing = &changedAfterGet{Manager: m}
					return racing
				})
				uri := x.create(api)
				tag := x.send("GET", uri, "", 200).Header.Get("ETag")
				if c.wildcard {
					tag = "*"
				}
				racing.armed.Store(true)
				x.send("DELETE", uri, "", c.want, "If-Match", tag)
				if racing.armed.Load() {
					t.Error("the instance was not changed during the request")
				}
				x.send("GET", uri, "", c.after)
			})
		}
	}
}

// changedAfterGet is a Manager that changes an instance once, after it was read.
type changedAfterGet struct {
	*vnflcm.Manager
	armed atomic.Bool
}

func (m *changedAfterGet) Get(ctx context.Context, id string) (*vnflcm.VnfInstance, error) {
	instance, err := m.Manager.Get(ctx, id)
	if err != nil || !m.armed.CompareAndSwap(true, false) {
		return instance, err
	}
	name := "changed"
	opID, err := m.Modify(ctx, id, vnflcm.VnfInfoModificationRequest{VnfInstanceName: &name}, "")
	if err == nil {
		_, err = m.Wait(ctx, opID)
	}
	return instance, err
}

// TestMethods sends every method to every path.
func TestMethods(t *testing.T) {
	t.Parallel()
	allowed := map[string]string{
		"api_versions": "GET HEAD", "vnf_instances": "GET HEAD POST", "vnf_instances/x": "DELETE GET HEAD PATCH",
		"vnf_lcm_op_occs": "GET HEAD", "vnf_lcm_op_occs/x": "GET HEAD",
		"vnf_lcm_op_occs/x/retry": "POST", "vnf_lcm_op_occs/x/rollback": "POST", "vnf_lcm_op_occs/x/fail": "POST", "vnf_lcm_op_occs/x/cancel": "POST",
		"subscriptions": "GET HEAD POST", "subscriptions/x": "DELETE GET HEAD",
	}
	for _, task := range []string{"instantiate", "scale", "scale_to_level", "heal", "terminate", "change_ext_conn", "change_flavour", "operate", "change_vnfpkg",
		"create_snapshot", "revert_to_snapshot"} {
		allowed["vnf_instances/x/"+task] = "POST"
	}
	for _, missing := range []string{"", "subscriptions/x/y", "vnf_instances/x/y", "vnf_instances/", "vnf_instances//x",
		"vnf_instances/x/", "vnf_lcm_op_occs/x/y/z", "a/../vnf_instances"} {
		allowed[missing] = ""
	}
	bodies := map[string]string{"scale": `{"type":"SCALE_OUT","aspectId":"w"}`, "cancel": `{"cancelMode":"GRACEFUL"}`, "vnf_instances": `{"vnfdId":"none"}`}
	for _, api := range versions {
		allowed["vnf_snapshots"], allowed["vnf_snapshots/x"] = "", "" // of version 2
		if api == "v2" {
			allowed["vnf_snapshots"], allowed["vnf_snapshots/x"] = "GET HEAD POST", "DELETE GET HEAD"
		}
		x := newVNFMWith(t, nil, sol003.Options{}, subscribable)
		for path, methods := range allowed {
			for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "BREW"} {
				name := path[strings.LastIndex(path, "/")+1:]
				want, body := 404, ""
				switch is := slices.Contains(strings.Fields(methods), method); {
				case !is && methods != "":
					want = 405
				case method == "POST" && (path == "vnf_instances" || path == "subscriptions"):
					want = 422 // unknown VNFD, or no callbackUri
				case is && (path == "vnf_instances" || path == "vnf_lcm_op_occs" || path == "api_versions" || path == "subscriptions" || path == "vnf_snapshots" && method != "POST"):
					want = 200
				}
				if method == "POST" || method == "PATCH" {
					if body = bodies[name]; body == "" {
						body = "{}"
					}
				}
				a := x.send(method, "/vnflcm/"+api+"/"+path, body, want)
				if want == 405 && !slices.Equal(sorted(strings.ReplaceAll(a.Header.Get("Allow"), ",", " ")), sorted(methods)) {
					t.Errorf("%s: Allow %q, want %s", path, a.Header.Get("Allow"), methods)
				}
			}
		}
		x.send("GET", "/vnflcm/api_versions", "", 200)
		x.send("GET", "/vnflcm/v3/vnf_instances", "", 404)
		x.send("GET", "/", "", 404)
		without := newVNFM(t, nil, sol003.Options{})
		without.send("GET", "/vnflcm/"+api+"/subscriptions", "", 404)
		without.send("POST", "/vnflcm/"+api+"/subscriptions", "{}", 404)
		without.send("DELETE", "/vnflcm/"+api+"/subscriptions/x", "", 404)
	}
}

// subscribable configures a VNFM with subscriptions that sends no notifications.
func subscribable(m *vnflcm.Manager, options *sol003.Options) sol003.Manager {
	options.Subscriptions = notify.New(m, notify.Options{})
	return m
}

// TestEveryStatus checks the statuses that do not depend on the Manager for every kind of resource. TestMethods checks 404 and 405,
// TestFaults 409 and 422, TestFailures 500, 503 and 504, TestPreconditions 304 and 412. The handler never returns the statuses 416 and 429
// of the standard, because it supports no ranges and does not limit the rate of requests.
func TestEveryStatus(t *testing.T) {
	t.Parallel()
	x := newVNFMWith(t, nil, sol003.Options{MaxBody: 1000, Authorize: func(r *http.Request) (sol003.Principal, error) {
		return sol003.Principal{}, map[string]error{"401": errors.New("no"), "403": sol003.ErrForbidden, "503": sol003.ErrUnavailable}[r.Header.Get("X-Want")]
	}}, subscribable)
	for _, api := range versions {
		for resource, methods := range map[string]string{"vnf_instances": "GET POST", "vnf_instances/x": "GET PATCH DELETE", "vnf_instances/x/instantiate": "POST",
			"vnf_instances/x/scale": "POST", "vnf_instances/x/scale_to_level": "POST", "vnf_instances/x/heal": "POST", "vnf_instances/x/terminate": "POST", "vnf_instances/x/change_ext_conn": "POST",
			"vnf_lcm_op_occs": "GET", "vnf_lcm_op_occs/x": "GET", "vnf_lcm_op_occs/x/retry": "POST", "vnf_lcm_op_occs/x/rollback": "POST",
			"vnf_lcm_op_occs/x/fail": "POST", "vnf_lcm_op_occs/x/cancel": "POST", "subscriptions": "GET POST", "subscriptions/x": "GET DELETE"} {
			uri := "/vnflcm/" + api + "/" + resource
			for _, method := range strings.Fields(methods) {
				x.send(method, uri, "", 401, "X-Want", "401")
				x.send(method, uri, "", 403, "X-Want", "403")
				x.send(method, uri, "", 503, "X-Want", "503")
				x.send(method, uri, "", 406, "Version", "9.0.0")
				x.send(method, uri+"?"+strings.Repeat("x", 20<<10), "", 414)
				if method == "GET" || method == "POST" {
					x.send(method, uri, "", 406, "Accept", "text/html")
				}
				task := resource[strings.LastIndex(resource, "/")+1:]
				if method == "GET" || method == "DELETE" || task == "retry" || task == "rollback" || task == "fail" {
					continue // requests without a body
				}
				x.send(method, uri, "{}", 415, "Content-Type", "text/plain")
				x.send(method, uri, "{", 400)
				x.send(method, uri, "{}{}", 400)
				x.send(method, uri, `{"a":"`+strings.Repeat("x", 1000)+`"}`, 413)
				x.send(method, uri, `{"a":{"b":["***"]}}`, 422)
			}
		}
	}
}

func sorted(words string) []string { return slices.Sorted(slices.Values(strings.Fields(words))) }

// TestNegotiation sends valid and invalid headers.
func TestNegotiation(t *testing.T) {
	t.Parallel()
	x := newVNFM(t, nil, sol003.Options{})
	const list = "/vnflcm/v1/vnf_instances"
	for version, want := range map[string]int{"": 200, "1.3.0": 200, "1.2.1": 200, "1.3.0-impl:example.com:x:4": 200, "1": 200, "2.0.0": 406, "3.0.0": 406, "x": 406, "10.0.0": 406} {
		x.send("GET", list, "", want, "Version", version)
	}
	x.send("GET", "/vnflcm/v2/vnf_instances", "", 200, "Version", "2.0.0", "X-Auth-Token", canary, "User-Agent", "python-tackerclient")
	for accept, want := range map[string]int{"application/json": 200, "*/*": 200, "application/*;q=0.1": 200, "text/html, application/json;q=0.9": 200, "text/html": 406,
		"application/json;q=0, */*": 406, "application/json;q=x": 406, "application/*, text/html": 200, "nonsense": 406} {
		x.send("GET", list, "", want, "Accept", accept)
	}
	// These are the headers of Tacker's client.
	x.send("GET", "/vnflcm/v1/api_versions", "", 200, "Version", "2.0.0")
	patched := x.send("PATCH", x.create("v1"), `{"vnfInstanceName":"a"}`, 202, "Content-Type", "application/merge-patch+json", "Accept", "application/merge-patch+json")
	x.await(patched.Header.Get("Location"), vnflcm.Completed)

	const create = `{"vnfdId":"` + toyVNFD + `"}`
	for media, want := range map[string]int{"application/json; charset=utf-8": 201, "application/xml": 415, "text/plain": 415, "application/merge-patch+json": 415, "//": 415} {
		x.send("POST", list, create, want, "Content-Type", media)
	}
	if a := x.send("POST", list, create, 415, "Content-Encoding", "gzip"); a.Header.Get("Accept") == "" {
		t.Error("the answer lacks the header Accept with the supported types")
	}
	uri := x.create("v1")
	if a := x.send("PATCH", uri, `{}`, 415, "Content-Type", "application/json-patch+json"); a.Header.Get("Accept-Patch") == "" {
		t.Error("the answer lacks the header Accept-Patch with the supported types")
	}
	rooted := newVNFM(t, nil, sol003.Options{APIRoot: "https://vnfm.example.com/north/"})
	a := rooted.send("POST", list, create, 201)
	if l := a.Header.Get("Location"); !strings.HasPrefix(l, "https://vnfm.example.com/north/vnflcm/v1/vnf_instances/") {
		t.Errorf("Location %s", l)
	}
}

// TestFaults sends requests with faults. The answer must name every fault and must not contain a value that may be secret.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, api := range versions {
		x := newVNFM(t, nil, sol003.Options{})
		idle, running := x.create(api), x.running(api)
		base := "/vnflcm/" + api + "/vnf_instances"
		for _, c := range []struct {
			method, uri, body string
			status            int
			says              []string
		}{
			{"POST", base, `{`, 400, []string{"not JSON"}},
			{"POST", base, ``, 415, nil},
			{"POST", base, `[]`, 422, []string{"must be an object"}},
			{"POST", base, `null`, 422, []string{"must be an object"}},
			{"POST", base, `{}`, 422, []string{"vnfdId: is required"}},
			{"POST", base, `{"vnfdId":"x"} {}`, 400, []string{"not JSON"}},
			{"POST", base, `{"vnfdId":"x","vnfdId":"y"}`, 400, []string{`"vnfdId" twice`}},
			{"POST", base, `{"vnfdId":"x","metadata":{"a":[{"b":1,"b":2}]}}`, 400, []string{`"b" twice`}},
			{"POST", base, "{\"vnfdId\":\"\xff\"}", 400, []string{"UTF-8"}},
			{"POST", base, `{"vnfdId":"` + toyVNFD + `","metadata":{"a":[{"b":"***"}]},"vnfInstanceName":"***"}`, 422, []string{"metadata.a[0].b", "vnfInstanceName"}},
			{"POST", base, `{"vnfdId":"` + toyVNFD + `","metadata":{"a":[{"b":"\ud800"}]},"unknown":"\udc00"}`, 422, []string{"metadata.a[0].b: has half of a surrogate pair", "unknown"}},
			{"PATCH", running, `{"extensions":{"a":"\ud83dx"}}`, 422, []string{"extensions.a"}},
			{"POST", base, `{"vnfdId":"` + toyVNFD + `","unknown":{"c":"***"}}`, 422, []string{"unknown.c"}},
			{"POST", base, `{"vnfdId":["` + canary + `"],"metadata":"` + canary + `"}`, 422, []string{"vnfdId", "metadata"}},
			{"PATCH", running, `{"extensions":{"a":{"b":["***"]}},"vimConnectionInfo":[{"id":"own","accessInfo":{"password":"***"}}]}`, 422,
				[]string{"extensions.a.b[0]", "vimConnectionInfo[0].accessInfo.password"}},
			{"PATCH", running, `{"vnfdId":"other","vimConnectionInfoDeleteList":["own","none"]}`, 422, []string{"vnfdId", "vimConnectionInfoDeleteList[0]", "vimConnectionInfoDeleteList[1]"}},
			{"PATCH", running, `{"extensions":"` + canary + `","vimConnectionInfo":"` + canary + `"}`, 422, []string{"extensions: must be an object"}},
			{"PATCH", running, `[]`, 422, nil},
			{"POST", idle + "/instantiate", `{"flavourId":"simple","additionalParams":{"a":"***"}}`, 422, []string{"additionalParams.a"}},
			{"POST", idle + "/instantiate", `{"flavourId":"none","instantiationLevelId":7,"vimConnectionInfo":[{"vimId":"none","accessInfo":"` + canary + `"}]}`, 422, []string{"accessInfo"}},
			{"POST", idle + "/instantiate", `{"flavourId":"none"}`, 422, []string{"flavourId"}},
			{"POST", idle + "/instantiate", `{"flavourId":"simple","vimConnectionInfo":[{"vimId":"none","interfaceInfo":{"password":"` + canary + `"}}]}`, 422, []string{"vimConnectionInfo[0].vimId"}},
			{"POST", running + "/scale_to_level", `{"scaleInfo":[{"aspectId":"none"}],"levels":1}`, 422, []string{"scaleInfo[0].scaleLevel", `levels`}},
			{"POST", running + "/scale", `{"type":"UP","aspectId":"none","numberOfSteps":"x","typ":1}`, 422, []string{"numberOfSteps", `did you mean "type"`}},
			{"POST", running + "/heal", `{"vnfcInstanceId":[]}`, 422, []string{"vnfcInstanceId"}},
			{"POST", running + "/heal", `{"vnfcInstanceId":["a","b"]}`, 422, []string{"vnfcInstanceId[0]", "vnfcInstanceId[1]"}},
			{"POST", running + "/terminate", `{}`, 422, []string{"terminationType"}},
			{"POST", running + "/change_ext_conn", `{"extVirtualLinks":[{},{"extCps":[{"cpdId":"none"}]}]}`, 422, []string{"extVirtualLinks[0].resourceId", "extVirtualLinks[1].extCps[0].cpdId"}},
			{"POST", running + "/instantiate", `{"flavourId":"simple"}`, 409, []string{"INSTANTIATED"}},
			{"POST", idle + "/heal", `{}`, 409, []string{"NOT_INSTANTIATED"}},
			{"DELETE", running, ``, 409, []string{"terminate it first"}},
		} {
			header := []string{}
			if c.method == "PATCH" {
				header = []string{"Content-Type", "application/merge-patch+json"}
			}
			a := x.send(c.method, c.uri, c.body, c.status, header...)
			for _, text := range c.says {
				if !strings.Contains(a.detail(), text) {
					t.Errorf("%s %s: the detail lacks %q: %s", c.method, c.body, text, a.detail())
				}
			}
		}
	}
}

// TestHostileBodies sends bodies that are meant to exhaust the server.
func TestHostileBodies(t *testing.T) {
	t.Parallel()
	x := newVNFM(t, nil, sol003.Options{MaxBody: 1 << 20})
	const uri = "/vnflcm/v2/vnf_instances"
	x.send("POST", uri, `{"vnfdId":"x","metadata":{"a":`+strings.Repeat("[", 100)+strings.Repeat("]", 100)+`}}`, 400)
	x.send("POST", uri, strings.Repeat("[", 1<<20), 400)
	x.send("POST", uri, strings.Repeat(`{"a":`, 9000)+"1"+strings.Repeat("}", 9000), 400)
	x.send("POST", uri, `{"vnfdId":"x","metadata":{"a":`+strings.Repeat("[", 60)+strings.Repeat("]", 60)+`}}`, 422)
	x.send("POST", uri, `{"vnfdId":"`+strings.Repeat("x", 1<<20)+`"}`, 413)
	a := x.send("POST", uri, `{"vnfdId":"`+strings.Repeat("x", 1<<19)+`"}`, 422)
	if len(a.body) > 1<<20 {
		t.Errorf("an answer of %d bytes", len(a.body))
	}
	x.send("GET", uri+"?filter=(eq,id,"+strings.Repeat("x", 20<<10)+")", "", 414)

	for _, declared := range []int64{100 << 20, -1} { // with and without Content-Length
		r, err := http.NewRequestWithContext(t.Context(), "POST", x.http.URL+uri, io.LimitReader(zeros{}, 100<<20))
		must(t, err)
		r.ContentLength = declared
		r.Header.Set("Content-Type", "application/json")
		response, err := x.http.Client().Do(r)
		if err != nil {
			continue // the server has closed the connection while the client sent
		}
		if a := read(t, response); a.StatusCode != 413 {
			t.Errorf("100 MB: %d %s", a.StatusCode, a.body)
		}
	}

	slow, stop := io.Pipe()
	r, err := http.NewRequestWithContext(t.Context(), "POST", x.http.URL+uri, slow)
	must(t, err)
	r.Header.Set("Content-Type", "application/json")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if response, err := x.http.Client().Do(r); err == nil {
			_ = response.Body.Close()
		}
	}()
	_, err = stop.Write([]byte("{"))
	must(t, err)
	x.send("GET", uri, "", 200) // other requests are served meanwhile
	must(t, stop.CloseWithError(errors.New("the client gives up")))
	<-ended
}

// TestManyFaults sends small requests with many faults. Neither the size nor the time of the answer may be large.
func TestManyFaults(t *testing.T) {
	t.Parallel()
	x := newVNFM(t, nil, sol003.Options{})
	const create = "/vnflcm/v2/vnf_instances"
	heal := x.running("v2") + "/heal"
	var unknown strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&unknown, `"k%d":1,`, i)
	}
	masked := func(n int) string { return `["***"` + strings.Repeat(`,"***"`, n) + `]` }
	deep := `{"` + strings.Repeat("k", 200) + `":`
	for _, c := range []struct {
		uri, body string
		status    int
	}{
		{create, `{"vnfdId":"x","metadata":{"a":` + masked(4000) + `}}`, 422},
		{create, `{"vnfdId":"x","metadata":{"a":` + masked(100000) + `}}`, 400},
		{create, `{"vnfdId":"x","metadata":` + strings.Repeat(deep, 9) + masked(4000) + strings.Repeat("}", 9) + `}`, 422},
		{create, `{"vnfdId":"x","metadata":` + strings.Repeat(deep, 12) + masked(4000) + strings.Repeat("}", 12) + `}`, 400},
		{create, `{"vnfdId":"x","metadata":{"` + strings.Repeat("k", 300000) + `":` + masked(1000) + `}}`, 400},
		{heal, `{"vnfcInstanceId":["a"` + strings.Repeat(`,"a"`, 4000) + `]}`, 422},
		{heal, `{` + unknown.String() + `"cause":"x"}`, 422},
		{heal, `{"additionalParams":{"a":` + masked(4000) + `}}`, 422},
	} {
		start := time.Now()
		a := x.send("POST", c.uri, c.body, c.status)
		if len(a.body) > 256<<10 {
			t.Errorf("%.60s: an answer of %d bytes", c.body, len(a.body))
		}
		t.Logf("%d bytes, answered with %d bytes after %v: %.60s", len(c.body), len(a.body), time.Since(start), c.body)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// writes is an answer that records the size of each write.
type writes struct {
	*httptest.ResponseRecorder
	sizes []int
}

func (w *writes) Write(p []byte) (int, error) {
	w.sizes = append(w.sizes, len(p))
	return w.ResponseRecorder.Write(p)
}

// TestListsAreStreamed checks that the handler writes a list in parts and not as a whole.
func TestListsAreStreamed(t *testing.T) {
	t.Parallel()
	x := newVNFM(t, nil, sol003.Options{})
	large := strings.Repeat("x", 10<<10)
	for range 5 {
		_, err := x.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: toyVNFD, Metadata: vnflcm.KeyValuePairs{"site": large}})
		must(t, err)
	}
	h, err := sol003.NewHandler(x.Manager, sol003.Options{InsecureAllowAnyone: true})
	must(t, err)
	for query, want := range map[string]int{"?all_fields": 5, "?all_fields&filter=(cont,metadata/site,xx)": 5, "?filter=(eq,metadata/site,y)": 0} {
		w := &writes{ResponseRecorder: httptest.NewRecorder()}
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/vnflcm/v1/vnf_instances"+query, nil))
		var list []object
		if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil || len(list) != want || slices.Max(w.sizes) > 2*len(large) {
			t.Errorf("%s: %d documents (%v) in writes of %d bytes", query, len(list), err, w.sizes)
		}
	}
}

// TestLists checks pages, filters and attribute selectors.
func TestLists(t *testing.T) {
	t.Parallel()
	for _, api := range versions {
		n := 0
		x := newVNFM(t, func(c *vnflcm.Config) {
			c.NewID = func() string { n++; return fmt.Sprintf("id-%02d", n) }
		}, sol003.Options{PageSize: 2})
		for range 4 {
			x.create(api)
		}
		running := x.running(api)
		base := "/vnflcm/" + api + "/vnf_instances"
		pages := func(uri string) (all [][]string) {
			t.Helper()
			for uri != "" {
				a := x.send("GET", uri, "", 200)
				all = append(all, a.ids())
				uri, _, _ = strings.Cut(strings.TrimPrefix(a.Header.Get("Link"), "<"), ">")
				if strings.Contains(uri, "all_fields") && uri[0] != '/' && !strings.Contains(uri, "all_fields=true") {
					t.Errorf("Tacker's client would lose a parameter of %s", uri)
				}
				if l := a.Header.Get("Link"); l != "" && !strings.HasSuffix(l, `>; rel="next"`) {
					t.Errorf("Link: %s", l)
				}
				if u, err := url.Parse(uri); err == nil && uri != "" {
					marker, _ := base64.RawURLEncoding.DecodeString(u.Query().Get("nextpage_opaque_marker"))
					if len(marker) == 0 || bytes.Contains(marker, []byte("id-0")) {
						t.Errorf("the marker %q is empty or names an instance", marker)
					}
				}
			}
			return all
		}
		all := [][]string{{"id-01", "id-02"}, {"id-03", "id-04"}, {"id-05"}}
		for query, want := range map[string][][]string{
			"": all, "?filter=": all, "?all_fields": all, "?exclude-fields=metadata": all,
			"?filter=(eq,instantiationState,INSTANTIATED)":                                            {{"id-05"}},
			"?filter=(in,instantiationState,INSTANTIATED,NOT_INSTANTIATED)":                           all,
			"?filter=(eq,vnfdId," + toyVNFD + ");(eq,metadata/site,north)":                            all,
			"?filter=(eq,vnfdId,none)":                                                                {nil},
			"?filter=(eq,vnfdId,)":                                                                    {nil},
			"?filter=(neq,instantiationState,INSTANTIATED);(gt,id,id-02)":                             {{"id-03", "id-04"}, nil},
			"?filter=%28cont%2Cid%2C1%2C5%29":                                                         {{"id-01", "id-05"}},
			"?filter=((eq,vnfInstanceName,'toy');(nin,id,id-01,id-02,id-03))":                         {{"id-04", "id-05"}},
			"?filter=eq,id,id-03":                                                                     {{"id-03"}},
			"?filter=(eq,instantiatedVnfInfo/scaleStatus/scaleLevel,0)":                               {{"id-05"}},
			"?filter=(eq,instantiatedVnfInfo/vnfcResourceInfo/vduId,worker)":                          {{"id-05"}},
			"?filter=(cont,extensions/secret," + canary[:4] + ")":                                     {nil}, // a filter cannot guess secrets
			"?filter=(eq,extensions/secret,***)":                                                      {{"id-05"}},
			"?filter=(eq,instantiationState,INSTANTIATED);(eq,instantiationState,NOT_INSTANTIATED)":   {nil},
			"?filter=(eq,instantiationState,NONSENSE)":                                                {nil},
			"?filter=(eq,id,id-01)&fields=metadata":                                                   {{"id-01"}},
			"?filter=(eq,vnfInstanceDescription,x)":                                                   {nil},
			"?filter=(eq,vnfInstanceName,toy);(eq,vnfProvider,Toys);(eq,vnfdVersion,1.0)&all_fields=": all,
		} {
			got := pages(base + query)
			if len(got) == 3 && got[2] == nil { // a page of a filter can be empty
				got = got[:2]
			}
			if !cmp.Equal(got, want) && !cmp.Equal(slices.Concat(got...), slices.Concat(want...)) {
				t.Errorf("%s: %v, want %v", query, got, want)
			}
		}
		for _, query := range []string{"?filter=(eq,id)", "?filter=(eq,none,x)", "?filter=(is,id,x)", "?filter=(eq,id,x", "?x=1", "?filter=%zz", "?filter=(eq,id,1)&filter=(eq,id,2)",
			"?nextpage_opaque_marker=!", "?nextpage_opaque_marker=AAAA", "?fields=id", "?fields=none", "?exclude_fields=metadata&fields=metadata", "?all_fields&exclude_default",
			"?exclude_fields=vnfdId", "?exclude_fields=metadata&exclude_default"} {
			x.send("GET", base+query, "", 400)
		}

		item := func(query string) object {
			return x.send("GET", base+"?filter=(eq,id,id-05)"+query, "", 200).tree.(array)[0].(object)
		}
		short := []string{"_links", "id", "instantiationState", "vnfInstanceName", "vnfProductName", "vnfProvider", "vnfSoftwareVersion", "vnfdId", "vnfdVersion"}
		full := append(slices.Clone(short), "extensions", "instantiatedVnfInfo", "metadata", "vimConnectionInfo")
		for query, want := range map[string][]string{
			"": short, "&exclude_default": short, "&all_fields": full, "&exclude_fields=metadata,extensions": append(slices.Clone(short), "instantiatedVnfInfo", "vimConnectionInfo"),
			"&fields=metadata": append(slices.Clone(short), "metadata"), "&fields=extensions&exclude_default": append(slices.Clone(short), "extensions"),
		} {
			if diff := cmp.Diff(sorted(strings.Join(want, " ")), keys(item(query))); diff != "" {
				t.Errorf("%s:\n%s", query, diff)
			}
		}
		info, _ := item("&fields=instantiatedVnfInfo/scaleStatus")["instantiatedVnfInfo"].(object)
		if diff := cmp.Diff([]string{"flavourId", "scaleStatus", "vnfState"}, keys(info)); diff != "" {
			t.Errorf("a part of instantiatedVnfInfo:\n%s", diff)
		}
		vims := item("&fields=vimConnectionInfo&exclude_default")["vimConnectionInfo"]
		if api == "v2" && cmp.Equal(vims, nil) {
			t.Error("no vimConnectionInfo")
		}
		noAccess := item("&exclude_fields=vimConnectionInfo/accessInfo")["vimConnectionInfo"]
		if strings.Contains(fmt.Sprint(noAccess), "accessInfo") || !strings.Contains(fmt.Sprint(noAccess), "vimType") {
			t.Errorf("vimConnectionInfo without accessInfo: %v", noAccess)
		}

		occs := "/vnflcm/" + api + "/vnf_lcm_op_occs"
		x.begin(running+"/heal", `{}`, vnflcm.Completed)
		x.begin(running+"/terminate", `{"terminationType":"GRACEFUL"}`, vnflcm.Completed)
		for query, want := range map[string]int{"": 3, "?filter=(eq,operation,HEAL)": 1, "?filter=(in,operation,HEAL,TERMINATE);(eq,operationState,COMPLETED)": 2,
			"?filter=(eq,vnfInstanceId,id-05)": 3, "?filter=(eq,vnfInstanceId,id-01)": 0, "?filter=(gte,startTime,2020-01-01T00:00:00Z)": 3,
			"?filter=(lt,startTime,2020-01-01T00:00:00Z)": 0, "?filter=(eq,isCancelPending,false)": 3, "?filter=(eq,operationParams/terminationType,GRACEFUL)&all_fields": 1} {
			if got := slices.Concat(pages(occs + query)...); len(got) != want {
				t.Errorf("%s: %v, want %d", query, got, want)
			}
		}
		occ := x.send("GET", occs+"?filter=(eq,operation,INSTANTIATE)", "", 200).tree.(array)[0].(object)
		if occ["operationParams"] != nil || occ["resourceChanges"] != nil {
			t.Errorf("an operation of a list: %v", occ)
		}
	}
}

func keys(o object) []string {
	var out []string
	for key := range o {
		out = append(out, key)
	}
	slices.Sort(out)
	return out
}

// TestLog checks all messages that the handler logs.
func TestLog(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	x := newVNFM(t, nil, sol003.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	x.send("POST", "/vnflcm/v1/vnf_instances", `{"vnfdId":"`+toyVNFD+`","mistake":"`+canary+`"}`, 201)
	x.send("GET", "/vnflcm/v1/vnf_instances/"+canary[:3], "", 404)
	if !strings.Contains(log.String(), "mistake") || strings.Contains(log.String(), canary) {
		t.Errorf("log: %s", log.String())
	}
}

// TestWarning checks that the answer names attributes without effect, and does not contain their values.
func TestWarning(t *testing.T) {
	t.Parallel()
	x := newVNFM(t, nil, sol003.Options{})
	answer := x.send("POST", "/vnflcm/v1/vnf_instances", `{"vnfdId":"`+toyVNFD+`"}`, 201)
	if got := answer.Header.Values("Warning"); got != nil {
		t.Errorf("Warning: %q without a reason", got)
	}
	ready := x.create("v1")
	x.begin(ready+"/instantiate", `{"flavourId":"simple"}`, vnflcm.Completed)
	external := x.send("POST", ready+"/change_ext_conn", `{"extVirtualLinks":[{"id":"l","vimConnectionId":"`+canary+`","resourceId":"net","extCps":[{"cpdId":"worker_cp"}]}]}`, 202)
	if got := external.Header.Get("Warning"); got != `299 - "extVirtualLinks[0].vimConnectionId: has no effect in vnfkit"` {
		t.Errorf("change_ext_conn: Warning: %s", got)
	}
	for name, c := range map[string]struct{ body, want string }{
		"managed link": {`"extManagedVirtualLinks":[{"id":"a","vnfVirtualLinkDescId":"internal","vimConnectionId":"` + canary + `","resourceId":"n","extManagedMultisiteVirtualLinkId":"m"}]`,
			`299 - "extManagedVirtualLinks[0].extManagedMultisiteVirtualLinkId: has no effect in vnfkit", 299 - "extManagedVirtualLinks[0].vimConnectionId: has no effect in vnfkit"`},
		"unknown": {`"mistake":"` + canary + `","extVirtualLinks":[{"id":"a","resourceId":"n","extCps":[{"cpdId":"worker_cp","cpConfig":[{"parentCpConfigId":"x"}]}]}]`,
			`299 - "extVirtualLinks[0].extCps[0].cpConfig[0].parentCpConfigId: has no effect in vnfkit", 299 - "mistake: is no attribute of this request"`},
		"other VIM": {`"extVirtualLinks":[{"id":"a","vimConnectionId":"` + canary + `","resourceId":"n","extCps":[]}]`, `299 - "extVirtualLinks[0].vimConnectionId: has no effect in vnfkit"`},
		"no ASCII":  {`"\u001f\"ü\n":1`, `299 - "\x1f\"\u00fc\n: is no attribute of this request"`},
		"long":      {`"` + strings.Repeat("x", 2000) + `":1`, `299 - "` + strings.Repeat("x", 100) + `\u2026: is no attribute of this request"`},
	} {
		answer := x.send("POST", x.create("v1")+"/instantiate", `{"flavourId":"simple",`+c.body+`}`, 202)
		if got := answer.Header.Get("Warning"); got != c.want {
			t.Errorf("%s: Warning: %s, want %s", name, got, c.want)
		}
	}
}

// TestAuthorize identifies senders.
func TestAuthorize(t *testing.T) {
	t.Parallel()
	if _, err := sol003.NewHandler(nil, sol003.Options{}); err == nil {
		t.Error("NewHandler returned a handler without authorization")
	}
	x := newVNFM(t, nil, sol003.Options{Authorize: func(r *http.Request) (sol003.Principal, error) {
		switch r.Header.Get("Authorization") {
		case "Bearer good":
			return sol003.Principal{Name: "nfvo"}, nil
		case "Bearer weak":
			return sol003.Principal{}, fmt.Errorf("%w: %s", sol003.ErrForbidden, canary)
		case "Bearer later":
			return sol003.Principal{}, sol003.ErrUnavailable
		}
		return sol003.Principal{}, errors.New("the token " + canary + " has expired")
	}})
	const uri = "/vnflcm/v2/vnf_instances"
	x.send("GET", uri, "", 200, "Authorization", "Bearer good")
	x.send("GET", uri, "", 403, "Authorization", "Bearer weak")
	x.send("GET", "/nothing", "", 401)
	if got := x.send("GET", uri, "", 401).Header.Get("WWW-Authenticate"); got != "Bearer" {
		t.Errorf("WWW-Authenticate: %s", got)
	}
	if got := x.send("GET", uri, "", 401, "Authorization", "Bearer old").Header.Get("WWW-Authenticate"); got != `Bearer error="invalid_token"` {
		t.Errorf("WWW-Authenticate: %s", got)
	}
}

// TestRequestWithoutHost checks that Location has an address even without the header Host, which HTTP/1.0 does not require.
func TestRequestWithoutHost(t *testing.T) {
	t.Parallel()
	x := newVNFM(t, nil, sol003.Options{})
	r := httptest.NewRequestWithContext(t.Context(), "POST", "/vnflcm/v1/vnf_instances", strings.NewReader(`{"vnfdId":"`+toyVNFD+`"}`))
	r.Host, r.Proto, r.ProtoMinor = "", "HTTP/1.0", 0
	r.Header.Set("Content-Type", "application/json")
	r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 9890}))
	w := httptest.NewRecorder()
	x.http.Config.Handler.ServeHTTP(w, r)
	if got := w.Header().Get("Location"); !strings.HasPrefix(got, "http://192.0.2.1:9890/vnflcm/v1/vnf_instances/") {
		t.Errorf("%d, Location %q", w.Code, got)
	}
}

// TestStoreIsNotNamed checks that the error of the store is in the log and not in the answer.
func TestStoreIsNotNamed(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	const place = "failed to connect to user=vnfm database=records host=10.0.0.5"
	x := newVNFMWith(t, nil, sol003.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, func(m *vnflcm.Manager, _ *sol003.Options) sol003.Manager {
		return &failingManager{m, fmt.Errorf("%w: %s", vnflcm.ErrStore, place)}
	})
	a := x.send("GET", "/vnflcm/v1/vnf_instances/a", "", 503)
	if strings.Contains(a.body, "10.0.0.5") || !strings.Contains(log.String(), place) {
		t.Errorf("answer %s\nlog %s", a.body, &log)
	}
}

type failingManager struct {
	*vnflcm.Manager
	err error
}

func (m *failingManager) Get(context.Context, string) (*vnflcm.VnfInstance, error) { return nil, m.err }
