package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// mount is a folder that is like a mounted secret of Kubernetes: its files are links through ..data, which is replaced atomically.
type mount struct {
	t       *testing.T
	dir     string
	version int
}

func newMount(t *testing.T, names ...string) *mount {
	t.Helper()
	m := &mount{t: t, dir: t.TempDir()}
	for _, name := range names {
		must(t, os.Symlink(filepath.Join("..data", name), m.path(name)))
	}
	return m
}

func (m *mount) path(name string) string { return filepath.Join(m.dir, name) }

// update replaces all files.
func (m *mount) update(files map[string][]byte) {
	m.t.Helper()
	m.version++
	version := fmt.Sprintf("..version-%d", m.version)
	must(m.t, os.Mkdir(m.path(version), 0o700))
	for name, content := range files {
		must(m.t, os.WriteFile(filepath.Join(m.dir, version, name), content, 0o600))
	}
	must(m.t, os.Symlink(version, m.path("..data_tmp")))
	must(m.t, os.Rename(m.path("..data_tmp"), m.path("..data")))
}

// pemOf returns a certificate and its key in PEM.
func pemOf(t *testing.T, c tls.Certificate) (certificate, key []byte) {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	must(t, err)
	return pemBlock("CERTIFICATE", c.Certificate[0]), pemBlock("PRIVATE KEY", der)
}

func pemBlock(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// peer is an authority with a certificate of a server and one of a client.
type peer struct {
	authority      *authority
	client         tls.Certificate
	certificate    tls.Certificate
	crt, key, cert []byte // PEM of the server's certificate, its key, and the authority
}

func newPeer(t *testing.T) *peer {
	t.Helper()
	a := newAuthority(t)
	p := &peer{authority: a, cert: pemBlock("CERTIFICATE", a.cert.Raw), client: a.issue(&x509.Certificate{Subject: pkix.Name{CommonName: "nfvo"}}),
		certificate: a.issue(&x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}})}
	p.crt, p.key = pemOf(t, p.certificate)
	return p
}

func (p *peer) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(p.authority.cert)
	return pool
}

// serveTLS serves with the settings, and returns the URL. Its answer has the version of HTTP, the number of verified chains of the client, and whether the session was resumed.
func serveTLS(t *testing.T, settings tlsConfig, log *slog.Logger) string {
	t.Helper()
	config, err := settings.server(log)
	must(t, err)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	server := &http.Server{TLSConfig: config, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo), //nolint:gosec // without limits of time
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = fmt.Fprint(w, r.ProtoMajor, len(r.TLS.VerifiedChains), r.TLS.DidResume) //nolint:gosec // numbers
		})}
	ended := make(chan error, 1)
	go func() { ended <- server.ServeTLS(listener, "", "") }()
	t.Cleanup(func() { _ = server.Close(); <-ended })
	return "https://" + listener.Addr().String()
}

