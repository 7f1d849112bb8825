package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/examples/internal/samples"
	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/internal/retry"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/sol003"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// TestPages checks that the pages show the instances and operations of the user's tenant, escape hostile names, and need no script.
func TestPages(t *testing.T) {
	t.Parallel()
	v, err := compose(t.Context(), &config{onSandbox: true, Packages: filepath.Dir(samples.Package("k8s-cluster"))}, slog.New(slog.DiscardHandler))
	must(t, err)
	t.Cleanup(v.close)
	must(t, v.serveAs(sol003.Options{Authorize: func(r *http.Request) (sol003.Principal, error) {
		switch name := r.Header.Get("X-Name"); name {
		case "":
			return sol003.Principal{}, errors.New("password s3cret is wrong")
		case "banned":
			return sol003.Principal{}, sol003.ErrForbidden
		case "operator":
			return sol003.Principal{}, nil
		default:
			return sol003.Principal{Tenant: name}, nil
		}
	}}))
	server := httptest.NewServer(v.routes(nil))
	t.Cleanup(server.Close)
	get := func(path, name string, want int) string {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
		must(t, err)
		r.Header.Set("X-Name", name)
		response, err := server.Client().Do(r)
		must(t, err)
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		must(t, err)
		if response.StatusCode != want {
			t.Fatalf("%s for %q: status %d, want %d\n%s", path, name, response.StatusCode, want, body)
		}
		policy := response.Header.Get("Content-Security-Policy")
		if want == 200 && !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "script") || strings.Contains(string(body), "s3cret") {
			t.Errorf("%s: policy %q\n%s", path, policy, body)
		}
		return string(body)
	}

	const hostile = "<script>alert(1)</script>\" onload=\"x"
	instance, err := v.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: sampleVNFD, VnfInstanceName: hostile, Tenant: "north"})
	must(t, err)
	if page := get("/instances/"+instance.ID, "north", 200); !strings.Contains(page, "No operation has begun") {
		t.Errorf("without operations:\n%s", page)
	}
	request, err := samples.Request(filepath.Join(samples.Package("k8s-cluster"), "requests", "instantiate_sandbox.json"), nil)
	must(t, err)
	operation, err := v.Instantiate(t.Context(), instance.ID, request)
	must(t, err)
	_, err = v.Wait(t.Context(), operation)
	must(t, err)

	_, err = v.Certificates(t.Context(), instance.ID)
	must(t, err)
	home, page, picture := get("/", "north", 200), get("/instances/"+instance.ID, "operator", 200), get("/operations/"+operation+".svg", "north", 200)
	for _, text := range []string{home, page} {
		if strings.Contains(text, "<script") || !strings.Contains(text, "&lt;script&gt;alert(1)") || strings.Contains(text, "refresh") {
			t.Errorf("a hostile name:\n%s", text)
		}
	}
	if !strings.Contains(home, `href="/instances/`+instance.ID) || !strings.Contains(page, `src="/operations/`+operation+`.svg"`) || !strings.Contains(picture, "INSTANTIATE COMPLETED") {
		t.Errorf("%s\n%s\n%s", home, page, picture)
	}

	if !regexp.MustCompile(`<td data-of="certificate ends">\d{4}-\d\d-\d\d, in 36\d days</td>`).MatchString(home) || !strings.Contains(page, "The first certificate ends on ") {
		t.Errorf("certificates:\n%s\n%s", home, page)
	}

	if other := get("/", "south", 200); !strings.Contains(other, "There are no instances") {
		t.Errorf("another tenant sees\n%s", other)
	}
	for path, want := range map[string]int{"/": 200, "/instances/" + instance.ID: 404, "/operations/" + operation + ".svg": 404, "/instances/none": 404, "/operations/none.svg": 404, "/none": 404} {
		get(path, "south", want)
		if want == 404 && path == "/none" {
			continue
		}
		get(path, "", 401)
		get(path, "banned", 403)
	}
	for _, path := range []string{"//vnflcm/v1/vnf_instances", "/vnflcm/./v1/vnf_instances", "/x/../vnflcm/v1/vnf_instances", "//instances/" + instance.ID} {
		get(path, "", 401) // the same answer as the API, without a redirect
		get(path, "operator", 404)
	}
}

