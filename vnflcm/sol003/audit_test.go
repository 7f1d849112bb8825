package sol003_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
	"github.com/vnfkit/vnfkit/vnflcm/sol003"
	"github.com/vnfkit/vnfkit/vnflcm/sol003/notify"
)

// records are audit records in memory.
type records struct {
	mu   sync.Mutex
	list []sol003.AuditRecord
	err  error // error that add returns
}

func (r *records) add(_ context.Context, record sol003.AuditRecord) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, record)
	return r.err
}

func (r *records) take() []sol003.AuditRecord {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.list
	r.list = nil
	return list
}

// identify reads the sender of a request from headers that the tests set.
func identify(r *http.Request) (sol003.Principal, error) {
	who := sol003.Principal{Name: r.Header.Get("X-Name"), Tenant: r.Header.Get("X-Tenant"), Role: sol003.Role(r.Header.Get("X-Role"))}
	switch r.Header.Get("Authorization") {
	case "":
		return who, nil
	case "banned":
		return who, sol003.ErrForbidden
	case "later":
		return sol003.Principal{}, sol003.ErrUnavailable
	}
	return sol003.Principal{}, errors.New("no such token: " + r.Header.Get("Authorization"))
}

// newAudited starts a VNFM that writes audit records.
func newAudited(t *testing.T, to *records) *vnfm {
	t.Helper()
	return newVNFMWith(t, nil, sol003.Options{Authorize: identify, Audit: to.add}, func(m *vnflcm.Manager, o *sol003.Options) sol003.Manager {
		o.Subscriptions = notify.New(m, notify.Options{Allow: outbound.AllowAny})
		return m
	})
}

