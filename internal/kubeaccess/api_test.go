package kubeaccess_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/klog/v2"

	"github.com/vnfkit/vnfkit/internal/kubeaccess"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// silent fails the process when a Kubernetes package prints: errors are returned, and a library does not print.
type silent struct{}

func (silent) Write(p []byte) (int, error) { panic("printed: " + string(p)) }

func TestMain(m *testing.M) {
	klog.LogToStderr(false)
	klog.SetOutput(silent{})
	goleak.VerifyTestMain(m)
}

// canary is in every secret.
const canary = "hunter2"

type attrs = map[string]any

// api answers as a Kubernetes API does, to clients with the token, the password or a certificate.
type api struct {
	*httptest.Server
	mu      sync.Mutex
	asked   []string                                                 // paths
	before  func(w http.ResponseWriter, r *http.Request) (done bool) // a fault
	widgets bool
}

func newAPI(t *testing.T, start func(*httptest.Server)) *api {
	t.Helper()
	a := &api{}
	a.Server = httptest.NewUnstartedServer(http.HandlerFunc(a.serve))
	a.EnableHTTP2 = true
	a.TLS = &tls.Config{ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12}
	start(a.Server)
	t.Cleanup(a.Close)
	return a
}

// open opens a connection, with a token, to an API that serves TLS.
func (a *api) open(t *testing.T, options kubeaccess.Options) *kubeaccess.Cluster {
	t.Helper()
	c, err := kubeaccess.Open(t.Context(), vim(t, attrs{"endpoint": a.URL, "ssl_ca_cert": a.ca()}, attrs{"bearer_token": canary}, nil), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func (a *api) serve(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	a.asked = append(a.asked, r.URL.Path)
	before, widgets := a.before, a.widgets
	a.mu.Unlock()
	if before != nil && before(w, r) {
		return
	}
	_, password, _ := r.BasicAuth()
	if r.Header.Get("Authorization") != "Bearer "+canary && password != canary && (r.TLS == nil || len(r.TLS.PeerCertificates) == 0) {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"not known: %s","reason":"Unauthorized","code":401}`, r.Header.Get("Authorization")) //nolint:gosec // JSON for the client under test
		return
	}
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/api":
		_, _ = fmt.Fprint(w, `{"kind":"APIVersions","versions":["v1"]}`)
	case "/apis/apps/v1":
		_, _ = fmt.Fprint(w, `{"kind":"APIResourceList","resources":[{"name":"deployments","kind":"Deployment","namespaced":true},{"name":"deployments/scale","kind":"Scale","namespaced":true},{"name":"daemonsets","kind":"DaemonSet","namespaced":true}]}`)
	case "/apis/example.com/v1":
		if widgets {
			_, _ = fmt.Fprint(w, `{"kind":"APIResourceList","resources":[{"name":"widgets","kind":"Widget"}]}`)
			return
		}
		fallthrough
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// set has something fail; nil heals.
func (a *api) set(before func(w http.ResponseWriter, r *http.Request) bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.before = before
}

func (a *api) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.asked)
}

// ca is the certificate of the server, which signed itself.
func (a *api) ca() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.Certificate().Raw}))
}

func vim(t *testing.T, inter, access, extra attrs) vnflcm.VimConnectionInfo {
	t.Helper()
	v := vnflcm.VimConnectionInfo{FromOperator: true}
	for into, from := range map[*vnflcm.Params]attrs{&v.InterfaceInfo: inter, &v.AccessInfo: access, &v.Extra: extra} {
		p, err := vnflcm.NewParams(from)
		if err != nil {
			t.Fatal(err)
		}
		if from != nil {
			*into = p
		}
	}
	return v
}

// client makes a certificate with its key, PEM.
func client(t *testing.T) (certificate, key string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "me"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	der, err1 := x509.CreateCertificate(rand.Reader, c, c, k.Public(), k)
	secret, err2 := x509.MarshalECPrivateKey(k)
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret}))
}

// kubeconfig is the text of a kubeconfig; cluster and user are additional fields beside the server.
func kubeconfig(server, cluster, user string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: c\npreferences: {}\ncontexts: [{name: c, context: {cluster: k, user: u, namespace: mine}}]\n"+
		"clusters: [{name: k, cluster: {server: %q, %s}}]\nusers: [{name: u, user: {%s}}]\n", server, cluster, user)
}

func inline(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
