package e2e_test

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/vnfkit/vnfkit/helmclient"
)

const (
	repositoryUser = "charts"
	// repositoryPassword is as hostile as password, but for the quote that htpasswd files cannot have. No colon either.
	repositoryPassword = `chart'"$(id) \n-canary`
)

// chartServer serves versions of the chart web over HTTPS to who knows the password.
type chartServer struct {
	mu     sync.Mutex
	charts map[string][]byte // by version
}

// withdraw removes a version from the repository.
func (s *chartServer) withdraw(version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.charts, version)
}

func (s *chartServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if name, secret, _ := r.BasicAuth(); name != repositoryUser || secret != repositoryPassword {
		w.Header().Set("WWW-Authenticate", "Basic")
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	}
	if r.URL.Path == "/index.yaml" {
		_, _ = io.WriteString(w, "apiVersion: v1\nentries:\n  web:\n")
		for version, archive := range s.charts {
			digest := sha256.Sum256(archive)
			_, _ = fmt.Fprintf(w, "  - {apiVersion: v2, name: web, version: %s, digest: %q, urls: [charts/web-%[1]s.tgz]}\n", version, hex.EncodeToString(digest[:]))
		}
		return
	}
	archive, there := s.charts[strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/charts/web-"), ".tgz")]
	if !there {
		http.NotFound(w, r)
		return
	}
	_, _ = w.Write(archive)
}

// chartRepository serves versions of the chart web to this machine and to hosts. It returns its URL and its certification
// authority.
func chartRepository(t *testing.T, charts map[string][]byte) (s *chartServer, url string, ca []byte) {
	t.Helper()
	ca, certificate, key := issue(t, site.network.Gateway().String())
	pair, err := tls.X509KeyPair(certificate, key)
	must(t, err)
	listener, err := tls.Listen("tcp", site.network.Gateway().String()+":0", &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12})
	must(t, err)
	s = &chartServer{charts: maps.Clone(charts)}
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: s}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	t.Cleanup(func() {
		_ = server.Close()
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return s, "https://" + listener.Addr().String(), ca
}

// imageRegistry is Debian's docker-registry on this machine, with HTTPS and a password, for this machine and hosts. It
// returns HOST:PORT and its certification authority.
func imageRegistry(t *testing.T) (server string, ca []byte) {
	t.Helper()
	dir := t.TempDir()
	ca, certificate, key := issue(t, site.network.Gateway().String())
	hash, err := bcrypt.GenerateFromPassword([]byte(repositoryPassword), bcrypt.MinCost)
	must(t, err)
	for name, content := range map[string][]byte{"htpasswd": []byte(repositoryUser + ":" + string(hash) + "\n"), "tls.crt": certificate, "tls.key": key, "ca.crt": ca} {
		must(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	server = dockerRegistry(t, needParts(t, "helm"), site.network.Gateway(), fmt.Sprintf(`storage: {filesystem: {rootdirectory: %s/data}}
auth: {htpasswd: {realm: lab, path: %[1]s/htpasswd}}
`, dir), fmt.Sprintf(", tls: {certificate: %s/tls.crt, key: %[1]s/tls.key}", dir))
	return server, ca
}

// push puts a chart into a registry with the real helm, and returns its reference without a version.
func (h *helmProgram) push(server string, ca []byte, archive []byte) string {
	h.t.Helper()
	authority := h.file("ca.crt", ca)
	login := h.command(within(h.t, time.Minute), "registry", "login", server, "--ca-file="+authority, "--username="+repositoryUser, "--password-stdin")
	login.Stdin = strings.NewReader(repositoryPassword)
	if out, err := login.CombinedOutput(); err != nil {
		h.t.Fatalf("helm registry login: %v: %s", err, out)
	}
	h.run("push", h.file("chart.tgz", archive), "oci://"+server+"/team", "--ca-file="+authority)
	return "oci://" + server + "/team/web"
}

// TestHelmSources: charts come from a repository and from a registry that want a password and whose certificates are of
// a private CA; who has not got both is told which of them is wrong.
func TestHelmSources(t *testing.T) {
	cluster := needCluster(t)
	_, url, ca := chartRepository(t, map[string][]byte{"1.0.0": chartOf(t, "web", "1.0.0", web), "1.1.0": chartOf(t, "web", "1.1.0", web)})
	server, serverCA := imageRegistry(t)
	program := newHelm(t, cluster)
	reference := program.push(server, serverCA, chartOf(t, "web", "2.0.0", web))
	access := helmclient.Access{Username: repositoryUser, Password: helmclient.NewPassword(repositoryPassword)}
	with := func(ca []byte) helmclient.Access { a := access; a.CA = ca; return a }
	stranger := func(ca []byte) helmclient.Access {
		return helmclient.Access{Username: repositoryUser, Password: helmclient.NewPassword("canary-wrong"), CA: ca}
	}

	onEveryHelm(t, func(t *testing.T, k helmKind) {
		client, ctx := k.open(t, cluster.Client()), within(t, 2*time.Minute)
		namespace := newNamespace(t, cluster.Client())
		name := helmclient.Name{Namespace: namespace, Release: "web"}

		for what, r := range map[string]struct {
			access helmclient.Access
			want   error
		}{"wrong password": {stranger(ca), helmclient.ErrDenied}, "unknown CA": {access, helmclient.ErrUnreachable}} {
			err := client.AddRepository(ctx, helmclient.Repository{Name: "lab", URL: url, Access: r.access})
			if !errors.Is(err, r.want) || strings.Contains(err.Error(), "canary") {
				t.Errorf("%s: %v", what, err)
			}
		}
		must(t, client.AddRepository(ctx, helmclient.Repository{Name: "lab", URL: url, Access: with(ca)}))
		must(t, client.UpdateRepositories(ctx))
		release, err := client.Install(ctx, helmclient.Install{Name: name, Chart: helmclient.Chart{Ref: "lab/web", Version: "~1.0"}, Wait: helmclient.Wait{Ready: true}})
		if err != nil || release.Chart.Version != "1.0.0" {
			t.Fatalf("from a repository: %+v, %v", release, err)
		}

		for what, r := range map[string]struct {
			access helmclient.Access
			want   error
		}{"wrong password": {stranger(serverCA), helmclient.ErrDenied}, "unknown CA": {access, helmclient.ErrUnreachable}, "nobody": {helmclient.Access{CA: serverCA}, helmclient.ErrDenied}} {
			_, err := client.Show(ctx, helmclient.Chart{Ref: reference, Version: "2.0.0", Access: r.access})
			if !errors.Is(err, r.want) || strings.Contains(err.Error(), "canary") {
				t.Errorf("registry, %s: %v", what, err)
			}
		}
		release, err = client.Upgrade(ctx, helmclient.Upgrade{Install: helmclient.Install{Name: name,
			Chart: helmclient.Chart{Ref: reference, Version: "2.0.0", Access: with(serverCA)}, Wait: helmclient.Wait{Ready: true}}})
		if err != nil || release.Chart.Version != "2.0.0" || release.Revision != 2 {
			t.Fatalf("from a registry: %+v, %v", release, err)
		}
		must(t, client.Uninstall(ctx, helmclient.Uninstall{Name: name}))
		must(t, client.RemoveRepository(ctx, "lab"))
	})
}
