package inprocesstest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/vnfkit/vnfkit/helmclient"
)

// Packed is a .tgz with the members given.
func Packed(members map[string]string) []byte {
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	w := tar.NewWriter(zipped)
	for name, text := range members {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}); err != nil {
			panic(err)
		}
		_, _ = io.WriteString(w, text)
	}
	_ = w.Close()
	_ = zipped.Close()
	return out.Bytes()
}

func small(version string) map[string]string {
	return map[string]string{
		"small/Chart.yaml":            "apiVersion: v2\nname: small\nversion: " + version + "\n",
		"small/templates/config.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {text: {{ .Values.text | quote }}}\n",
	}
}

func archive(text []byte) helmclient.Chart {
	return helmclient.Chart{Archive: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }}
}

// Open makes a client for a cluster, which need not exist.
type Open func(cluster *rest.Config, dir string) (helmclient.Client, error)

// at opens a client for the API server at a URL.
func (o Open) at(t *testing.T, host, dir string) helmclient.Client {
	t.Helper()
	c, err := o(&rest.Config{Host: host}, dir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// RunAlone checks what needs no cluster. It sets environment variables, so it is not for parallel tests.
func RunAlone(t *testing.T, open Open) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, Open){
		"config": testConfig, "errors of the API": testErrorsOfTheAPI, "hanging API": testHangingAPI, "huge answers": testHugeAnswers, "only one": testOnlyOne,
		"repositories of two clients": testRepositoriesOfTwoClients, "directories": testDirectories, "unusable indexes": testUnusableIndexes, "newest version": testNewestVersion, "nothing from the environment": testNothingFromTheEnvironment,
	} {
		t.Run(name, func(t *testing.T) { test(t, open) })
	}
}

