package client_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"io/fs"
	"math/big"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/spf13/afero"
	"go.uber.org/goleak"

	"github.com/vnfkit/vnfkit/internal/kubesim"
	"github.com/vnfkit/vnfkit/mgmt/registry/client"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newCA makes a certificate, in PEM form.
func newCA(t testing.TB, isCA bool) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "registry CA"}, NotBefore: time.Now(),
		NotAfter: time.Now().AddDate(1, 0, 0), IsCA: isCA, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// files is a package.
type files map[string]string

func (f files) open(path string) (io.ReadCloser, error) {
	if content, ok := f[path]; ok {
		return io.NopCloser(strings.NewReader(content)), nil
	}
	return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
}

// node is a machine of a small world.
type node struct {
	*sshtest.Host
	t     *testing.T
	ssh   *sshexec.Host
	files files
}

const containerdConfig = `version = 2
[plugins."io.containerd.grpc.v1.cri".registry]
config_path = "/etc/containerd/certs.d"
`

// newNode makes a machine with packages and services; programs that are nil are not there.
func newNode(t *testing.T, registries []kubesim.Registry, packages string, without ...string) *node {
	t.Helper()
	world := kubesim.NewWorld(kubesim.Options{Registries: registries})
	n := &node{t: t, files: files{}}
	commands := world.Attach("node", netip.MustParseAddr("10.0.0.1"), "node", func() afero.Fs { return n.FS() })
	for _, name := range without {
		delete(commands, name)
	}
	n.Host = sshtest.Start(t, sshtest.Config{Name: "node", Commands: commands})
	pool := sshexec.NewPool(sshexec.Options{})
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	})
	n.ssh = pool.Host(sshexec.Target{ID: "node", Name: "node", Addr: n.Addr(), User: "ubuntu", Auth: []sshexec.Auth{sshexec.Password("ubuntu")},
		HostKeys: sshexec.AcceptNewHostKeys(&sshtest.HostKeyStore{})})
	n.put("/etc/containerd/config.toml", containerdConfig)
	n.put("/etc/hosts", "127.0.0.1 localhost\n10.0.9.9 registry.example.com\n")
	n.put("/etc/apt/sources.list.d/kubernetes.list", "deb")
	n.run("apt-get update")
	for _, name := range strings.Fields(packages) {
		n.run("apt-get install -y " + name)
		if service := map[string]string{"docker.io": "docker", "cri-dockerd": "cri-docker"}[name]; service != "" {
			n.run("systemctl start " + service)
		}
	}
	return n
}

func (n *node) run(line string) {
	n.t.Helper()
	if err := n.ssh.Exec(n.t.Context(), sshexec.Command{Argv: strings.Fields(line), Root: true}); err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) put(name, content string) {
	n.t.Helper()
	if err := n.FS().MkdirAll(name[:strings.LastIndexByte(name, '/')], 0o755); err != nil {
		n.t.Fatal(err)
	}
	if err := afero.WriteFile(n.FS(), name, []byte(content), 0o644); err != nil {
		n.t.Fatal(err)
	}
}

// get is the content of a file, "" when there is none.
func (n *node) get(name string) string {
	data, err := afero.ReadFile(n.FS(), name)
	if err != nil {
		return ""
	}
	return string(data)
}

// connect detects the runtime, connects and probes.
func (n *node) connect(c ...client.Connection) error {
	n.t.Helper()
	return n.connectCtx(n.t.Context(), c...)
}

func (n *node) connectCtx(ctx context.Context, c ...client.Connection) error {
	n.t.Helper()
	if err := client.Connections(c).Validate("list", n.files.open); err != nil {
		n.t.Fatal(err)
	}
	runtime, err := client.Detect(ctx, n.ssh)
	if err != nil {
		return err
	}
	if err := client.Connect(ctx, n.ssh, runtime, c, n.files.open); err != nil {
		return err
	}
	return client.Probe(ctx, n.ssh, runtime, c)
}

func (n *node) must(err error) {
	n.t.Helper()
	if err != nil {
		n.t.Fatal(err)
	}
}

// tree is every file below the directories that matter.
func (n *node) tree() map[string]string {
	n.t.Helper()
	out := map[string]string{}
	for _, root := range []string{"/etc/containerd", "/etc/docker", "/var/lib/kubelet", "/var/lib/vnfkit", "/root"} {
		err := afero.Walk(n.FS(), root, func(name string, info fs.FileInfo, err error) error {
			if err != nil || !info.Mode().IsRegular() {
				return nil //nolint:nilerr // what is not there has no files
			}
			out[name] = info.Mode().String() + " " + n.get(name)
			return nil
		})
		n.must(err)
	}
	return out
}

// secret checks that a text is in no place that all users of the machine can read.
func (n *node) secret(text string) {
	n.t.Helper()
	for _, r := range n.Commands() {
		if strings.Contains(strings.Join(r.Argv, " "), text) {
			n.t.Errorf("%s is on a command line: %q", text, r.Argv)
		}
	}
	for name, content := range n.tree() {
		if strings.Contains(content, text) && !strings.HasPrefix(content, "-rw------- ") {
			n.t.Errorf("%s is in %s: %.20s", text, name, content)
		}
	}
}

var (
	plain  = netip.MustParseAddrPort("10.0.9.8:5000")
	secure = netip.MustParseAddrPort("10.0.9.9:443")
)

const (
	password = "canary-registry-1"
	rotated  = "canary-registry-2"
)

// registries are one without TLS and one with TLS and a login.
func registries(ca string) []kubesim.Registry {
	return []kubesim.Registry{
		{Address: plain, Images: []string{"team/pause:3.10"}},
		{Address: secure, CA: ca, Username: "user", Password: password, Images: []string{"team/pause:3.10"}},
	}
}

func httpConnection() client.Connection {
	return client.Connection{Type: client.HTTP, Server: plain.String(), ProbeImage: "team/pause:3.10"}
}

func httpsConnection(password string) client.Connection {
	return client.Connection{Type: client.HTTPS, Server: "registry.example.com", Username: "user", Password: vnflcm.NewSecret(password),
		CertificatePath: "ca.crt", HostsString: "10.0.9.9 registry.example.com", ProbeImage: "team/pause:3.10"}
}

func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !bytes.Contains([]byte(text), []byte(part)) {
			t.Errorf("no %q in %q", part, text)
		}
	}
}
