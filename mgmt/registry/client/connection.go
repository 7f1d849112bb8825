package client

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/linux"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// The values of Connection.Type.
const (
	HTTP  = "0"
	HTTPS = "1"
)

// Connection is how machines reach one private registry: an element of private_registry_connection_info
// (Tacker, "Support Kubernetes cluster with Docker private registries").
type Connection struct {
	// Type is HTTP or HTTPS. Required.
	Type string `json:"connection_type"`
	// Server is a host name or an address, with a port or without, as image names begin: "192.168.0.10:5000".
	// Required.
	Server string `json:"server"`
	// Username logs in. Default: no login.
	Username string `json:"username"`
	// Password is required with a Username.
	Password vnflcm.Secret `json:"password"`
	// CertificatePath is a file of the VNF package with CA certificates (PEM) for the registry's certificate, in
	// addition to those that the machine trusts already. Default: only the latter. It has no effect with HTTP.
	CertificatePath string `json:"certificate_path"`
	// CACertificate has the certificates themselves, instead of a CertificatePath, for a registry that was created
	// after the package: see registry.ConnectionOf. An extension of Tacker's format.
	CACertificate string `json:"ca_certificate"`
	// HostsString is "address name", for machines whose DNS does not resolve the name of the registry.
	HostsString string `json:"hosts_string"`
	// ProbeImage is an image of the registry, without the server: "team/pause:3.10". Probe pulls it. Default: no
	// probe. Beyond Tacker.
	ProbeImage string `json:"probe_image"`
	// Mirror is the URL of the server that containerd asks instead of Server, with the other settings. Mirrors.Connections sets it. No attribute of
	// a request. Default: Server itself.
	Mirror string `json:"-"`
}

// Connections are all private registries of a cluster.
type Connections []Connection

// URL is where the registry, or its mirror, is reached: a scheme and a host, perhaps with a port.
func (c Connection) URL() string {
	if c.Mirror != "" {
		return c.Mirror
	}
	if c.Type == HTTP {
		return "http://" + c.Server
	}
	return "https://" + c.Server
}

// ownCA reports whether the connection has CA certificates for the registry.
func (c Connection) ownCA() bool { return c.Type == HTTPS && c.CertificatePath+c.CACertificate != "" }

// ca reads the CA certificates that the connection brings.
func (c Connection) ca(open linux.Open) ([]byte, error) {
	if c.CACertificate != "" {
		return caCertificates([]byte(c.CACertificate))
	}
	return readCA(open, c.CertificatePath)
}

func (c Connection) login() bool { return c.Username != "" }

// credentials have the form in which config.json has them.
func (c Connection) credentials() string { return c.Username + ":" + c.Password.Reveal() }

// HostEntries are the lines of /etc/hosts that the connections ask for, in their order and each once.
func (c Connections) HostEntries() []mgmt.HostEntry {
	var out []mgmt.HostEntry
	seen := map[mgmt.HostEntry]bool{}
	for _, r := range c {
		if e, err := hostEntry(r.HostsString); err == nil && e.Name != "" && !seen[e] {
			seen[e] = true
			out = append(out, e)
		}
	}
	return out
}

// hostEntry reads a hosts_string. The empty one is no entry.
func hostEntry(text string) (mgmt.HostEntry, error) {
	fields := strings.Fields(text)
	if len(fields) == 0 {
		return mgmt.HostEntry{}, nil
	}
	if len(fields) != 2 {
		return mgmt.HostEntry{}, fmt.Errorf("%d words", len(fields))
	}
	addr, err := netip.ParseAddr(fields[0])
	if err != nil {
		return mgmt.HostEntry{}, err
	}
	if addr.Zone() != "" || !hostName.MatchString(fields[1]) {
		return mgmt.HostEntry{}, fmt.Errorf("%q is no host name", fields[1])
	}
	return mgmt.HostEntry{IP: addr, Name: fields[1]}, nil
}

// Warn logs attributes that are accepted and have no effect, or a limited one. path is the path of the list in the
// request.
func (c Connections) Warn(ctx context.Context, log *slog.Logger, path string) {
	for i, r := range c {
		warn := func(message, name string) {
			log.WarnContext(ctx, message, "attribute", fmt.Sprintf("%s[%d].%s", path, i, name))
		}
		if r.Type == HTTP && r.CertificatePath != "" {
			warn("the certificate has no effect with HTTP (connection_type 0)", "certificate_path")
		}
		if r.Type == HTTP && r.CACertificate != "" {
			warn("the certificate has no effect with HTTP (connection_type 0)", "ca_certificate")
		}
		if r.Type == HTTP && r.login() {
			warn("the password is sent in the clear with HTTP (connection_type 0)", "password")
		}
		if !r.login() && !r.Password.IsZero() {
			warn("the password has no effect without a username", "password")
		}
	}
}
