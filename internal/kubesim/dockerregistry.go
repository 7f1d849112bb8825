package kubesim

import (
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/spf13/afero"
	"golang.org/x/crypto/bcrypt"

	"github.com/vnfkit/vnfkit/internal/kubesim/distribution"
	"github.com/vnfkit/vnfkit/internal/kubesim/pki"
)

// startRegistry simulates the start of the registry (distribution 2.8, registry/registry.go and
// registry/handlers/app.go). It returns the messages, and the code with which the registry ends, 0 while it serves.
func (w *World) startRegistry(m *machine, k *container) (code int, said string) {
	if err := w.startAuth(m, k); err != nil {
		return 2, fmt.Sprintf("panic: unable to configure authorization (%s): %v\n\n%s", k.Env["REGISTRY_AUTH"], err, trace)
	}
	certificate, key := k.Env["REGISTRY_HTTP_TLS_CERTIFICATE"], k.Env["REGISTRY_HTTP_TLS_KEY"]
	if certificate == "" {
		return 0, w.logged("info", "listening on [::]:%s", k.listensAt())
	}
	text, err := w.readWithin(m, k, certificate)
	if err != nil {
		return 1, w.logged("fatal", "%v", err)
	}
	secret, err := w.readWithin(m, k, key)
	if err != nil {
		return 1, w.logged("fatal", "%v", err)
	}
	pair := pki.Pair{Cert: string(text), Key: string(secret)}
	if _, err := tls.X509KeyPair([]byte(pair.Cert), []byte(pair.Key)); err != nil {
		return 1, w.logged("fatal", "%v", err)
	}
	k.TLS = &pair
	return 0, w.logged("info", "listening on [::]:%s, tls", k.listensAt())
}

// trace follows the message of a registry that panics, so that the last line of the log does not contain the cause.
var trace = "goroutine 1 [running]:\n" + strings.Repeat("github.com/docker/distribution/registry.glob..func1(0x17653c0?, {0xc0002ebf30, 0x1, 0x1})\n\tgithub.com/docker/distribution/registry/registry.go:119 +0x18f\n", 5) +
	"main.main()\n\tgithub.com/docker/distribution/cmd/registry/main.go:22 +0x25"

// startAuth is registry/auth/htpasswd of distribution. Without a file the registry makes one with a user whose password
// only its log knows.
func (w *World) startAuth(m *machine, k *container) error {
	switch scheme := k.Env["REGISTRY_AUTH"]; {
	case scheme == "":
		return nil
	case scheme != "htpasswd":
		return fmt.Errorf("no access controller registered with name: %s", scheme)
	case k.Env["REGISTRY_AUTH_HTPASSWD_REALM"] == "":
		return errors.New(`"realm" must be set for htpasswd access controller`)
	case k.Env["REGISTRY_AUTH_HTPASSWD_PATH"] == "":
		return errors.New(`"path" must be set for htpasswd access controller`)
	}
	name := k.Env["REGISTRY_AUTH_HTPASSWD_PATH"]
	if _, err := w.readWithin(m, k, name); err == nil {
		return nil
	}
	if _, readOnly, mounted := k.within(name); mounted && readOnly {
		return fmt.Errorf("failed to open htpasswd path open %s: read-only file system", name)
	}
	k.Logs = append(k.Logs, w.logged("warning", "htpasswd is missing, provisioning with default user"))
	return nil
}

// readWithin reads a file as the program of a container does.
func (w *World) readWithin(m *machine, k *container, name string) ([]byte, error) {
	if file, _, mounted := k.within(name); mounted {
		if text, err := afero.ReadFile(w.files[m.ID](), file); err == nil {
			return text, nil
		}
	}
	return nil, fmt.Errorf("open %s: no such file or directory", name)
}

// listensAt is the port of the registry inside its container.
func (k *container) listensAt() string {
	if _, number, err := net.SplitHostPort(k.Env["REGISTRY_HTTP_ADDR"]); err == nil {
		return number
	}
	return "5000" // config.yml of the image
}

// running finds a container that still serves, and what it serves from. The files are those of the machine.
func (w *World) running(id, containerID string) (k container, files afero.Fs, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.state.Machines[id]
	if m == nil || !m.runs("docker") {
		return k, nil, false
	}
	found := m.Docker.container(containerID)
	if found == nil || found.Status != "running" {
		return k, nil, false
	}
	return *found, w.files[id](), true
}

// serveRegistry answers at a port that Docker publishes. While nothing listens in the container, Docker's proxy accepts
// connections and drops them.
func (w *World) serveRegistry(id, containerID, inside string, conn net.Conn) {
	k, _, ok := w.running(id, containerID)
	if !ok || k.listensAt() != inside {
		_ = conn.Close()
		return
	}
	handler := func(out http.ResponseWriter, r *http.Request) {
		k, files, ok := w.running(id, containerID)
		if !ok {
			panic(http.ErrAbortHandler)
		}
		if !w.authorized(&k, files, r) {
			distribution.Refuse(out, k.Env["REGISTRY_AUTH_HTPASSWD_REALM"])
			return
		}
		distribution.Store{Files: files, Making: &w.making, Root: k.content(), Deletes: k.Env["REGISTRY_STORAGE_DELETE_ENABLED"] == "true"}.ServeHTTP(out, r)
	}
	if k.TLS == nil {
		serveHTTP(conn, handler)
		return
	}
	pair, err := tls.X509KeyPair([]byte(k.TLS.Cert), []byte(k.TLS.Key))
	if err != nil {
		_ = conn.Close()
		return
	}
	serveHTTPS(conn, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}, handler)
}

// content is the directory of the machine in which the registry stores its data; without a volume, an anonymous one of
// Docker's.
func (k *container) content() string {
	const inside = "/var/lib/registry"
	if dir, _, mounted := k.within(inside); mounted {
		return dir + "/docker/registry/v2"
	}
	return "/var/lib/docker/volumes/" + k.ID + "/_data/docker/registry/v2"
}

// authorized compares the credentials of a request with the lines of htpasswd, of which the registry takes bcrypt only.
func (w *World) authorized(k *container, files afero.Fs, r *http.Request) bool {
	if k.Env["REGISTRY_AUTH"] == "" {
		return true
	}
	name, password, given := r.BasicAuth()
	file, _, mounted := k.within(k.Env["REGISTRY_AUTH_HTPASSWD_PATH"])
	if !given || !mounted {
		return false
	}
	text, err := afero.ReadFile(files, file)
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		user, hash, _ := strings.Cut(strings.TrimSpace(line), ":")
		if user == name && w.matches(hash, password) {
			return true
		}
	}
	return false
}

// matches remembers passwords that were right: bcrypt is slow, and clients ask often.
func (w *World) matches(hash, password string) bool {
	key := sha256.Sum256([]byte(hash + "\x00" + password))
	if _, known := w.passwords.Load(key); known {
		return true
	}
	if bcrypt.CompareHashAndPassword([]byte(hash), []byte(password)) != nil {
		return false
	}
	w.passwords.Store(key, true)
	return true
}
