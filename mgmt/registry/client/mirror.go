package client

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/mgmt/linux"
)

// Mirror is a server that containerd asks for the images of a public registry, and never the public registry itself. It is an element of
// registry_mirrors.
type Mirror struct {
	// Registry is the public registry, as image names begin: "registry.k8s.io". Required.
	Registry string `json:"registry"`
	// Server is the Server of a Connection without a login, whose TLS settings apply, or "https://" with a host and perhaps a port. Required.
	Server string `json:"server"`
	// CertificatePath is a file of the VNF package with CA certificates (PEM) for a Server that is a URL. Default: those of the machine.
	CertificatePath string `json:"certificate_path"`
	// CACertificate has the certificates themselves, instead of a CertificatePath.
	CACertificate string `json:"ca_certificate"`
}

// Mirrors are all mirrors of a cluster.
type Mirrors []Mirror

// byURL reports whether the mirror is no private registry of the request.
func (m Mirror) byURL() bool { return strings.Contains(m.Server, "://") }

// Connections returns the mirrors as connections to the public registries. private are the private registries of the same machines.
func (m Mirrors) Connections(private Connections) Connections {
	var out Connections
	for _, mirror := range m {
		c := Connection{Type: HTTPS, CertificatePath: mirror.CertificatePath, CACertificate: mirror.CACertificate, Mirror: strings.TrimSuffix(mirror.Server, "/")}
		if i := private.index(mirror.Server); i >= 0 {
			p := private[i]
			c = Connection{Type: p.Type, CertificatePath: p.CertificatePath, CACertificate: p.CACertificate, Mirror: p.URL()}
		}
		c.Server = mirror.Registry
		out = append(out, c)
	}
	return out
}

// index returns the position of the connection to a server, -1 if no connection names the server.
func (c Connections) index(server string) int {
	return slices.IndexFunc(c, func(known Connection) bool { return strings.EqualFold(known.Server, server) })
}

// Validate reports every fault of the mirrors (*vnflcm.ParamError, joined). path is where the list lies in the request, private are the private
// registries in the attribute privateName. Certificates are read from the package.
func (m Mirrors) Validate(path string, private Connections, privateName string, open linux.Open) error {
	v := &validator{open: open}
	seen := map[string]int{}
	for i, mirror := range m {
		v.path = fmt.Sprintf("%s[%d]", path, i)
		v.registry(mirror.Registry)
		name := strings.ToLower(mirror.Registry)
		if first, taken := seen[name]; taken && name != "" {
			v.fault("registry", mirror.Registry, fmt.Sprintf("is the one of %s[%d] too: a registry has one mirror", path, first))
		} else {
			seen[name] = i
		}
		if private.index(mirror.Registry) >= 0 {
			v.fault("registry", mirror.Registry, "is in "+privateName+", too: a registry has a connection or a mirror")
		}
		v.mirrorServer(mirror, private, privateName)
	}
	return errors.Join(v.faults...)
}

func (v *validator) registry(name string) {
	if name == "" {
		v.fault("registry", "", "is required")
	} else if !serverForm.MatchString(name) {
		v.fault("registry", name, "must be a registry as image names begin, such as registry.k8s.io or docker.io")
	}
}

func (v *validator) mirrorServer(m Mirror, private Connections, privateName string) {
	if m.byURL() {
		u, err := url.Parse(m.Server)
		if err != nil || u.Scheme != "https" || u.User != nil || strings.Trim(u.Path, "/")+u.RawQuery+u.Fragment != "" || !serverForm.MatchString(u.Host) {
			v.fault("server", "", "must be https:// with a host and perhaps a port, and without a login and a path")
		}
		v.authority(m.CertificatePath, m.CACertificate)
		return
	}
	i := private.index(m.Server)
	switch {
	case m.Server == "":
		v.fault("server", "", "is required")
	case i < 0:
		v.fault("server", m.Server, "must be a server of "+privateName+", or a URL such as https://mirror.example.com")
	case private[i].login():
		v.fault("server", m.Server, "has a login, for which hosts.toml of containerd has no place: let the registry serve these images without one, or give image_repository")
	}
	if m.CertificatePath+m.CACertificate != "" {
		v.fault("ca_certificate", "", "and certificate_path are for a URL: the certificates of "+privateName+" apply")
	}
}
