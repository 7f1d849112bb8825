// Package etcdtest starts real members of etcd for tests, with a CA as kubeadm makes it.
package etcdtest

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/internal/kubesim/pki"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/etcd"
)

// program returns the path of the real etcd: VNFKIT_ETCD, or etcd in PATH. It skips the test without one.
func program(t *testing.T) string {
	t.Helper()
	if name := os.Getenv("VNFKIT_ETCD"); name != "" {
		return name
	}
	name, err := exec.LookPath("etcd")
	if err != nil {
		t.Skip("VNFKIT_ETCD names no etcd, and PATH has none")
	}
	return name
}

// Authority is a CA as kubeadm makes it, and what it has issued to a client of etcd.
type Authority struct{ CA, Client pki.Pair }

// NewAuthority makes a CA, and issues to a client.
func NewAuthority(t *testing.T) (a Authority) {
	t.Helper()
	var err error
	if a.CA, err = pki.NewCA("etcd-ca", time.Now()); err == nil {
		a.Client, err = pki.Issue(&a.CA, &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}, time.Now())
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TLS returns what the client connects with.
func (a Authority) TLS(t *testing.T) *tls.Config {
	t.Helper()
	config, err := etcd.TLS([]byte(a.CA.Cert), []byte(a.Client.Cert), []byte(a.Client.Key))
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// member writes the CA and what it issues to a member into a directory.
func (a Authority) member(t *testing.T, name, addr string) (dir string) {
	t.Helper()
	// A member checks that a peer has a certificate for the address that it connects from: here always 127.0.0.1.
	pair, err := pki.Issue(&a.CA, &x509.Certificate{Subject: pkix.Name{CommonName: name}, IPAddresses: []net.IP{net.ParseIP(addr), net.ParseIP("127.0.0.1")},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	for file, text := range map[string]string{"ca.crt": a.CA.Cert, "server.crt": pair.Cert, "server.key": pair.Key} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Server is a running member.
type Server struct {
	Name, Addr   string
	Client, Peer string // URLs

	process *exec.Cmd
}

// Kill ends the member at once.
func (s *Server) Kill() {
	_ = s.process.Process.Kill()
	_ = s.process.Wait()
}

// freePort returns a port of the address on which no process listens.
func freePort(t *testing.T, addr string) string {
	t.Helper()
	l, err := net.Listen("tcp", addr+":0") //nolint:noctx // a port of this machine, at once
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// Start starts members of a cluster, each at a separate address, as kubeadm sets them up.
func Start(t *testing.T, n int) (Authority, []*Server) {
	t.Helper()
	bin, ca := program(t), NewAuthority(t)
	var servers []*Server
	var initial []string
	for i := range n {
		s := &Server{Name: fmt.Sprintf("master-%d", i+1), Addr: fmt.Sprintf("127.0.0.%d", i+11)}
		s.Client, s.Peer = "https://"+freePort(t, s.Addr), "https://"+freePort(t, s.Addr)
		servers, initial = append(servers, s), append(initial, s.Name+"="+s.Peer)
	}
	for _, s := range servers {
		dir := ca.member(t, s.Name, s.Addr)
		authority, cert, key := filepath.Join(dir, "ca.crt"), filepath.Join(dir, "server.crt"), filepath.Join(dir, "server.key")
		s.process = exec.CommandContext(t.Context(), bin, "--name", s.Name, "--data-dir", t.TempDir(), "--log-level", "error",
			"--initial-cluster", strings.Join(initial, ","), "--initial-advertise-peer-urls", s.Peer, "--listen-peer-urls", s.Peer,
			"--advertise-client-urls", s.Client, "--listen-client-urls", s.Client,
			"--client-cert-auth", "--trusted-ca-file", authority, "--cert-file", cert, "--key-file", key,
			"--peer-client-cert-auth", "--peer-trusted-ca-file", authority, "--peer-cert-file", cert, "--peer-key-file", key)
		if err := s.process.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Kill)
	}
	return ca, servers
}
