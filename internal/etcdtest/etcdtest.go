// Package etcdtest starts real members of etcd for tests, with a CA as kubeadm makes it.
package etcdtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/mgmt/kubeadm/etcd"
)

// program returns the path of the real etcd: VNFKIT_ETCD, or etcd in PATH.
func program(t *testing.T) string {
	t.Helper()
	if name := os.Getenv("VNFKIT_ETCD"); name != "" {
		return name
	}
	name, err := exec.LookPath("etcd")
	if err != nil {
		t.Skip("no etcd to test with: VNFKIT_ETCD names none, and there is none in PATH")
	}
	return name
}

// Authority is a CA that issues certificates as kubeadm does.
type Authority struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// NewAuthority makes a CA. Its files are in a temporary directory of the test.
func NewAuthority(t *testing.T) *Authority {
	t.Helper()
	a := &Authority{dir: t.TempDir()}
	a.cert, a.key = a.Issue(t, "ca", &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return a
}

// Issue issues a certificate and writes it to name.crt, its key to name.key.
func (a *Authority) Issue(t *testing.T, name string, template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber, template.Subject = big.NewInt(time.Now().UnixNano()), pkix.Name{CommonName: name}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Minute), time.Now().Add(time.Hour)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	a.write(t, name+".crt", "CERTIFICATE", der)
	a.write(t, name+".key", "PRIVATE KEY", secret)
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}

func (a *Authority) write(t *testing.T, name, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(a.file(name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (a *Authority) file(name string) string { return filepath.Join(a.dir, name) }

// Read returns a file of the CA.
func (a *Authority) Read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(a.file(name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Client returns what a client needs whose certificate is "client".
func (a *Authority) Client(t *testing.T) *tls.Config {
	t.Helper()
	config, err := etcd.TLS(a.Read(t, "ca.crt"), a.Read(t, "client.crt"), a.Read(t, "client.key"))
	if err != nil {
		t.Fatal(err)
	}
	return config
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
func Start(t *testing.T, n int) (*Authority, []*Server) {
	t.Helper()
	bin, ca := program(t), NewAuthority(t)
	ca.Issue(t, "client", &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	var servers []*Server
	var initial []string
	for i := range n {
		s := &Server{Name: fmt.Sprintf("master-%d", i+1), Addr: fmt.Sprintf("127.0.0.%d", i+11)}
		s.Client, s.Peer = "https://"+freePort(t, s.Addr), "https://"+freePort(t, s.Addr)
		servers, initial = append(servers, s), append(initial, s.Name+"="+s.Peer)
	}
	for _, s := range servers {
		// A member checks that a peer has a certificate for the address that it connects from: here always 127.0.0.1.
		ca.Issue(t, s.Name, &x509.Certificate{IPAddresses: []net.IP{net.ParseIP(s.Addr), net.ParseIP("127.0.0.1")},
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}})
		s.process = exec.CommandContext(t.Context(), bin, "--name", s.Name, "--data-dir", t.TempDir(), "--log-level", "error",
			"--initial-cluster", strings.Join(initial, ","), "--initial-advertise-peer-urls", s.Peer, "--listen-peer-urls", s.Peer,
			"--advertise-client-urls", s.Client, "--listen-client-urls", s.Client,
			"--client-cert-auth", "--trusted-ca-file", ca.file("ca.crt"), "--cert-file", ca.file(s.Name+".crt"), "--key-file", ca.file(s.Name+".key"),
			"--peer-client-cert-auth", "--peer-trusted-ca-file", ca.file("ca.crt"), "--peer-cert-file", ca.file(s.Name+".crt"), "--peer-key-file", ca.file(s.Name+".key"))
		if err := s.process.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Kill)
	}
	return ca, servers
}