// unrenewable is a driver of clusters whose certificates expire soon and cannot be renewed.
type unrenewable struct{ vnflcm.NoopDriver }

func (unrenewable) Maintains(vnflcm.MaintenanceTask) bool { return true }

func (unrenewable) Maintain(context.Context, *vnflcm.Operation) error {
	return errors.New("the cluster does not answer")
}

func (unrenewable) Certificates(context.Context, *vnflcm.Operation) ([]vnflcm.Certificate, error) {
	return []vnflcm.Certificate{{Name: "server.crt", NotAfter: time.Now().Add(24 * time.Hour)}}, nil
}

// TestStoppedWindow checks that every tenant sees that a failed renewal has stopped the maintenance window, and that only the owner and
// the operator see the instance of the renewal.
func TestStoppedWindow(t *testing.T) {
	t.Parallel()
	world, err := sandbox.Open(sandbox.Config{Virtual: []string{"vip_CP"}})
	must(t, err)
	t.Cleanup(func() { must(t, world.Close()) })
	failed := make(chan string, 1)
	m, err := vnflcm.New(t.Context(), vnflcm.Config{Store: store.NewMemory(), Key: bytes.Repeat([]byte{1}, 32), Packages: vnflcm.DirPackages(samples.Package("k8s-cluster")),
		KnownVIMs: vnflcm.VimConnections{{VimID: "sandbox", VimType: "sandbox"}}, Infra: map[string]vnflcm.InfraDriver{"sandbox": world},
		Mgmt:        map[string]vnflcm.MgmtDriver{"mgmt-drivers-kubernetes": unrenewable{}},
		Maintenance: vnflcm.MaintenanceWindow{To: 24 * time.Hour}, LeaseTTL: time.Second, Logger: slog.New(slog.DiscardHandler),
		Observe: func(e vnflcm.Event) {
			if e.Kind == vnflcm.OperationChanged && e.State == vnflcm.FailedTemp {
				failed <- e.OperationID
			}
		}})
	must(t, err)
	t.Cleanup(func() { must(t, m.Close(context.WithoutCancel(t.Context()))) })
	instance, err := m.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: sampleVNFD, Tenant: "north"})
	must(t, err)
	request, err := samples.Request(filepath.Join(samples.Package("k8s-cluster"), "requests", "instantiate_sandbox.json"), nil)
	must(t, err)
	operation, err := m.Instantiate(t.Context(), instance.ID, request)
	must(t, err)
	_, err = m.Wait(t.Context(), operation)
	must(t, err)
	const stopped, owned = "No certificates are renewed in maintenance windows", "has failed. Retry or fail it."
	home := func(tenant string) string {
		body, _, err := (&pages{manager: m}).instances(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil), tenant)
		must(t, err)
		return string(body)
	}
	if page := home(""); strings.Contains(page, stopped) {
		t.Errorf("before the failure:\n%s", page)
	}
	_, err = m.Certificates(t.Context(), instance.ID)
	must(t, err)
	select {
	case operation = <-failed:
	case <-time.After(time.Minute):
		t.Fatal("no renewal has failed within a minute")
	}
	for tenant, want := range map[string]bool{"": true, "north": true, "south": false} {
		page := home(tenant)
		for text, shown := range map[string]bool{stopped: true, owned: want, operation: want, instance.ID: want} {
			if strings.Contains(page, text) != shown {
				t.Errorf("tenant %q: %q shown: %t, want %t\n%s", tenant, text, !shown, shown, page)
			}
		}
	}
}

