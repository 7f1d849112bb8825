package sol003_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/sol003"
)

// keeper is a driver that only renews certificates.
type keeper struct{ vnflcm.NoopDriver }

func (keeper) Maintains(task vnflcm.MaintenanceTask) bool { return task == vnflcm.RenewCertificates }

// Configure implements vnflcm.Configurer.
func (keeper) Configure(properties vnflcm.Params) (vnflcm.MaintainVnfRequest, bool, error) {
	var given struct {
		Renew bool `json:"renew"`
	}
	_, err := properties.Decode(&given)
	return vnflcm.MaintainVnfRequest{Task: vnflcm.RenewCertificates}, given.Renew, err
}

func (keeper) Validate(_ context.Context, op *vnflcm.Operation) error {
	if op.Maintain != nil && strings.Contains(string(op.Maintain.AdditionalParams.Reveal()), "wrong") {
		return &vnflcm.ParamError{Path: "additionalParams.wrong", Reason: "is wrong"}
	}
	return nil
}

func (keeper) Maintain(ctx context.Context, op *vnflcm.Operation) error {
	return vnflcm.Do(ctx, op, "renew", "", func(context.Context) error { return nil })
}

// withKeeper configures a VNF whose VNFD names the keeper for a hook.
func withKeeper(t *testing.T) func(*vnflcm.Config) {
	t.Helper()
	dir, files := t.TempDir(), maps.Clone(toyPackage)
	const definitions = "Definitions/simple.yaml"
	text := strings.Replace(string(files[definitions].Data), "interfaces: {Vnflcm: {instantiate: []}}",
		"artifacts: {keeper: {type: tosca.artifacts.Implementation.Python, file: top.yaml}}\n      interfaces: {Vnflcm: {instantiate_end: {implementation: keeper}}}", 1)
	files[definitions] = &fstest.MapFile{Data: []byte(text)}
	must(t, os.CopyFS(filepath.Join(dir, "toy"), files))
	return func(c *vnflcm.Config) {
		c.Packages, c.Mgmt = vnflcm.DirPackages(dir), map[string]vnflcm.MgmtDriver{"keeper": keeper{}}
	}
}

// TestMaintenance checks that the answer to a maintenance task has the URI of its occurrence, which is MODIFY_INFO in both versions.
func TestMaintenance(t *testing.T) {
	t.Parallel()
	x := newVNFM(t, withKeeper(t), sol003.Options{})
	uri := x.running("v1")
	task := "/maintenance/v1/vnf_instances/" + uri[strings.LastIndex(uri, "/")+1:] + "/renew_certificates"
	a := x.send("POST", task, `{"additionalParams":{"password":"`+canary+`"}}`, 202)
	location := a.Header.Get("Location")
	for _, uri := range []string{location, strings.Replace(location, "/v2/", "/v1/", 1)} {
		occurrence := x.await(uri, vnflcm.Completed)
		if occurrence.object()["operation"] != "MODIFY_INFO" || strings.Contains(occurrence.body, canary) {
			t.Errorf("%s: %s", uri, occurrence.body)
		}
		want := object{"task": "renew_certificates", "additionalParams": object{"password": "***"}}
		if diff := cmp.Diff(any(want), occurrence.object()["operationParams"]); diff != "" {
			t.Errorf("%s: operationParams:\n%s", uri, diff)
		}
	}
	x.send("POST", task, `{"until":"2020-01-01T00:00:00Z"}`, 422)
	later := x.send("POST", task, `{"until":"2099-01-01T00:00:00Z"}`, 202).Header.Get("Location")
	want := object{"task": "renew_certificates", "until": "2099-01-01T00:00:00Z"}
	if diff := cmp.Diff(any(want), x.await(later, vnflcm.Completed).object()["operationParams"]); diff != "" {
		t.Errorf("operationParams:\n%s", diff)
	}
	got := x.send("POST", "/preview"+strings.TrimPrefix(task, "/maintenance"), `{}`, 200).object()
	tasks := []any{object{"number": float64(1), "phase": "maintain:keeper", "purpose": "the driver keeper does not tell what it does"}}
	if diff := cmp.Diff(any(tasks), got["tasks"]); diff != "" || got["operation"] != "MODIFY_INFO" {
		t.Errorf("the preview is of %v:\n%s", got["operation"], diff)
	}
	instance := "/preview" + strings.TrimSuffix(strings.TrimPrefix(task, "/maintenance"), "/renew_certificates")
	if diff := cmp.Diff(any(got), x.send("PATCH", instance, `{"vnfConfigurableProperties":{"renew":true}}`, 200).tree); diff != "" {
		t.Errorf("the preview of a modification:\n%s", diff)
	}
	x.send("PATCH", instance, `{"vnfInstanceName":"other"}`, 404)
}

// Certificates implements vnflcm.CertificateReader.
func (keeper) Certificates(_ context.Context, op *vnflcm.Operation) (out []vnflcm.Certificate, err error) {
	for _, v := range op.VNFCs {
		out = append(out, vnflcm.Certificate{On: v.ID, Name: "server.crt", NotAfter: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)})
	}
	return append(out, vnflcm.Certificate{Name: "<ca>", NotAfter: time.Date(2040, 1, 2, 3, 4, 5, 0, time.UTC), IsCA: true}), errors.New("some are missing")
}

