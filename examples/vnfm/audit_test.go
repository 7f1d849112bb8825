package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm/sol003"
)

// readAudit returns the records of a file, each as a text.
func readAudit(t *testing.T, name string) (out []string) {
	t.Helper()
	text, err := os.ReadFile(name)
	must(t, err)
	for line := range strings.Lines(string(text)) {
		var r sol003.AuditRecord
		must(t, json.Unmarshal([]byte(line), &r))
		out = append(out, strings.TrimSpace(fmt.Sprint(r.Principal, r.Method, " ", r.Route, r.Command, " ", r.Outcome)))
	}
	return out
}

// TestAuditFile checks that the program and its commands write to the file, also after it has been moved away while the program runs.
func TestAuditFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, settings, data := filepath.Join(dir, "audit.json"), filepath.Join(dir, "vnfm.yaml"), t.TempDir()
	must(t, os.WriteFile(settings, []byte("audit: "+file+"\n"), 0o600))
	p := start(t, data, "-config="+settings)
	instance := p.create(sampleVNFD)
	p.send("GET", instance, nil, 200)
	p.send("POST", instance+"/scale", map[string]any{"type": "secret-canary"}, 409)
	info, err := os.Stat(file)
	must(t, err)
	if info.Mode() != 0o600 {
		t.Errorf("the file has the mode %s", info.Mode())
	}
	must(t, os.Rename(file, file+".1"))
	p.send("DELETE", instance, nil, 204)
	must(t, p.Process.Kill())
	_ = p.Wait()
	migration := exec.CommandContext(t.Context(), os.Args[0], "-config="+settings, "-sandbox", "-data="+data, "-migrate") //nolint:gosec // this test
	migration.Env = append(os.Environ(), asProgram+"=1")
	if out, err := migration.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	failing := exec.CommandContext(t.Context(), os.Args[0], "-config="+settings, "-sandbox", "-data="+file, "-migrate") //nolint:gosec // this test
	failing.Env = append(os.Environ(), asProgram+"=1")
	if out, err := failing.CombinedOutput(); err == nil {
		t.Errorf("a file was taken for the folder of the data:\n%s", out)
	}
	const route = "POST /vnflcm/v2/vnf_instances"
	if diff := cmp.Diff([]string{route + " accepted", route + "/{id}/scale refused"}, readAudit(t, file+".1")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"DELETE /vnflcm/v2/vnf_instances/{id} accepted", operator() + " vnfm -migrate accepted", operator() + " vnfm -migrate failed"}, readAudit(t, file)); diff != "" {
		t.Error(diff)
	}
}

// TestAuditPlaces checks that the program does not start if the file cannot be written, and that "log" writes records to the log.
func TestAuditPlaces(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	_, err := (&config{Audit: filepath.Join(t.TempDir(), "none", "audit")}).auditTo(logger)
	if !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), "audit: ") {
		t.Error(err)
	}
	audit, err := (&config{Audit: "log"}).auditTo(logger)
	must(t, err)
	must(t, audit(t.Context(), sol003.AuditRecord{Command: "x", Outcome: sol003.OutcomeFailed}))
	if !strings.Contains(log.String(), "msg=audit request.") || !strings.Contains(log.String(), "request.outcome=failed") {
		t.Error(log.String())
	}
}

// TestAuditOfManyRequests checks that the records of concurrent requests to two processes with the same file are whole lines.
func TestAuditOfManyRequests(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "audit")
	var group sync.WaitGroup
	for range 2 {
		audit, err := (&config{Audit: name}).auditTo(nil)
		must(t, err)
		for range 10 {
			group.Go(func() {
				for range 20 {
					if err := audit(t.Context(), sol003.AuditRecord{Method: "POST", Path: strings.Repeat("x", 512), Outcome: sol003.OutcomeAccepted}); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	group.Wait()
	if got := readAudit(t, name); len(got) != 400 {
		t.Errorf("%d records", len(got))
	}
}

// TestPageRoles checks that a page needs a role if the settings have roles, and that a refused request for a page has an audit record.
func TestPageRoles(t *testing.T) {
	t.Parallel()
	v, _ := newTenants(t, "")
	var records []sol003.AuditRecord
	must(t, v.serveAs(sol003.Options{Authorize: func(r *http.Request) (sol003.Principal, error) {
		return sol003.Principal{Name: "eve", Role: sol003.Role(r.Header.Get("X-Role"))}, nil
	}, Audit: func(_ context.Context, r sol003.AuditRecord) error {
		records = append(records, r)
		return nil
	}}))
	routes := v.routes(nil)
	for role, want := range map[string]int{"reader": 200, "operator": 200, "admin": 200, "": 200, "none": 403} {
		for _, path := range []string{"/", "/instances/x", "/operations/x.svg"} {
			r, answer := httptest.NewRequestWithContext(t.Context(), "GET", path, nil), httptest.NewRecorder()
			r.Header.Set("X-Role", role)
			routes.ServeHTTP(answer, r)
			if want == 200 && path != "/" && answer.Code == 404 {
				continue
			}
			if answer.Code != want {
				t.Errorf("%s by %q: %d", path, role, answer.Code)
			}
		}
	}
	var got []string
	for _, r := range records {
		got = append(got, fmt.Sprint(r.Principal, " ", r.Route, " ", r.Status))
	}
	if diff := cmp.Diff([]string{"eve /{$} 403", "eve /instances/{id} 403", "eve /operations/{file} 403"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestOtherPaths checks that requests for unknown paths and methods are identified, refused and audited like requests for the API.
func TestOtherPaths(t *testing.T) {
	t.Parallel()
	v, _ := newTenants(t, "")
	var records []sol003.AuditRecord
	must(t, v.serveAs(sol003.Options{Authorize: func(r *http.Request) (sol003.Principal, error) {
		if r.Header.Get("X-Auth-Token") == "" {
			return sol003.Principal{}, errors.New("no token")
		}
		return sol003.Principal{Name: "nfvo"}, nil
	}, Audit: func(_ context.Context, r sol003.AuditRecord) error {
		records = append(records, r)
		return nil
	}}))
	routes := v.routes(nil)
	var want, got []string
	for _, request := range []string{"POST /", "DELETE /instances/x", "POST /healthz", "PUT /unknown", "POST /vnflcm", "GET /vnflcm", "GET /unknown", "POST //", "GET //"} {
		for token, status := range map[string]int{"": 401, "t": 404} {
			method, path, _ := strings.Cut(request, " ")
			r, answer := httptest.NewRequestWithContext(t.Context(), method, "http://vnfm"+path, nil), httptest.NewRecorder()
			r.Header.Set("X-Auth-Token", token)
			routes.ServeHTTP(answer, r)
			if answer.Code != status || answer.Header().Get("Content-Type") != "application/problem+json" {
				t.Errorf("%s with the token %q: %d %s", request, token, answer.Code, answer.Body)
			}
			if status == 401 || method != "GET" {
				want = append(want, fmt.Sprint(request, " ", status))
			}
		}
	}
	for _, r := range records {
		got = append(got, fmt.Sprint(r.Method, " ", r.Path, " ", r.Status))
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for path, status := range map[string]int{"/healthz": 200, "/readyz": 200, "/": 401} {
		answer := httptest.NewRecorder()
		routes.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), "GET", path, nil))
		if answer.Code != status {
			t.Errorf("GET %s: %d", path, answer.Code)
		}
	}
}
