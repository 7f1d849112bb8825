package kubesim

import (
	"crypto/tls"
	"net"
	"net/http"

	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/internal/kubesim/docker"
)

// registry is what the registries on a machine with these files need.
func (w *World) registry(files afero.Fs) docker.Registry {
	return docker.Registry{Files: files, Now: w.nowFunc, Making: &w.making, Passwords: &w.passwords, Contents: &w.contents}
}

// running finds a container that still serves, and what it serves from. The files are those of the machine.
func (w *World) running(id, containerID string) (k docker.Container, files afero.Fs, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.state.Machines[id]
	if m == nil || !m.runs("docker") {
		return k, nil, false
	}
	found := m.Docker.Container(containerID)
	if found == nil || found.Status != "running" {
		return k, nil, false
	}
	return *found, w.files[id](), true
}

// serveRegistry answers at a port that Docker publishes. While nothing listens in the container, Docker's proxy accepts
// connections and drops them.
func (w *World) serveRegistry(id, containerID, inside string, conn net.Conn) {
	k, _, ok := w.running(id, containerID)
	if !ok || k.ListensAt() != inside {
		_ = conn.Close()
		return
	}
	handler := func(out http.ResponseWriter, r *http.Request) {
		k, files, ok := w.running(id, containerID)
		if !ok {
			panic(http.ErrAbortHandler)
		}
		w.registry(files).ServeHTTP(&k, out, r)
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
