package e2e_test

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/vnfkit/vnfkit/internal/e2e/kube"
	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
)

const (
	registryName   = "registry.lab.example"
	registryServer = registryName + ":5000"
	registryUser   = "robot"
	// registryPassword is as hostile as password.
	registryPassword = `reg'istry"$(id) \n-canary`
)

// privateRegistry is Debian's docker-registry on a separate machine: HTTPS with a certificate of a private CA, and a login.
type privateRegistry struct {
	host   *vmhost.Host
	ca     []byte // PEM
	client *http.Client
}

// newRegistry starts a registry and waits until it answers.
func newRegistry(t *testing.T, parts kube.Parts) *privateRegistry {
	t.Helper()
	ca, certificate, key := issue(t, registryName)
	hash, err := bcrypt.GenerateFromPassword([]byte(registryPassword), bcrypt.MinCost)
	must(t, err)
	host, err := site.network.Create(t.Context(), vmhost.Spec{Name: "registry", User: user, Password: password, Tree: parts.NodeTree(), Files: map[string]string{
		"/etc/docker/registry/htpasswd": registryUser + ":" + string(hash) + "\n",
		"/etc/docker/registry/tls.crt":  string(certificate),
		"/etc/docker/registry/tls.key":  string(key),
		"/etc/docker/registry/config.yml": `version: 0.1
storage: {filesystem: {rootdirectory: /var/lib/docker-registry}}
auth: {htpasswd: {realm: lab, path: /etc/docker/registry/htpasswd}}
http: {addr: ":5000", secret: lab, tls: {certificate: /etc/docker/registry/tls.crt, key: /etc/docker/registry/tls.key}}
`,
		"/etc/systemd/system/multi-user.target.d/registry.conf": "[Unit]\nWants=docker-registry.service\n",
	}})
	must(t, err)
	t.Cleanup(func() {
		if err := host.Close(); err != nil {
			t.Error(err)
		}
	})
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, host.Address.String()+":5000")
		}}
	t.Cleanup(transport.CloseIdleConnections)
	r := &privateRegistry{host: host, ca: ca, client: &http.Client{Transport: transport, Timeout: time.Minute}}
	ctx := within(t, 3*time.Minute)
	for {
		if code, _, err := r.do(ctx, http.MethodGet, "/v2/", "", nil); err == nil && code == http.StatusOK {
			return r
		} else if ctx.Err() != nil {
			t.Fatalf("the registry does not answer: %d, %v", code, err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// do asks the registry, logged in.
func (r *privateRegistry) do(ctx context.Context, method, path, kind string, body []byte) (code int, location string, err error) {
	if !strings.HasPrefix(path, "https://") {
		path = "https://" + registryServer + path
	}
	request, err := http.NewRequestWithContext(ctx, method, path, bytes.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	request.SetBasicAuth(registryUser, registryPassword)
	request.Header.Set("Content-Type", kind)
	answer, err := r.client.Do(request)
	if err != nil {
		return 0, "", err
	}
	return answer.StatusCode, answer.Header.Get("Location"), answer.Body.Close()
}

// push puts an image in docker-archive form into the registry (OCI distribution specification, "Push").
func (r *privateRegistry) push(t *testing.T, archive, name, tag string) {
	t.Helper()
	files := untar(t, archive)
	var list []struct {
		Config string
		Layers []string
	}
	must(t, json.Unmarshal(files["manifest.json"], &list))
	type descriptor struct {
		MediaType string `json:"mediaType"`
		Digest    string `json:"digest"`
		Size      int    `json:"size"`
	}
	blob := func(kind string, content []byte) descriptor {
		d := descriptor{kind, fmt.Sprintf("sha256:%x", sha256.Sum256(content)), len(content)}
		_, location, err := r.do(t.Context(), http.MethodPost, "/v2/"+name+"/blobs/uploads/", "", nil)
		must(t, err)
		code, _, err := r.do(t.Context(), http.MethodPut, location+"&digest="+d.Digest, "application/octet-stream", content)
		if err != nil || code != http.StatusCreated {
			t.Fatalf("push %s: %d, %v", name, code, err)
		}
		return d
	}
	const kind = "application/vnd.oci.image.manifest.v1+json"
	manifest := map[string]any{"schemaVersion": 2, "mediaType": kind, "config": blob("application/vnd.oci.image.config.v1+json", files[list[0].Config])}
	var layers []descriptor
	for _, layer := range list[0].Layers {
		layers = append(layers, blob("application/vnd.oci.image.layer.v1.tar", files[layer]))
	}
	manifest["layers"] = layers
	text, err := json.Marshal(manifest)
	must(t, err)
	if code, _, err := r.do(t.Context(), http.MethodPut, "/v2/"+name+"/manifests/"+tag, kind, text); err != nil || code != http.StatusCreated {
		t.Fatalf("push %s: %d, %v", name, code, err)
	}
}

// registryCanaries are the forms in which the password could be somewhere.
func registryCanaries(t testing.TB) []string {
	t.Helper()
	quoted, err := json.Marshal(registryPassword)
	must(t, err)
	return []string{registryPassword, strings.Trim(string(quoted), `"`), base64.StdEncoding.EncodeToString([]byte(registryUser + ":" + registryPassword)), "-canary"}
}

func untar(t testing.TB, archive string) map[string][]byte {
	t.Helper()
	f, err := os.Open(archive) //nolint:gosec // of the test
	must(t, err)
	defer f.Close()
	out := map[string][]byte{}
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		must(t, err)
		out[h.Name], err = io.ReadAll(r)
		must(t, err)
	}
}

// issue makes a CA and a certificate for a server, all in PEM form.
func issue(t *testing.T, server string) (ca, certificate, key []byte) {
	t.Helper()
	root := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "a private CA"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: server}, NotBefore: root.NotBefore, NotAfter: root.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	if ip := net.ParseIP(server); ip != nil {
		leaf.IPAddresses = []net.IP{ip}
	} else {
		leaf.DNSNames = []string{server}
	}
	rootKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	leafKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	rootDER, err := x509.CreateCertificate(rand.Reader, root, root, rootKey.Public(), rootKey)
	must(t, err)
	leafDER, err := x509.CreateCertificate(rand.Reader, leaf, root, leafKey.Public(), rootKey)
	must(t, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(leafKey)
	must(t, err)
	encode := func(kind string, der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}) }
	return encode("CERTIFICATE", rootDER), encode("CERTIFICATE", leafDER), encode("PRIVATE KEY", keyDER)
}