// TestCertificates checks that the resource contains the certificates that were read last, without a connection to a machine, and only for
// senders who may use the instance.
func TestCertificates(t *testing.T) {
	t.Parallel()
	x := newVNFM(t, withKeeper(t), sol003.Options{Authorize: func(r *http.Request) (sol003.Principal, error) {
		if r.Header.Get("X-Tenant") == "" {
			return sol003.Principal{}, errors.New("unknown")
		}
		return sol003.Principal{Tenant: r.Header.Get("X-Tenant")}, nil
	}})
	instance := x.send("POST", "/vnflcm/v2/vnf_instances", `{"vnfdId":"`+toyVNFD+`"}`, 201, "X-Tenant", "a").Header.Get("Location")
	id := instance[strings.LastIndex(instance, "/")+1:]
	uri := "/maintenance/v1/vnf_instances/" + id + "/certificates"
	if diff := cmp.Diff(object{"certificates": []any{}}, x.send("GET", uri, "", 200, "X-Tenant", "a").object()); diff != "" {
		t.Errorf("before instantiating:\n%s", diff)
	}
	begun := x.send("POST", instance+"/instantiate", `{"flavourId":"simple"}`, 202, "X-Tenant", "a").Header.Get("Location")
	if _, err := x.Wait(t.Context(), begun[strings.LastIndex(begun, "/")+1:]); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Certificates(t.Context(), id); err == nil {
		t.Fatal("the toy driver reads all certificates, but the test needs one that fails")
	}
	got := x.send("GET", uri, "", 200, "X-Tenant", "a").object()
	list, _ := got["certificates"].([]any)
	if len(list) < 2 || got["fault"] != "some are missing" || got["nextReadTime"] == nil {
		t.Fatalf("%v", got)
	}
	first, _ := list[0].(object)
	if first["notAfter"] != "2030-01-02T03:04:05Z" || first["name"] != "server.crt" || first["vnfcInstanceId"] == "" || first["isCa"] != false || first["readTime"] == nil {
		t.Errorf("%v", first)
	}
	if last, _ := list[len(list)-1].(object); last["isCa"] != true || last["name"] != "<ca>" {
		t.Errorf("%v", last)
	}
	x.send("GET", uri, "", 404, "X-Tenant", "b")
	x.send("GET", uri, "", 401)
	x.send("POST", uri, "{}", 405, "X-Tenant", "a")
	x.send("GET", "/maintenance/v1/vnf_instances/none/certificates", "", 404, "X-Tenant", "a")
}

// TestMaintenanceRefused checks that a maintenance task and its preview are refused with the same errors as other tasks.
func TestMaintenanceRefused(t *testing.T) {
	t.Parallel()
	x := newVNFM(t, withKeeper(t), sol003.Options{Authorize: func(r *http.Request) (sol003.Principal, error) {
		if r.Header.Get("X-Tenant") == "" {
			return sol003.Principal{}, errors.New("unknown")
		}
		return sol003.Principal{Tenant: r.Header.Get("X-Tenant")}, nil
	}})
	created := x.send("POST", "/vnflcm/v2/vnf_instances", `{"vnfdId":"`+toyVNFD+`"}`, 201, "X-Tenant", "a").Header.Get("Location")
	id := created[strings.LastIndex(created, "/")+1:]
	running := x.send("POST", "/vnflcm/v2/vnf_instances", `{"vnfdId":"`+toyVNFD+`"}`, 201, "X-Tenant", "a").Header.Get("Location")
	begun := x.send("POST", running+"/instantiate", `{"flavourId":"simple"}`, 202, "X-Tenant", "a").Header.Get("Location")
	if _, err := x.Wait(t.Context(), begun[strings.LastIndex(begun, "/")+1:]); err != nil {
		t.Fatal(err)
	}
	runs := running[strings.LastIndex(running, "/")+1:]
	for name, c := range map[string]struct {
		method, id, task, body, tenant string
		want                           int
	}{
		"without credentials":    {"POST", runs, "renew_certificates", `{}`, "", 401},
		"of another tenant":      {"POST", runs, "renew_certificates", `{}`, "b", 404},
		"before instantiating":   {"POST", id, "renew_certificates", `{}`, "a", 409},
		"with a wrong parameter": {"POST", runs, "renew_certificates", `{"additionalParams":{"wrong":1}}`, "a", 422},
		"that is no JSON":        {"POST", runs, "renew_certificates", `{`, "a", 400},
		"that is unknown":        {"POST", runs, "paint", `{}`, "a", 404},
		"by a method without it": {"GET", runs, "renew_certificates", "", "a", 405},
		"of an unknown instance": {"POST", "none", "renew_certificates", `{}`, "a", 404},
		"by another method":      {"PUT", runs, "renew_certificates", `{}`, "a", 405},
	} {
		t.Run(name, func(t *testing.T) {
			for _, prefix := range []string{"/maintenance/v1", "/preview/v1"} {
				x.send(c.method, prefix+"/vnf_instances/"+c.id+"/"+c.task, c.body, c.want, "X-Tenant", c.tenant)
			}
		})
	}
}