// TestPageTexts checks that texts of machines and drivers are escaped.
func TestPageTexts(t *testing.T) {
	t.Parallel()
	const hostile = "<script>x</script>"
	ended := vnflcm.KnownCertificate{Certificate: vnflcm.Certificate{Name: hostile, Machine: hostile, NotAfter: time.Date(2020, 1, 2, 0, 0, 0, 0, time.UTC)}}
	operation := &vnflcm.VnfLcmOpOcc{ID: "o1", VnfInstanceID: "i1", Warnings: []string{hostile, "second"},
		Error: &vnflcm.ProblemDetails{Detail: "join: " + hostile, Steps: []vnflcm.StepFailure{{Phase: "p", Step: "s", Host: hostile, Command: "cat " + hostile, ExitCode: 3, Stderr: "more " + hostile}}}}
	instance := &vnflcm.VnfInstance{ID: "i1", VnfInstanceName: hostile, VnfInstanceDescription: hostile, InstantiationState: vnflcm.Instantiated}
	for name, c := range map[string]struct {
		page string
		view any
		want []string
	}{
		"instance": {"instance.html", &instanceView{VnfInstance: instance, Ended: []operationView{{VnfLcmOpOcc: operation, Ends: []ending{{"end it", "curl '" + hostile}}}},
			Certificates: []vnflcm.KnownCertificate{ended}, Further: 7, Fault: hostile, Machines: []machine{{Name: hostile, Host: hostile}}},
			[]string{"2020-01-02, has ended", "<li>second</li>", "could not be read: &lt;script&gt;", "<li>&lt;script&gt;", "of &lt;script&gt;", "7 further certificates",
				"join: &lt;script&gt;", "more &lt;script&gt;", "curl &#39;&lt;script&gt;"}},
		"instances": {"list.html", listView{Rows: []listRow{{row{ID: "i1", Name: hostile, Last: &lastOperation{Error: hostile}}, &ended}}, Stopped: []*vnflcm.VnfLcmOpOcc{operation}, choice: choice{Text: hostile}},
			[]string{">2020-01-02, has ended</td>", `<a href="/instances/i1">operation o1</a> has failed`}},
	} {
		text, _, err := render(c.page, c.view)
		must(t, err)
		for _, want := range c.want {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s: no %q in\n%s", name, want, text)
			}
		}
		if strings.Contains(string(text), "<script") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}

// TestPageOfWait checks that the page and the picture of a running operation say what its step waits for. TestIsolation checks
// that other tenants see neither.
func TestPageOfWait(t *testing.T) {
	t.Parallel()
	v, server := newTenants(t, "")
	instance, err := v.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: sampleVNFD, Tenant: "north"})
	must(t, err)
	request, err := samples.Request(filepath.Join(samples.Package("k8s-cluster"), "requests", "instantiate_sandbox.json"),
		map[string]any{"k8s_cluster_installation_param": map[string]any{"worker_node": map[string]any{"password": "s3cret-and-wrong"}}})
	must(t, err)
	operation, err := v.Instantiate(t.Context(), instance.ID, request)
	must(t, err)
	read := func(path string) string {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
		must(t, err)
		r.Header.Set("X-Tenant", "north")
		response, err := server.Client().Do(r)
		must(t, err)
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		must(t, err)
		return string(body)
	}
	for _, path := range []string{"/instances/" + instance.ID, "/operations/" + operation + ".svg", "/progress/v1/vnf_lcm_op_occs/" + operation} {
		must(t, retry.Policy{First: 50 * time.Millisecond, Most: 200 * time.Millisecond, Within: time.Minute}.Do(t.Context(), func() error {
			if text := read(path); !strings.Contains(text, "authentication refused") || strings.Contains(text, "s3cret") {
				return fmt.Errorf("%s has no reason:\n%s", path, text)
			}
			return nil
		}))
	}
	must(t, v.Cancel(t.Context(), operation, vnflcm.CancelForceful))
	_, err = v.Wait(t.Context(), operation)
	if !errors.Is(err, vnflcm.ErrCancelled) {
		t.Error(err)
	}
}