// TestAudit sends requests, and compares the audit record of each.
func TestAudit(t *testing.T) {
	t.Parallel()
	kept := &records{}
	x := newAudited(t, kept)
	const instances, operations = "/vnflcm/v2/vnf_instances", "/vnflcm/v2/vnf_lcm_op_occs"
	created := x.send("POST", instances, `{"vnfdId":"`+toyVNFD+`"}`, 201, "X-Name", "nfvo", "X-Role", "operator", "X-Tenant", "north")
	instance := strings.TrimPrefix(created.Header.Get("Location"), x.http.URL)
	wantCreated := sol003.AuditRecord{Principal: "nfvo", Role: sol003.RoleOperator, Tenant: "north", Method: "POST", Route: instances, Path: instances,
		Created: instance, Outcome: sol003.OutcomeAccepted, Status: 201}
	x.cloud.setFault(vnflcm.OpInstantiate, errors.New("no capacity"))
	started := x.send("POST", instance+"/instantiate", `{"flavourId":"simple"}`, 202).Header.Get("Location")
	operation := started[strings.LastIndex(started, "/")+1:]
	x.await(started, vnflcm.FailedTemp)
	const route = instances + "/{id}"
	wantStarted := sol003.AuditRecord{Method: "POST", Route: route + "/instantiate", Path: instance + "/instantiate", Operation: operation, Outcome: sol003.OutcomeAccepted, Status: 202}
	ignored := cmpopts.IgnoreFields(sol003.AuditRecord{}, "Time", "Source")
	got := kept.take()
	if diff := cmp.Diff([]sol003.AuditRecord{wantCreated, wantStarted}, got, ignored); diff != "" {
		t.Fatal(diff)
	}
	if !strings.HasPrefix(got[0].Source, "127.0.0.1:") || got[0].Time.IsZero() {
		t.Errorf("%+v", got[0])
	}

	empty := strings.TrimPrefix(x.create("v2"), x.http.URL)
	kept.take()
	unknown := "00000000-0000-4000-8000-ffffffffffff"
	for _, c := range []struct {
		method, uri, body string
		header            []string
		status            int
		want              *sol003.AuditRecord // without the method, the status, and an equal path; nil: no record
	}{
		{"GET", instance, "", nil, 200, nil},
		{"GET", instances + "/" + unknown, "", nil, 404, nil},
		{"HEAD", instances, "", nil, 200, nil},
		{"GET", instance, "", []string{"Authorization", "x"}, 401, &sol003.AuditRecord{}},
		{"GET", instance, "", []string{"Authorization", "banned", "X-Name", "mallory"}, 403, &sol003.AuditRecord{Principal: "mallory"}},
		{"GET", instance, "", []string{"Authorization", "later"}, 503, &sol003.AuditRecord{Outcome: sol003.OutcomeFailed}},
		{"GET", instance, "", []string{"X-Role", "none"}, 403, &sol003.AuditRecord{Role: "none", Route: route}},
		{"DELETE", instance, "", []string{"X-Role", "reader", "X-Name", "eve"}, 403, &sol003.AuditRecord{Principal: "eve", Role: sol003.RoleReader, Route: route}},
		{"DELETE", instance, "", []string{"X-Tenant", "south"}, 404, &sol003.AuditRecord{Tenant: "south", Route: route, Codes: []vnflcm.Code{vnflcm.ErrNotFound}}},
		{"DELETE", instance, "", nil, 409, &sol003.AuditRecord{Route: route, Codes: []vnflcm.Code{vnflcm.ErrConflict}}},
		{"POST", instance + "/instantiate", `{`, nil, 400, &sol003.AuditRecord{Route: route + "/instantiate"}},
		{"POST", instances, `{}`, nil, 422, &sol003.AuditRecord{Route: instances, Codes: []vnflcm.Code{vnflcm.ErrInvalidRequest}}},
		{"POST", instances + "/" + unknown + "/heal", `{}`, nil, 404, &sol003.AuditRecord{Route: route + "/heal", Codes: []vnflcm.Code{vnflcm.ErrNotFound}}},
		{"POST", "/preview/v1/vnf_instances/" + unknown + "/heal", `{}`, nil, 404, &sol003.AuditRecord{Route: "/preview/v1/vnf_instances/{id}/heal", Codes: []vnflcm.Code{vnflcm.ErrNotFound}}},
		{"POST", operations, "", nil, 405, &sol003.AuditRecord{Route: operations}},
		{"POST", "/etc/passwd", "", nil, 404, &sol003.AuditRecord{}},
		{"POST", operations + "/" + operation + "/fail", "", nil, 200, &sol003.AuditRecord{Route: operations + "/{id}/fail", Operation: operation, Outcome: sol003.OutcomeAccepted}},
		{"DELETE", empty, "", nil, 204, &sol003.AuditRecord{Route: route, Outcome: sol003.OutcomeAccepted}},
		{"DELETE", instances + "/a%0Ab%1b%5B0m%E2%80%AE", "", nil, 404, &sol003.AuditRecord{Route: route, Codes: []vnflcm.Code{vnflcm.ErrNotFound}}},
		{"DELETE", instances + "/" + strings.Repeat("x", 600), "", nil, 404, &sol003.AuditRecord{Route: route, Codes: []vnflcm.Code{vnflcm.ErrNotFound},
			Path: instances + "/" + strings.Repeat("x", 512-3-len(instances+"/")) + "…"}},
	} {
		x.send(c.method, c.uri, c.body, c.status, c.header...)
		var want []sol003.AuditRecord
		if c.want != nil {
			want = []sol003.AuditRecord{*c.want}
			want[0].Method, want[0].Status = c.method, c.status
			if want[0].Path == "" {
				want[0].Path = c.uri
			}
			if want[0].Outcome == "" {
				want[0].Outcome = sol003.OutcomeRefused
			}
		}
		if diff := cmp.Diff(want, kept.take(), ignored); diff != "" {
			t.Errorf("%s %s %v:\n%s", c.method, c.uri, c.header, diff)
		}
	}
}

