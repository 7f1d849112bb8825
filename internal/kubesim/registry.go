package kubesim

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"path"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/afero"
	"github.com/spf13/pflag"

	"github.com/vnfkit/vnfkit/internal/kubesim/docker"
)

// Registry is a private container registry that machines can reach.
type Registry struct {
	Address            netip.AddrPort
	CA                 string // PEM of the CA that has signed its certificate; "" speaks HTTP
	Username, Password string // "" allows every client to pull
	Images             []string
}

// registryPrograms are what pulls images, and talks to what does.
var registryPrograms = map[string]func(context.Context, *call) error{"containerd": containerd, "crictl": crictl, "ctr": ctr, "docker": dockerCommand}

func init() {
	// kubeadm's package depends on cri-tools; containerd's brings ctr.
	maps.Copy(packagesOf, map[string]string{"crictl": "kubeadm", "ctr": "containerd", "docker": "docker.io|docker-ce"})
	maps.Copy(servicesOf, map[string]string{"docker": "docker.io|docker-ce", "docker.socket": "docker.io|docker-ce", "cri-docker": "cri-dockerd"})
	maps.Copy(versions, map[string]string{"docker.io": "20.10.24+dfsg1-1+deb12u1", "docker-ce": "5:28.5.1-1~debian.12~bookworm", "docker-ce-cli": "5:28.5.1-1~debian.12~bookworm", "containerd.io": "1.7.28", "cri-dockerd": "0.3.4"})
}

// containerdFile is the configuration of containerd.
type containerdFile struct {
	Version  int      `toml:"version"`
	Disabled []string `toml:"disabled_plugins"`
	Plugins  map[string]struct {
		Registry struct {
			ConfigPath string `toml:"config_path"`
		} `toml:"registry"`
	} `toml:"plugins"`
}

// containerd prints its configuration.
func containerd(_ context.Context, c *call) error {
	switch {
	case slices.Equal(c.args, []string{"--version"}):
		c.printf("containerd github.com/containerd/containerd 1.6.20~ds1 1.6.20~ds1-1+deb12u1\n")
		return nil
	case !slices.Equal(c.args, []string{"config", "dump"}):
		return fmt.Errorf("kubesim: containerd %q is not simulated", c.args)
	}
	if _, err := c.containerdFile(); err != nil {
		return err
	}
	text, err := afero.ReadFile(c.process.FS, "/etc/containerd/config.toml")
	if err != nil {
		text = []byte("version = 2\n")
	}
	c.printf("%s", text)
	return nil
}

func (c *call) containerdFile() (containerdFile, error) {
	f := containerdFile{}
	text, err := afero.ReadFile(c.process.FS, "/etc/containerd/config.toml")
	if err != nil {
		return f, nil // the defaults
	}
	if err := toml.Unmarshal(text, &f); err != nil {
		return f, fmt.Errorf("containerd: failed to load TOML: /etc/containerd/config.toml: %w", err)
	}
	return f, nil
}

// way is how a runtime accesses a registry.
type way struct {
	scheme string
	cas    []byte
	creds  string // "name:password" of a header
}

// hostsFile is what containerd reads in certs.d.
type hostsFile struct {
	Server string `toml:"server"`
	CA     string `toml:"ca"`
	Host   map[string]struct {
		Capabilities []string `toml:"capabilities"`
		CA           string   `toml:"ca"`
		Header       struct {
			Authorization string
		} `toml:"header"`
	} `toml:"host"`
}

// containerdWay reads hosts.toml of a server below the directories that are configured.
func (c *call) containerdWay(server string, roots []string) (way, error) {
	host, port, _ := cutServer(server)
	for _, root := range roots {
		for _, name := range []string{host + "_" + port + "_", server} {
			if dir := path.Join(root, name); c.exists(dir) {
				return c.hostsWay(dir, server)
			}
		}
	}
	return way{scheme: "https"}, nil
}

func (c *call) hostsWay(dir, server string) (way, error) {
	text, err := afero.ReadFile(c.process.FS, dir+"/hosts.toml")
	if err != nil {
		return way{scheme: "https"}, nil //nolint:nilerr // containerd falls back to its defaults
	}
	var f hostsFile
	if err := toml.Unmarshal(text, &f); err != nil || len(f.Host) == 0 {
		return way{}, errors.New("failed to decode hosts.toml: invalid `host` tree")
	}
	for url, h := range f.Host {
		scheme, at, _ := strings.Cut(url, "://")
		if at != server || !slices.Contains(h.Capabilities, "pull") || !slices.Contains(h.Capabilities, "resolve") {
			continue
		}
		w := way{scheme: scheme}
		if encoded, ok := strings.CutPrefix(h.Header.Authorization, "Basic "); ok {
			creds, err := base64.StdEncoding.DecodeString(encoded)
			if err != nil {
				return w, err
			}
			w.creds = string(creds)
		}
		if h.CA != "" {
			if w.cas, err = afero.ReadFile(c.process.FS, h.CA); err != nil {
				return w, fmt.Errorf("unable to read CA cert %q: %w", h.CA, err)
			}
		}
		return w, nil
	}
	return way{}, fmt.Errorf("%s: no host of hosts.toml can pull", server)
}

// cutServer splits host:port, without the brackets of an IPv6 address.
func cutServer(server string) (host, port string, found bool) {
	i := strings.LastIndexByte(server, ':')
	if i < 0 || strings.HasSuffix(server, "]") {
		return strings.Trim(server, "[]"), "", false
	}
	return strings.Trim(server[:i], "[]"), server[i+1:], true
}