// TestReloadedCertificates replaces the certificate, the key and the authorities of clients below a server, as cert-manager does. Each
// connection is a handshake over loopback.
func TestReloadedCertificates(t *testing.T) {
	t.Parallel()
	first, second := newPeer(t), newPeer(t)
	files := newMount(t, "tls.crt", "tls.key", "ca.crt")
	use := func(p *peer) { files.update(map[string][]byte{"tls.crt": p.crt, "tls.key": p.key, "ca.crt": p.cert}) }
	use(first)
	var log output
	url := serveTLS(t, tlsConfig{Certificate: files.path("tls.crt"), Key: secret{File: files.path("tls.key")}, ClientCA: files.path("ca.crt")}, slog.New(slog.NewTextHandler(&log, nil)))
	sessions := tls.NewLRUClientSessionCache(0)
	get := func(server, client *peer) (string, error) {
		t.Helper()
		transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: server.pool(),
			ClientSessionCache: sessions, Certificates: []tls.Certificate{client.client}}}
		defer transport.CloseIdleConnections()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		must(t, err)
		answer, err := transport.RoundTrip(r)
		if err != nil {
			return "", err
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		return string(text), err
	}
	wantPeer := func(is, not *peer) {
		t.Helper()
		if got, err := get(is, is); got != "2 1 false" || err != nil {
			t.Fatalf("the peer in the files: %q, %v", got, err)
		}
		for _, pair := range [][2]*peer{{not, is}, {is, not}} {
			if got, err := get(pair[0], pair[1]); err == nil {
				t.Errorf("a peer that is not in the files: %q", got)
			}
		}
	}
	wantLog := func(reason string, errors int) {
		t.Helper()
		if text := log.String(); !strings.Contains(text, reason) || strings.Count(text, "level=ERROR") != errors {
			t.Errorf("%d errors and %q are expected in the log:\n%s", errors, reason, text)
		}
	}

	wantPeer(first, second)
	use(second)
	wantPeer(second, first)
	wantLog("files were read again", 0)

	files.update(map[string][]byte{"tls.crt": first.crt, "tls.key": second.key, "ca.crt": second.cert})
	wantPeer(second, first)
	wantLog("private key does not match public key", 1)
	files.update(map[string][]byte{"tls.crt": second.crt, "tls.key": second.key, "ca.crt": []byte("nothing")})
	wantPeer(second, first)
	wantLog("client_ca: "+files.path("ca.crt")+" has no certificates in PEM", 2)
	files.update(map[string][]byte{"tls.crt": second.crt, "tls.key": second.key})
	wantPeer(second, first)
	wantLog("client_ca: open "+files.path("ca.crt"), 3)

	use(first)
	wantPeer(first, second)
	must(t, os.Remove(files.path("tls.key")))
	wantPeer(first, second)
	wantLog("key: open "+files.path("tls.key"), 4)
	must(t, os.WriteFile(files.path("tls.key"), second.key, 0o600)) // two files that are replaced one after the other
	wantPeer(first, second)
	wantLog("private key does not match public key", 5)
	must(t, os.Remove(files.path("tls.crt")))
	must(t, os.WriteFile(files.path("tls.crt"), second.crt, 0o600))
	must(t, os.Remove(files.path("ca.crt")))
	must(t, os.WriteFile(files.path("ca.crt"), second.cert, 0o600))
	wantPeer(second, first)
	wantLog("", 5)
	if strings.Contains(log.String(), "PRIVATE KEY") {
		t.Errorf("a key is in the log:\n%s", log.String())
	}
}

// TestReloadedKeyInEnvironment serves with a key that is in the environment.
func TestReloadedKeyInEnvironment(t *testing.T) {
	p := newPeer(t)
	t.Setenv("VNFM_TEST_TLS_KEY", string(p.key))
	files := newMount(t, "tls.crt")
	files.update(map[string][]byte{"tls.crt": p.crt})
	url := serveTLS(t, tlsConfig{Certificate: files.path("tls.crt"), Key: secret{Env: "VNFM_TEST_TLS_KEY"}}, slog.New(slog.DiscardHandler))
	client := &http.Client{Transport: newTransport(&tls.Config{RootCAs: p.pool(), MinVersion: tls.VersionTLS12})}
	defer client.CloseIdleConnections()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	must(t, err)
	answer, err := client.Do(r)
	must(t, err)
	must(t, answer.Body.Close())
}

// TestReloadedAuthorities replaces the authorities of Keystone's certificate.
func TestReloadedAuthorities(t *testing.T) {
	t.Parallel()
	first, second := newPeer(t), newPeer(t)
	urls := map[*peer]string{}
	for _, p := range []*peer{first, second} {
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		server.TLS = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{p.certificate}}
		server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
		server.StartTLS()
		t.Cleanup(server.Close)
		urls[p] = server.URL
	}
	files := newMount(t, "ca.crt")
	files.update(map[string][]byte{"ca.crt": first.cert})
	var log bytes.Buffer
	transport, err := transportFor("keystone.ca", files.path("ca.crt"), slog.New(slog.NewTextHandler(&log, nil)))
	must(t, err)
	want := func(trusted, other *peer) {
		t.Helper()
		for _, p := range []*peer{trusted, other} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, urls[p], nil)
			must(t, err)
			answer, err := transport.RoundTrip(r)
			if err == nil {
				must(t, answer.Body.Close())
			}
			if (err == nil) != (p == trusted) {
				t.Errorf("trusted: %t, %v", p == trusted, err)
			}
		}
	}
	want(first, second)
	files.update(map[string][]byte{"ca.crt": second.cert})
	want(second, first)
	files.update(map[string][]byte{"ca.crt": nil})
	want(second, first)
	if text := log.String(); strings.Count(text, "level=ERROR") != 1 || !strings.Contains(text, "setting=keystone.ca") {
		t.Errorf("the log has\n%s", text)
	}
	if _, err := transportFor("keystone.ca", files.path("ca.crt"), slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "keystone.ca: ") {
		t.Errorf("at the start: %v", err)
	}
}