// TestAuditOfVIMs checks that audit records of the registry of VIMs have codes and created resources, like records of other resources.
func TestAuditOfVIMs(t *testing.T) {
	t.Parallel()
	kept := &records{}
	x := newVNFMWith(t, func(c *vnflcm.Config) { c.Infra["openstack"] = c.Infra["toy"] }, sol003.Options{Authorize: identify, Audit: kept.add}, func(m *vnflcm.Manager, o *sol003.Options) sol003.Manager {
		o.VIMs = m.VIMRegistry()
		return m
	})
	created := x.send("POST", "/v1.0/vims.json", openstackBody, 201)
	id, _ := vimOf(created)["id"].(string)
	if want := x.http.URL + "/v1.0/vims/" + id; created.Header.Get("Location") != want {
		t.Errorf("Location is %q, want %q", created.Header.Get("Location"), want)
	}
	x.send("POST", "/v1.0/vims", openstackBody, 409)
	x.send("POST", "/v1.0/vims", strings.Replace(openstackBody, canary, "***", 1), 400)
	x.send("POST", "/v1.0/vims", `{"vim":{}}`, 400)
	x.send("POST", "/v1.0/vims", `{`, 400)
	x.send("PUT", "/v1.0/vims/"+id, `{"vim":{"auth_url":"https://elsewhere"}}`, 400)
	x.send("DELETE", "/v1.0/vims/none", "", 404)
	var got []string
	for _, r := range kept.take() {
		codes := []string{}
		for _, code := range r.Codes {
			codes = append(codes, string(code))
		}
		got = append(got, strings.ReplaceAll(fmt.Sprint(r.Method, " ", r.Route, " ", r.Created, " ", r.Status, " ", codes), id, "ID"))
	}
	want := []string{"POST /v1.0/vims.json /v1.0/vims/ID 201 []", "POST /v1.0/vims  409 [conflict]", "POST /v1.0/vims  400 [invalid-request]", "POST /v1.0/vims  400 [invalid-request]",
		"POST /v1.0/vims  400 []", "PUT /v1.0/vims/{id}  400 [invalid-request]", "DELETE /v1.0/vims/{id}  404 [not-found]"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestAuditTexts checks that names of senders are limited in length and contain no control characters for terminals.
func TestAuditTexts(t *testing.T) {
	t.Parallel()
	kept := &records{}
	authorizer, err := sol003.NewAuthorizer(sol003.Options{Audit: kept.add, Authorize: func(*http.Request) (sol003.Principal, error) {
		return sol003.Principal{Name: "a\nb\x1b[2Jc\u202ed\xff", Tenant: strings.Repeat("é", 1000)}, nil
	}})
	must(t, err)
	authorizer.Handler(func(http.ResponseWriter, *http.Request, sol003.Principal) error { return nil }).ServeHTTP(
		httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), "POST", "/page?secret="+canary, nil))
	got := kept.take()
	if len(got) != 1 || got[0].Principal != "a\uFFFDb\uFFFD[2Jc\uFFFDd\uFFFD" || len(got[0].Tenant) > 512 || !strings.HasSuffix(got[0].Tenant, "é…") || got[0].Path != "/page" || got[0].Status != 200 {
		t.Errorf("%+v", got)
	}
}

// TestAuditHasNoSecrets searches the records, in every form, for secrets of bodies, headers and queries.
func TestAuditHasNoSecrets(t *testing.T) {
	t.Parallel()
	kept := &records{}
	x := newAudited(t, kept)
	subscriber := newSubscriber(t, nil)
	uri := x.create("v2")
	x.begin(uri+"/instantiate", instantiate, vnflcm.Completed)
	path := strings.TrimPrefix(uri, x.http.URL)
	for _, body := range []string{`{"vnfdId":"` + canary + `"}`, `{"` + canary + `":1}`, canary, `{"additionalParams":{"password":"` + canary + `"}}`} {
		for _, resource := range []string{"/vnflcm/v2/vnf_instances", path + "/heal", path + "/scale", "/vnflcm/v2/subscriptions", strings.Replace(path, "/vnflcm/v2", "/preview/v1", 1) + "/heal"} {
			r, err := http.NewRequestWithContext(t.Context(), "POST", x.http.URL+resource+"?token="+canary, strings.NewReader(body))
			must(t, err)
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("X-Auth-Token", canary)
			r.Header.Set("Cookie", canary)
			response, err := x.http.Client().Do(r)
			must(t, errors.Join(err, response.Body.Close()))
		}
	}
	x.send("POST", "/vnflcm/v2/subscriptions", `{"callbackUri":"`+subscriber.URL+`/one","authentication":{"authType":["BASIC"],"paramsBasic":{"userName":"u","password":"`+canary+`"}}}`, 201)
	x.send("GET", "/vnflcm/v2/vnf_instances?filter=(eq,id,"+canary+")", "", 401, "Authorization", "Bearer "+canary)

	list := kept.take()
	var text bytes.Buffer
	for _, handler := range []slog.Handler{slog.NewTextHandler(&text, nil), slog.NewJSONHandler(&text, nil)} {
		for _, record := range list {
			must(t, sol003.AuditLog(slog.New(handler))(t.Context(), record))
		}
	}
	document, err := json.Marshal(list)
	must(t, err)
	all := fmt.Sprintf("%s %s %+v", text.String(), document, list)
	if strings.Contains(all, canary) || len(list) < 20 || !strings.Contains(text.String(), "request.route=/vnflcm/v2/vnf_instances/{id}/heal") {
		t.Errorf("%d records:\n%s", len(list), all)
	}
}