// lookUp finds an address as the machine's hosts file tells it.
func (c *call) lookUp(host string) (netip.Addr, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr, nil
	}
	text, err := afero.ReadFile(c.process.FS, "/etc/hosts")
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

// remote is a registry as runtimes see it. creds are "name:password".
type remote interface {
	admits(ctx context.Context, creds string) error                      // errUnauthorized
	image(ctx context.Context, name, creds string) (docker.Image, error) // errNotFound, errUnauthorized
}

var (
	errUnauthorized = errors.New("401 Unauthorized")
	errNotFound     = errors.New("not found")
)

func (r *Registry) admits(_ context.Context, creds string) error {
	if r.Username != "" && creds != r.Username+":"+r.Password {
		return errUnauthorized
	}
	return nil
}

func (r *Registry) image(ctx context.Context, name, creds string) (docker.Image, error) {
	if err := r.admits(ctx, creds); err != nil {
		return docker.Image{}, err
	}
	if !slices.Contains(r.Images, name) {
		return docker.Image{}, errNotFound
	}
	return docker.ImageNamed(r.Address.String() + "/" + name), nil
}

// contact finds the registry and speaks to it as the way says.
func (c *call) contact(ctx context.Context, server string, w way) (remote, error) {
	host, port, given := cutServer(server)
	if !given {
		port = map[string]string{"http": "80", "https": "443"}[w.scheme]
	}
	addr, err := c.lookUp(host)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(c.w.registries, func(r Registry) bool { return r.Address.Addr() == addr && fmt.Sprint(r.Address.Port()) == port })
	if i < 0 {
		return c.contactMachine(ctx, server, net.JoinHostPort(addr.String(), port), w)
	}
	r := &c.w.registries[i]
	switch {
	case r.CA == "" && w.scheme == "https":
		return nil, errors.New("http: server gave HTTP response to HTTPS client")
	case r.CA != "" && w.scheme == "http":
		return nil, errors.New("unexpected status: 400 Bad Request: Client sent an HTTP request to an HTTPS server")
	case r.CA != "" && !strings.Contains(string(w.cas), strings.TrimSpace(r.CA)):
		return nil, errors.New("tls: failed to verify certificate: x509: certificate signed by unknown authority")
	}
	return r, nil
}

// pull fetches an image as containerd does. creds are "name:password".
func (c *call) pull(ctx context.Context, name string, creds string, find func(server string) (way, error)) (docker.Image, error) {
	server, path, _ := strings.Cut(name, "/")
	w, err := find(server)
	if err != nil {
		return docker.Image{}, err
	}
	r, err := c.contact(ctx, server, w)
	if err != nil {
		return docker.Image{}, fmt.Errorf("failed to pull and unpack image %q: failed to do request: Head \"%s://%s/v2/%s\": %w", name, w.scheme, server, path, err)
	}
	got, err := r.image(ctx, path, cmp.Or(w.creds, creds))
	switch {
	case errors.Is(err, errUnauthorized):
		err = fmt.Errorf("failed to pull and unpack image %q: failed to resolve reference: unexpected status from HEAD request: %w", name, err)
	case err != nil:
		err = fmt.Errorf("failed to pull and unpack image %q: %s: %w", name, name, err)
	}
	return got, err
}

// crictl asks containerd to pull.
func crictl(ctx context.Context, c *call) error {
	var endpoint string
	args, err := c.flags(c.args, func(f *pflag.FlagSet) { f.StringVarP(&endpoint, "runtime-endpoint", "r", "", "") })
	if err != nil {
		return err
	}
	if err := c.root(); err != nil {
		return err
	}
	if endpoint != "unix:///run/containerd/containerd.sock" || len(args) != 2 || args[0] != "pull" {
		return fmt.Errorf("kubesim: crictl %q is not simulated", c.args)
	}
	if err := c.on(func(m *machine) error {
		if !m.runs("containerd") {
			return errors.New("validate service connection: connect: no such file or directory")
		}
		return nil
	}); err != nil {
		return err
	}
	f, err := c.containerdFile()
	if err != nil {
		return err
	}
	var roots []string
	for _, p := range f.Plugins {
		roots = append(roots, strings.FieldsFunc(p.Registry.ConfigPath, func(r rune) bool { return r == ':' })...)
	}
	got, err := c.pull(ctx, args[1], c.process.Env("CRICTL_CREDS"), func(server string) (way, error) { return c.containerdWay(server, roots) })
	if err != nil {
		return fmt.Errorf("FATA[0000] pulling image: %w", err)
	}
	c.printf("Image is up to date for %s\n", got.ID)
	return nil
}

// ctr pulls without what containerd is configured to do.
func ctr(ctx context.Context, c *call) error {
	var namespace, dir string
	args, err := c.flags(c.args, func(f *pflag.FlagSet) {
		f.StringVarP(&namespace, "namespace", "n", "default", "")
		f.StringVar(&dir, "hosts-dir", "", "")
	})
	if err != nil {
		return err
	}
	if err := c.root(); err != nil {
		return err
	}
	if namespace != "k8s.io" || len(args) != 3 || args[0] != "images" || args[1] != "pull" {
		return fmt.Errorf("kubesim: ctr %q is not simulated", c.args)
	}
	_, err = c.pull(ctx, args[2], "", func(server string) (way, error) { return c.containerdWay(server, []string{dir}) })
	return err
}
