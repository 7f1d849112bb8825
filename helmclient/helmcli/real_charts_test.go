package helmcli_test

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/helmclient/helmcli"
)

const canary = "canary's \"pass\" $(word)"

// charts is a server of a repository and of an OCI registry, both with a password.
func charts(t *testing.T, tls bool) (server *httptest.Server, ca []byte) {
	t.Helper()
	oci := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "u" || password != canary {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		switch r.URL.Path {
		case "/charts/index.yaml":
			_, _ = fmt.Fprintf(w, "apiVersion: v1\nentries:\n  web:\n  - {apiVersion: v2, name: web, version: 1.2.3, urls: [web-1.2.3.tgz]}\n")
		case "/charts/web-1.2.3.tgz":
			_, _ = io.Copy(w, opened(t, web(t, nil)))
		default:
			oci.ServeHTTP(w, r)
		}
	})
	if tls {
		server = httptest.NewTLSServer(handler)
		ca = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	} else {
		server = httptest.NewServer(handler)
	}
	t.Cleanup(server.Close)
	return server, ca
}

func opened(t *testing.T, open func() (io.ReadCloser, error)) io.Reader {
	r, err := open()
	if err != nil {
		t.Error(err)
		return http.NoBody
	}
	return r
}

func TestRealRepositories(t *testing.T) {
	var ran []string
	var lock recording
	lock.ran = &ran
	two := []helmcli.Machine{{Name: "m1", Runner: &lock}, {Name: "m2", Runner: &lock}}
	c := real(t, two[0])
	ctx := t.Context()
	want := &helmclient.ChartInfo{Name: "web", Version: "1.2.3", AppVersion: "4", Description: "A web server."}
	for _, tls := range []bool{false, true} {
		server, ca := charts(t, tls)
		access := helmclient.Access{Username: "u", Password: helmclient.NewPassword(canary), CA: ca}
		r := helmclient.Repository{Name: "stable", URL: server.URL + "/charts", Access: access}
		if err := c.AddRepository(ctx, r); err != nil {
			t.Fatal(err)
		}
		if err := c.UpdateRepositories(ctx); err != nil {
			t.Error(err)
		}
		for _, chart := range []helmclient.Chart{{Ref: "stable/web"}, {Ref: "stable/web", Version: "^1.2"}, {Ref: server.URL + "/charts/web-1.2.3.tgz", Access: access}} {
			if info, err := c.Show(ctx, chart); err != nil || cmp.Diff(want, info) != "" {
				t.Error(chart.Ref, info, err)
			}
			name, err := c.Pull(ctx, chart, t.TempDir())
			if err != nil || filepath.Base(name) != "web-1.2.3.tgz" {
				t.Fatal(name, err)
			}
			if data, err := os.ReadFile(name); err != nil || !bytes.Equal(data, packedWeb(t)) {
				t.Error("another archive", err)
			}
		}
		if _, err := c.Show(ctx, helmclient.Chart{Ref: "stable/web", Version: "9.9.9"}); !errors.Is(err, helmclient.ErrInvalidChart) {
			t.Error(err)
		}
		access.Password = helmclient.NewPassword("wrong-canary")
		r.Access, r.Name = access, "wrong"
		if err := c.AddRepository(ctx, r); !errors.Is(err, helmclient.ErrDenied) || strings.Contains(err.Error(), "canary") {
			t.Error(err)
		}
		if err := c.RemoveRepository(ctx, "stable"); err != nil {
			t.Error(err)
		}
		if err := c.RemoveRepository(ctx, "stable"); err != nil {
			t.Error(err)
		}
		if _, err := c.Show(ctx, helmclient.Chart{Ref: "stable/web"}); !errors.Is(err, helmclient.ErrInvalid) {
			t.Error(err)
		}
	}
	for _, line := range ran {
		if strings.Contains(line, "canary") {
			t.Errorf("on a command line: %s", line)
		}
	}
}

func packedWeb(t *testing.T) []byte {
	data, err := io.ReadAll(opened(t, web(t, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

type recording struct{ shell }

func TestRealRegistry(t *testing.T) {
	c := real(t)
	for _, tls := range []bool{false, true} {
		server, ca := charts(t, tls)
		host := strings.TrimPrefix(strings.TrimPrefix(server.URL, "https://"), "http://")
		dir := t.TempDir()
		save(t, dir+"/web.tgz", web(t, nil))
		how := []string{"--registry-config", dir + "/registry.json", "--plain-http"}
		if tls {
			if err := os.WriteFile(dir+"/ca.pem", ca, 0o600); err != nil {
				t.Fatal(err)
			}
			how = []string{"--registry-config", dir + "/registry.json", "--ca-file", dir + "/ca.pem"}
		}
		for _, argv := range [][]string{append([]string{"registry", "login", host, "-u", "u", "-p", canary}, how...), append([]string{"push", dir + "/web.tgz", "oci://" + host + "/charts"}, how...)} {
			if out, err := exec.CommandContext(t.Context(), "helm", argv...).CombinedOutput(); err != nil {
				t.Fatalf("%s: %v", out, err)
			}
		}
		chart := helmclient.Chart{Ref: "oci://" + host + "/charts/web", Access: helmclient.Access{Username: "u", Password: helmclient.NewPassword(canary), CA: ca, PlainHTTP: !tls}}
		if info, err := c.Show(t.Context(), chart); err != nil || info.Version != "1.2.3" {
			t.Error(info, err)
		}
		if name, err := c.Pull(t.Context(), chart, t.TempDir()); err != nil || filepath.Base(name) != "web-1.2.3.tgz" {
			t.Error(name, err)
		}
		chart.Access.Password = helmclient.NewPassword("wrong-canary")
		if _, err := c.Show(t.Context(), chart); !errors.Is(err, helmclient.ErrDenied) || strings.Contains(err.Error(), "canary") {
			t.Error(err)
		}
		chart.Access = helmclient.Access{PlainHTTP: true}
		chart.Ref += "/nosuch"
		if _, err := c.Show(t.Context(), chart); err == nil {
			t.Error("a chart that does not exist is shown")
		}
	}
}

const crd = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.vnfkit.example}
spec:
  group: vnfkit.example
  names: {kind: Thing, plural: things, singular: thing, listKind: ThingList}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, description: %s, x-kubernetes-preserve-unknown-fields: true}}}]