// TestAuditFails checks that a record that cannot be written is logged, and that the request is answered.
func TestAuditFails(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	kept := &records{err: errors.New("no space left on device")}
	handler, err := sol003.NewHandler(&failing{err: vnflcm.ErrConflict}, sol003.Options{Authorize: identify, Audit: kept.add, Logger: slog.New(slog.NewJSONHandler(&log, nil))})
	must(t, err)
	answer := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), "POST", "/vnflcm/v2/vnf_instances", strings.NewReader(`{"vnfdId":"x"}`))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Name", "nfvo")
	handler.ServeHTTP(answer, r)
	var logged struct {
		Level, Error string
		Request      sol003.AuditRecord
	}
	must(t, json.Unmarshal(log.Bytes(), &logged))
	if answer.Code != 409 || logged.Level != "ERROR" || logged.Error != kept.err.Error() {
		t.Errorf("%d %s", answer.Code, log.String())
	}
	if diff := cmp.Diff(kept.take(), []sol003.AuditRecord{logged.Request}); diff != "" {
		t.Error(diff)
	}
}

// panicking is a Manager that panics.
type panicking struct{ sol003.Manager }

func (panicking) Delete(context.Context, string, string) error { panic("out of range") }

// TestAuditOfPanics checks that a request that ends in a panic has a record, and that the panic reaches the server.
func TestAuditOfPanics(t *testing.T) {
	t.Parallel()
	kept := &records{}
	handler, err := sol003.NewHandler(panicking{}, sol003.Options{Authorize: identify, Audit: kept.add})
	must(t, err)
	func() {
		defer func() {
			if recover() != "out of range" {
				t.Error("the panic was hidden")
			}
		}()
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), "DELETE", "/vnflcm/v2/vnf_instances/x", nil))
	}()
	if got := kept.take(); len(got) != 1 || got[0].Outcome != sol003.OutcomeFailed || got[0].Status != 500 {
		t.Errorf("%+v", got)
	}
}

// TestAuditOfManyClients checks that each of many concurrent requests has one complete record in the log.
func TestAuditOfManyClients(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	handler, err := sol003.NewHandler(&failing{err: vnflcm.ErrNotFound}, sol003.Options{Authorize: identify, Audit: sol003.AuditLog(slog.New(slog.NewJSONHandler(&log, nil)))})
	must(t, err)
	const clients, requests = 20, 20
	var group sync.WaitGroup
	want := map[string]int{}
	for i := range clients {
		name := fmt.Sprint("client ", i)
		want[name] = requests
		group.Go(func() {
			for range requests {
				r := httptest.NewRequestWithContext(t.Context(), "DELETE", "/vnflcm/v2/vnf_instances/x", nil)
				r.Header.Set("X-Name", name)
				r.Header.Set("X-Role", "reader")
				handler.ServeHTTP(httptest.NewRecorder(), r)
			}
		})
	}
	group.Wait()
	got := map[string]int{}
	for line := range strings.Lines(log.String()) {
		var entry struct{ Request sol003.AuditRecord }
		must(t, json.Unmarshal([]byte(line), &entry))
		got[entry.Request.Principal]++
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