func testConfig(t *testing.T, open Open) {
	t.Parallel()
	cluster := &rest.Config{Host: "https://192.0.2.1"}
	for name, try := range map[string]func() (helmclient.Client, error){
		"no cluster": func() (helmclient.Client, error) { return open(nil, "x") },
		"no dir":     func() (helmclient.Client, error) { return open(cluster, "") },
		"bad CA": func() (helmclient.Client, error) {
			return open(&rest.Config{Host: "https://192.0.2.1", TLSClientConfig: rest.TLSClientConfig{CAData: []byte("x")}}, "x")
		},
	} {
		if _, err := try(); !errors.Is(err, helmclient.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// testUnusableIndexes: a chart whose newest version a repository cannot give is refused with the reason.
func testUnusableIndexes(t *testing.T, open Open) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{apiVersion: v1, entries: {early: [{name: early, version: 1.0.0-rc.1, urls: [early.tgz]}, {name: early, version: 1.0.0-beta, urls: [early.tgz]}],
			nowhere: [{name: nowhere, version: 1.0.0}]}}`)
	}))
	t.Cleanup(s.Close)
	c := open.at(t, "https://192.0.2.1", t.TempDir())
	if err := c.AddRepository(t.Context(), helmclient.Repository{Name: "site", URL: s.URL}); err != nil {
		t.Fatal(err)
	}
	for ref, want := range map[string]string{
		"site/early":   "repository site has only pre-releases of chart early, such as 1.0.0-rc.1: name the version",
		"site/nowhere": "the index of repository site has no URL for version 1.0.0 of chart nowhere",
		"site/none":    "repository site has no chart none",
	} {
		if _, err := c.Show(t.Context(), helmclient.Chart{Ref: ref}); !errors.Is(err, helmclient.ErrInvalidChart) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", ref, err)
		}
	}
}

// testRepositoriesOfTwoClients adds through two clients at once: none may be lost.
func testRepositoriesOfTwoClients(t *testing.T, open Open) {
	t.Parallel()
	chart := Packed(small("1.0.0"))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "index.yaml") {
			_, _ = io.WriteString(w, "apiVersion: v1\nentries:\n  small:\n  - {apiVersion: v2, name: small, version: 1.0.0, urls: [small.tgz]}\n")
			return
		}
		_, _ = w.Write(chart)
	}))
	t.Cleanup(s.Close)
	dir := filepath.Join(t.TempDir(), "helm")
	clients := []helmclient.Client{open.at(t, "https://192.0.2.1", dir), open.at(t, "https://192.0.2.1", dir)}
	const each = 8
	var running sync.WaitGroup
	for i := range 2 * each {
		running.Go(func() {
			err := clients[i%2].AddRepository(t.Context(), helmclient.Repository{
				Name: fmt.Sprintf("r%d", i), URL: s.URL, Access: helmclient.Access{Username: "u", Password: helmclient.NewPassword("p")},
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	for i := range 2 * each {
		if info, err := clients[0].Show(t.Context(), helmclient.Chart{Ref: fmt.Sprintf("r%d/small", i)}); err != nil || info.Version != "1.0.0" {
			t.Errorf("repository %d: %v %v", i, info, err)
		}
	}
	if err := clients[1].UpdateRepositories(t.Context()); err != nil {
		t.Error(err)
	}
	var left []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v: it can be read by others", path, info.Mode())
		}
		left = append(left, e.Name())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(left, func(name string) bool { return strings.HasPrefix(name, ".") }) {
		t.Errorf("unfinished files are left: %v", left)
	}
}

// testDirectories reads an unpacked chart, and refuses one with a link out of it.
func testDirectories(t *testing.T, open Open) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range small("1.0.0") {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := open.at(t, "https://192.0.2.1", t.TempDir())
	chart := helmclient.Chart{Path: filepath.Join(dir, "small")}
	into := t.TempDir()
	path, err := c.Pull(t.Context(), chart, into)
	if err != nil || path != filepath.Join(into, "small-1.0.0.tgz") {
		t.Fatal(path, err)
	}
	if info, err := c.Show(t.Context(), helmclient.Chart{Path: path}); err != nil || info.Name != "small" {
		t.Error(info, err)
	}
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "small", ".helmignore"), []byte("ci/\n"), 0o600), os.Mkdir(filepath.Join(dir, "small", "ci"), 0o750),
		os.Symlink("nowhere", filepath.Join(dir, "small", "ci", "broken"))); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Show(t.Context(), chart); err != nil {
		t.Errorf("chart with a broken link in an ignored directory: %v", err)
	}
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte("hunter2"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, filepath.Join(dir, "small", "templates", "linked.yaml")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Show(t.Context(), chart); !errors.Is(err, helmclient.ErrInvalidChart) {
		t.Errorf("chart with a link out of it: %v", err)
	}
}

// testNothingFromTheEnvironment has all of Helm's and kubectl's variables and files say something else.
func testNothingFromTheEnvironment(t *testing.T, open Open) {
	home := t.TempDir()
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "HELM_CONFIG_HOME", "HELM_CACHE_HOME", "HELM_DATA_HOME", "DOCKER_CONFIG"} {
		t.Setenv(name, home)
	}
	for _, name := range []string{"KUBECONFIG", "HELM_REPOSITORY_CONFIG", "HELM_REPOSITORY_CACHE", "HELM_REGISTRY_CONFIG"} {
		t.Setenv(name, filepath.Join(home, "none"))
	}
	t.Setenv("HELM_DRIVER", "nonsense")
	t.Setenv("HELM_NAMESPACE", "elsewhere")
	var mu sync.Mutex
	var asked []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, r.URL.Path)
		w.WriteHeader(http.StatusForbidden)
	}))
	t.Cleanup(s.Close)
	c := open.at(t, s.URL, t.TempDir())
	calls(t.Context(), c)
	_ = c.AddRepository(t.Context(), helmclient.Repository{Name: "a", URL: s.URL})
	_, _ = c.Show(t.Context(), helmclient.Chart{
		Ref: "oci://" + strings.TrimPrefix(s.URL, "http://") + "/a", Version: "1.0.0", Access: helmclient.Access{PlainHTTP: true},
	})
	mu.Lock()
	defer mu.Unlock()
	if !slices.Contains(asked, "/api/v1/namespaces/default/secrets") {
		t.Errorf("the API was asked for %v", asked)
	}
	left, err := os.ReadDir(home)
	if err != nil || len(left) > 0 {
		t.Errorf("files in the home directory: %v %v", left, err)
	}
}

// testNewestVersion: without a cluster, templates see the version of Kubernetes that Helm is built for. go.mod has it as that of
// client-go.
func testNewestVersion(t *testing.T, open Open) {
	t.Parallel()
	module, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	minor := regexp.MustCompile(`k8s.io/client-go v0\.(\d+)\.`).FindSubmatch(module)
	chart := small("1.0.0")
	chart["small/templates/v.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: v}\ndata: {version: {{ .Capabilities.KubeVersion.Version }}}\n"
	manifest, err := open.at(t, "https://127.0.0.1:1", t.TempDir()).Template(t.Context(), helmclient.Install{
		Name: helmclient.Name{Release: "r"}, Chart: archive(Packed(chart))})
	if err != nil || !strings.Contains(manifest, "version: v1."+string(minor[1])+".0}") {
		t.Errorf("%v %s, go.mod: %s", err, manifest, minor)
	}
}
