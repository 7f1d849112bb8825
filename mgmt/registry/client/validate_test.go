package client_test

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/registry/client"
	"github.com/vnfkit/vnfkit/vnflcm"
)

func TestValidate(t *testing.T) {
	t.Parallel()
	ca := newCA(t, true)
	pkg := files{"ca.crt": ca, "leaf.crt": newCA(t, false), "key.pem": ca + "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "text": "x", "large": strings.Repeat("x", 1<<20+1)}
	https := func(change func(*client.Connection)) client.Connections {
		c := httpsConnection(password)
		change(&c)
		return client.Connections{c}
	}
	for name, c := range map[string]struct {
		list client.Connections
		want []string
	}{
		"right":           {client.Connections{httpConnection(), httpsConnection(password)}, nil},
		"IPv6":            {https(func(c *client.Connection) { c.Server, c.HostsString = "[2001:db8::1]:5000", "2001:db8::1 r" }), nil},
		"a leaf":          {https(func(c *client.Connection) { c.CertificatePath = "leaf.crt" }), []string{"which is no CA"}},
		"a key":           {https(func(c *client.Connection) { c.CertificatePath = "key.pem" }), []string{`holds a "PRIVATE KEY"`}},
		"no certificate":  {https(func(c *client.Connection) { c.CertificatePath = "text" }), []string{"must hold CA certificates in PEM form"}},
		"a large file":    {https(func(c *client.Connection) { c.CertificatePath = "large" }), []string{"larger than 1048576 bytes"}},
		"a missing file":  {https(func(c *client.Connection) { c.CertificatePath = "no" }), []string{"the package has no such file"}},
		"a line break":    {https(func(c *client.Connection) { c.Password = vnflcm.NewSecret("a\nb") }), []string{"no control characters"}},
		"public registry": {https(func(c *client.Connection) { c.Server = "docker.io" }), []string{"is the public registry"}},
		"port":            {https(func(c *client.Connection) { c.Server = "r:65536" }), []string{"from 1 to 65535"}},
		"server's image":  {https(func(c *client.Connection) { c.ProbeImage = "registry.example.com:5000/a" }), []string{"without the server"}},
		"two addresses": {client.Connections{httpsConnection(password), func() client.Connection {
			c := httpConnection()
			c.HostsString = "10.0.9.7 registry.example.com"
			return c
		}()}, []string{"another address than an entry before: 10.0.9.9"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := c.list.Validate("list", pkg.open)
			if (err == nil) != (len(c.want) == 0) {
				t.Fatalf("the error is %v", err)
			}
			for _, w := range c.want {
				contains(t, err.Error(), w)
			}
			if err != nil && strings.Contains(err.Error(), password) {
				t.Error("the password is told")
			}
		})
	}
}

func TestHostEntries(t *testing.T) {
	t.Parallel()
	list := client.Connections{httpConnection(), httpsConnection(password), httpsConnection(password)}
	want := []mgmt.HostEntry{{IP: netip.MustParseAddr("10.0.9.9"), Name: "registry.example.com"}}
	got := list.HostEntries()
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
		t.Error(diff)
	}
	block := string(mgmt.HostsFile([]byte("a\n"), nil, got...))
	if !slices.Contains(strings.Split(block, "\n"), "10.0.9.9 registry.example.com") || mgmt.HostsFile([]byte(block), nil, got...) == nil {
		t.Error(block)
	}
	if again := string(mgmt.HostsFile([]byte(block), nil, got...)); again != block {
		t.Errorf("not idempotent: %q, then %q", block, again)
	}
}

// TestCACertificate: a CA that the connection brings itself, as of a registry that the package does not know.
func TestCACertificate(t *testing.T) {
	t.Parallel()
	ca := newCA(t, true)
	for name, c := range map[string]struct {
		certificate, path string
		want              []string
	}{
		"right":     {ca, "", nil},
		"a leaf":    {newCA(t, false), "", []string{"list[0].ca_certificate: holds the certificate of", "which is no CA"}},
		"none":      {"x", "", []string{"list[0].ca_certificate: must hold CA certificates in PEM form"}},
		"two of it": {ca, "ca.crt", []string{"list[0].ca_certificate: cannot be combined with certificate_path: give one of them"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list := client.Connections{{Type: client.HTTPS, Server: "registry.example.com", CACertificate: c.certificate, CertificatePath: c.path}}
			err := list.Validate("list", files{"ca.crt": ca}.open)
			if (err == nil) != (len(c.want) == 0) {
				t.Fatalf("the error is %v", err)
			}
			for _, w := range c.want {
				contains(t, err.Error(), w)
			}
		})
	}
	n := newNode(t, registries(ca), "containerd kubeadm")
	connection := httpsConnection(password)
	connection.CertificatePath, connection.CACertificate = "", ca
	n.must(n.connect(connection)) // which pulls
	connection.CACertificate = newCA(t, true)
	if err := n.connect(connection); !errors.Is(err, client.ErrUnknownAuthority) {
		t.Errorf("with another CA: %v", err)
	}
}
