// Package pull simulates how container runtimes reach registries: by HTTP or TLS, with a CA and a password. A Registry answers without a
// program; any other address leads to a machine, on which Docker may run the registry of package docker. It does not know redirects
// and bearer tokens.
package pull

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/internal/kubesim/docker"
	"github.com/vnfkit/vnfkit/internal/kubesim/program"
)

// Registry is a private container registry that machines can reach.
type Registry struct {
	Address            netip.AddrPort
	CA                 string // PEM of the CA that has signed its certificate; "" speaks HTTP
	Username, Password string // "" allows every client to pull
	Images             []string
}

// Way is how a runtime accesses a registry.
type Way struct {
	Scheme string
	CAs    []byte // PEM
	Creds  string // "name:password" of a header
}

// CutServer splits host:port, without the brackets of an IPv6 address.
func CutServer(server string) (host, port string, found bool) {
	i := strings.LastIndexByte(server, ':')
	if i < 0 || strings.HasSuffix(server, "]") {
		return strings.Trim(server, "[]"), "", false
	}
	return strings.Trim(server[:i], "[]"), server[i+1:], true
}

// lookUp finds an address as the machine's hosts file tells it.
func lookUp(p *program.Call, host string) (netip.Addr, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr, nil
	}
	text, err := afero.ReadFile(p.FS, "/etc/hosts")
	if err != nil {
		return netip.Addr{}, err
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && slices.Contains(f[1:], host) {
			return netip.ParseAddr(f[0])
		}
	}
	return netip.Addr{}, fmt.Errorf("dial tcp: lookup %s: no such host", host)
}

// Remote is a registry as runtimes see it. creds are "name:password".
type Remote interface {
	Admits(ctx context.Context, creds string) error                      // ErrUnauthorized
	Image(ctx context.Context, name, creds string) (docker.Image, error) // ErrNotFound, ErrUnauthorized
}

// Errors of a Remote.
var (
	ErrUnauthorized = errors.New("401 Unauthorized")
	ErrNotFound     = errors.New("not found")
)

// Admits implements Remote.
func (r *Registry) Admits(_ context.Context, creds string) error {
	if r.Username != "" && creds != r.Username+":"+r.Password {
		return ErrUnauthorized
	}
	return nil
}

// Image implements Remote.
func (r *Registry) Image(ctx context.Context, name, creds string) (docker.Image, error) {
	if err := r.Admits(ctx, creds); err != nil {
		return docker.Image{}, err
	}
	if !slices.Contains(r.Images, name) {
		return docker.Image{}, ErrNotFound
	}
	return docker.ImageNamed(r.Address.String() + "/" + name), nil
}

// publicRegistries have every image except the ones that are missing.
var publicRegistries = []string{"registry.k8s.io", "ghcr.io", "docker.io", "quay.io"}

type public struct {
	server  string
	missing []string
}

// Admits implements Remote.
func (public) Admits(context.Context, string) error { return nil }

// Image implements Remote.
func (r public) Image(_ context.Context, name, _ string) (docker.Image, error) {
	name = r.server + "/" + name
	if slices.Contains(r.missing, name) {
		return docker.Image{}, ErrNotFound
	}
	return docker.ImageNamed(name), nil
}

// Network is where a machine finds registries.
type Network struct {
	Registries []Registry // beside those that run on machines
	Missing    []string   // images that public registries lack
	Offline    bool       // no public registry is reached
	Dial       func(ctx context.Context, network, addr string) (net.Conn, error)
	Now        func() time.Time
}

// Contact finds a registry, for a program with the hosts file of its machine, and speaks to it as the way says.
func (n Network) Contact(ctx context.Context, p *program.Call, server string, w Way) (Remote, error) {
	if slices.Contains(publicRegistries, server) {
		if n.Offline {
			return nil, fmt.Errorf("dial tcp: lookup %s: i/o timeout", server)
		}
		return public{server, n.Missing}, nil
	}
	host, port, given := CutServer(server)
	if !given {
		port = map[string]string{"http": "80", "https": "443"}[w.Scheme]
	}
	addr, err := lookUp(p, host)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(n.Registries, func(r Registry) bool { return r.Address.Addr() == addr && fmt.Sprint(r.Address.Port()) == port })
	if i < 0 {
		return dial(ctx, n, server, net.JoinHostPort(addr.String(), port), w)
	}
	r := &n.Registries[i]
	switch {
	case r.CA == "" && w.Scheme == "https":
		return nil, errors.New("http: server gave HTTP response to HTTPS client")
	case r.CA != "" && w.Scheme == "http":
		return nil, errors.New("unexpected status: 400 Bad Request: Client sent an HTTP request to an HTTPS server")
	case r.CA != "" && !strings.Contains(string(w.CAs), strings.TrimSpace(r.CA)):
		return nil, errors.New("tls: failed to verify certificate: x509: certificate signed by unknown authority")
	}
	return r, nil
}
