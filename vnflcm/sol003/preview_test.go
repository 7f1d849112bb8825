package sol003_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm/sol003"
)

// TestPreview checks that a preview accepts the body of the task in both versions, returns the phases of the operation, and changes
// nothing.
func TestPreview(t *testing.T) {
	t.Parallel()
	x := newVNFM(t, nil, sol003.Options{})
	uri := x.running("v1")
	before := x.send("GET", uri, "", 200)
	id := uri[strings.LastIndex(uri, "/")+1:]
	instance, err := x.Get(t.Context(), id)
	must(t, err)
	vnfc := instance.InstantiatedVnfInfo.VnfcResourceInfo[0].ID
	for _, c := range []struct{ task, body, want string }{
		{"scale", `{"type":"SCALE_OUT","aspectId":"workers"}`, `{"vnfInstanceId":"` + id + `","operation":"SCALE","scaleLevels":{"workers":1},
			"affectedVnfcs":[{"machine":"new worker","vduId":"worker","changeType":"ADDED"}],
			"tasks":[{"number":1,"phase":"scale","name":"add","machine":"new worker","purpose":"the VIM makes the machine"}]}`},
		{"heal", `{"vnfcInstanceId":["` + vnfc + `"]}`, `{"vnfInstanceId":"` + id + `","operation":"HEAL","scaleLevels":{"workers":0},
			"affectedVnfcs":[{"id":"` + vnfc + `","machine":"worker0","vduId":"worker","changeType":"MODIFIED"}],
			"tasks":[{"number":1,"phase":"heal","name":"replace","vnfcInstanceId":"` + vnfc + `","machine":"worker0","purpose":"the VIM makes another machine in the place of this one"}]}`},
		{"terminate", `{"terminationType":"FORCEFUL"}`, `{"vnfInstanceId":"` + id + `","operation":"TERMINATE","scaleLevels":{"workers":0},
			"affectedVnfcs":[{"id":"` + vnfc + `","machine":"worker0","vduId":"worker","changeType":"REMOVED"}],
			"tasks":[{"number":1,"phase":"terminate","name":"remove","vnfcInstanceId":"` + vnfc + `","machine":"worker0","purpose":"the VIM removes the machine"}]}`},
	} {
		got := x.send("POST", "/preview/v1/vnf_instances/"+id+"/"+c.task, c.body, 200)
		var want any
		must(t, json.Unmarshal([]byte(c.want), &want))
		if diff := cmp.Diff(want, got.tree); diff != "" {
			t.Errorf("%s:\n%s", c.task, diff)
		}
	}
	if after := x.send("GET", uri, "", 200); after.body != before.body {
		t.Errorf("the previews have changed the instance:\n%s", cmp.Diff(before.tree, after.tree))
	}
}

// TestPreviewRefused checks that a preview is refused with the same errors as the task.
func TestPreviewRefused(t *testing.T) {
	t.Parallel()
	x := newVNFM(t, nil, sol003.Options{Authorize: func(r *http.Request) (sol003.Principal, error) {
		if r.Header.Get("X-Tenant") == "" {
			return sol003.Principal{}, errors.New("unknown")
		}
		return sol003.Principal{Tenant: r.Header.Get("X-Tenant")}, nil
	}})
	created := x.send("POST", "/vnflcm/v2/vnf_instances", `{"vnfdId":"`+toyVNFD+`"}`, 201, "X-Tenant", "a").Header.Get("Location")
	uri := "/preview/v1/vnf_instances/" + created[strings.LastIndex(created, "/")+1:]
	for name, c := range map[string]struct {
		method, uri, body, tenant string
		want                      int
	}{
		"allowed":                {"POST", uri + "/instantiate", `{"flavourId":"simple"}`, "a", 200},
		"without credentials":    {"POST", uri + "/instantiate", `{"flavourId":"simple"}`, "", 401},
		"of another tenant":      {"POST", uri + "/instantiate", `{"flavourId":"simple"}`, "b", 404},
		"of an unknown flavour":  {"POST", uri + "/instantiate", `{"flavourId":"none"}`, "a", 422},
		"with an unknown name":   {"POST", uri + "/instantiate", `{"flavourID":"simple"}`, "a", 422},
		"that is no JSON":        {"POST", uri + "/instantiate", `{`, "a", 400},
		"in the wrong state":     {"POST", uri + "/terminate", `{"terminationType":"FORCEFUL"}`, "a", 409},
		"of a task without one":  {"POST", uri + "/change_ext_conn", `{}`, "a", 404},
		"by a method without it": {"GET", uri + "/instantiate", "", "a", 405},
	} {
		t.Run(name, func(t *testing.T) {
			x.send(c.method, c.uri, c.body, c.want, "X-Tenant", c.tenant)
		})
	}
}