`

func TestRealCRDs(t *testing.T) {
	c := real(t)
	ctx := t.Context()
	n := helmclient.Name{Release: "crds"}
	kubectl := func(args ...string) string {
		out, err := exec.CommandContext(context.WithoutCancel(ctx), "kubectl", append([]string{"--kubeconfig", kubeconfig(t)}, args...)...).CombinedOutput()
		if err != nil {
			return err.Error() + string(out)
		}
		return string(out)
	}
	clean := func() {
		uninstalled(t, c, n)
		kubectl("delete", "crd", "things.vnfkit.example", "--ignore-not-found")
	}
	clean()
	t.Cleanup(clean)
	with := func(text string) helmclient.Install {
		return helmclient.Install{Name: n, Chart: helmclient.Chart{Archive: web(t, map[string]string{"web/crds/thing.yaml": fmt.Sprintf(crd, text),
			"web/templates/thing.yaml": "apiVersion: vnfkit.example/v1\nkind: Thing\nmetadata: {name: x}\n"})}}
	}
	text := func() string {
		return kubectl("get", "crd", "things.vnfkit.example", "-o", "jsonpath={.spec.versions[0].schema.openAPIV3Schema.description}")
	}
	in := with("one")
	in.CRDs = helmclient.CRDSkip
	if _, err := c.Install(ctx, in); !errors.Is(err, helmclient.ErrInvalidChart) {
		t.Fatal(err)
	}
	in.CRDs = helmclient.CRDCreate
	uninstalled(t, c, n)
	if _, err := c.Install(ctx, in); err != nil || text() != "one" {
		t.Fatal(err, text())
	}
	in = with("two")
	if _, err := c.Upgrade(ctx, helmclient.Upgrade{Install: in}); err != nil || text() != "one" {
		t.Fatal(err, text())
	}
	in.CRDs = helmclient.CRDCreateReplace
	if _, err := c.Upgrade(ctx, helmclient.Upgrade{Install: in}); err != nil || text() != "two" {
		t.Fatal(err, text())
	}
	clean()
	if _, err := c.Install(ctx, in); err != nil || text() != "two" {
		t.Fatal(err, text())
	}
}

func TestRealRendering(t *testing.T) {
	c := real(t)
	ctx := t.Context()
	n := helmclient.Name{Namespace: "rendered", Release: "rendered"}
	uninstalled(t, c, n)
	t.Cleanup(func() { uninstalled(t, c, n) })
	in := helmclient.Install{Name: n, Chart: helmclient.Chart{Archive: web(t, nil)}, Values: helmclient.Values{Set: []string{"replicas=4"}}}
	manifest, err := c.Template(ctx, in)
	if err != nil || !strings.Contains(manifest, "replicas: 4") || !strings.Contains(manifest, "ns: rendered") {
		t.Fatal(manifest, err)
	}
	in.DryRun, in.CreateNamespace = true, true
	r, err := c.Install(ctx, in)
	if err != nil || !strings.Contains(r.Manifest, "replicas: 4") || r.Chart.Version != "1.2.3" || r.Notes == "" || r.Revision != 1 {
		t.Fatal(r, err)
	}
	if _, err := c.Status(ctx, n); !errors.Is(err, helmclient.ErrNotFound) {
		t.Error(err)
	}
	in.DryRun = false
	in.PostRender = func(_ context.Context, manifest []byte) ([]byte, error) {
		return bytes.ReplaceAll(manifest, []byte("replicas: 4"), []byte("replicas: 5")), nil
	}
	for range 2 {
		if r, err = c.Upgrade(ctx, helmclient.Upgrade{Install: in, OrInstall: true}); err != nil || !strings.Contains(r.Manifest, "replicas: 5") {
			t.Fatal(r, err)
		}
	}
	if r.Revision != 2 {
		t.Error(r.Revision)
	}
}

func TestRealParallel(t *testing.T) {
	c := real(t)
	done := make(chan error)
	const many = 6
	for i := range many {
		n := helmclient.Name{Release: fmt.Sprintf("parallel-%d", i/2)}
		uninstalled(t, c, n)
		t.Cleanup(func() { uninstalled(t, c, n) })
		go func() {
			_, err := c.Install(t.Context(), helmclient.Install{Name: n, Chart: helmclient.Chart{Archive: web(t, nil)}, Wait: helmclient.Wait{Ready: true, Timeout: time.Minute}})
			done <- err
		}()
	}
	busy, failed := 0, 0
	for range many {
		switch err := <-done; {
		case errors.Is(err, helmclient.ErrBusy):
			busy++
		case err != nil:
			t.Error(err)
			failed++
		}
	}
	if busy != many/2 || failed > 0 {
		t.Error(busy, "were busy")
	}
}
