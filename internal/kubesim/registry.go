package kubesim

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"path"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/afero"
	"github.com/spf13/pflag"
)

// Registry is a private container registry that machines can reach.
type Registry struct {
	Address            netip.AddrPort
	CA                 string // PEM of the CA that has signed its certificate; "" speaks HTTP
	Username, Password string // "" lets everybody pull
	Images             []string
}

// registryPrograms are what pulls images, and talks to what does.
var registryPrograms = map[string]func(context.Context, *call) error{"containerd": containerd, "crictl": crictl, "ctr": ctr, "docker": docker}

func init() {
	// kubeadm's package depends on cri-tools; containerd's brings ctr.
	maps.Copy(packagesOf, map[string]string{"crictl": "kubeadm", "ctr": "containerd", "docker": "docker.io"})
	maps.Copy(servicesOf, map[string]string{"docker": "docker.io", "cri-docker": "cri-dockerd"})
	maps.Copy(versions, map[string]string{"docker.io": "20.10.24", "cri-dockerd": "0.3.4"})
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

// way is how a runtime goes about a registry.
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

// cutServer parts host:port; brackets of an IPv6 address go.
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

// contact finds the registry and speaks to it as the way says.
func (c *call) contact(server string, w way) (*Registry, error) {
	host, port, given := cutServer(server)
	if !given {
		port = map[string]string{"http": "80", "https": "443"}[w.scheme]
	}
	addr, err := c.lookUp(host)
	if err != nil {
		return nil, err
	}
	var r *Registry
	for i, known := range c.w.registries {
		if known.Address.Addr() == addr && fmt.Sprint(known.Address.Port()) == port {
			r = &c.w.registries[i]
		}
	}
	switch {
	case r == nil:
		return nil, fmt.Errorf("dial tcp %s:%s: connect: connection refused", addr, port)
	case r.CA == "" && w.scheme == "https":
		return nil, errors.New("http: server gave HTTP response to HTTPS client")
	case r.CA != "" && w.scheme == "http":
		return nil, errors.New("unexpected status: 400 Bad Request: Client sent an HTTP request to an HTTPS server")
	case r.CA != "" && !strings.Contains(string(w.cas), strings.TrimSpace(r.CA)):
		return nil, errors.New("tls: failed to verify certificate: x509: certificate signed by unknown authority")
	}
	return r, nil
}

// pull fetches an image. creds are "name:password".
func (c *call) pull(image string, creds string, find func(server string) (way, error)) error {
	server, name, _ := strings.Cut(image, "/")
	w, err := find(server)
	if err != nil {
		return err
	}
	r, err := c.contact(server, w)
	if err != nil {
		return fmt.Errorf("failed to pull and unpack image %q: failed to do request: Head \"%s://%s/v2/%s\": %w", image, w.scheme, server, name, err)
	}
	if r.Username != "" && cmp.Or(w.creds, creds) != r.Username+":"+r.Password {
		return fmt.Errorf("failed to pull and unpack image %q: failed to resolve reference: unexpected status from HEAD request: 401 Unauthorized", image)
	}
	if !slices.Contains(r.Images, name) {
		return fmt.Errorf("failed to pull and unpack image %q: %s: not found", image, image)
	}
	return nil
}

// crictl asks containerd to pull.
func crictl(_ context.Context, c *call) error {
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
	if err := c.pull(args[1], c.process.Env("CRICTL_CREDS"), func(server string) (way, error) { return c.containerdWay(server, roots) }); err != nil {
		return fmt.Errorf("FATA[0000] pulling image: %w", err)
	}
	c.printf("Image is up to date for sha256:%s\n", randomHex(32))
	return nil
}

// ctr pulls without what containerd is configured to do.
func ctr(_ context.Context, c *call) error {
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
	return c.pull(args[2], "", func(server string) (way, error) { return c.containerdWay(server, []string{dir}) })
}

// docker is the client of Docker Engine, with what the daemon does for it.
func docker(_ context.Context, c *call) error {
	var dir string
	set := pflag.NewFlagSet("docker", pflag.ContinueOnError)
	set.SetInterspersed(false)
	set.SetOutput(io.Discard)
	set.StringVar(&dir, "config", path.Join(home(c.process.User), ".docker"), "")
	if err := set.Parse(c.args); err != nil {
		return err
	}
	if err := c.root(); err != nil {
		return err
	}
	if err := c.on(func(m *machine) error {
		if !m.runs("docker") {
			return errors.New("Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?")
		}
		return nil
	}); err != nil {
		return err
	}
	args := set.Args()
	if len(args) == 0 {
		return errors.New("docker: no command")
	}
	switch args[0] {
	case "login":
		return c.dockerLogin(dir+"/config.json", args[1:])
	case "logout":
		return c.dockerLogout(dir+"/config.json", args[1:])
	case "pull":
		return c.dockerPull(dir+"/config.json", args[1:])
	case "info":
		return c.dockerInfo(args[1:])
	}
	return fmt.Errorf("docker: '%s' is not a docker command.", args[0])
}

// dockerWay is what the daemon does with a server: HTTP for those that it has been told of.
func (c *call) dockerWay(server string) (way, error) {
	w := way{scheme: "https"}
	if err := c.on(func(m *machine) error {
		if slices.Contains(m.Insecure, server) {
			w.scheme = "http"
		}
		return nil
	}); err != nil {
		return w, err
	}
	names, err := afero.Glob(c.process.FS, "/etc/docker/certs.d/"+strings.NewReplacer("[", `\[`, "]", `\]`).Replace(server)+"/*.crt")
	for _, name := range names {
		text, err := afero.ReadFile(c.process.FS, name)
		if err != nil {
			return w, err
		}
		w.cas = append(w.cas, text...)
	}
	return w, err
}

// dockerConfig is config.json of the client, with "name:password" in the clear.
type dockerConfig struct {
	Auths map[string]string `json:"auths"`
}

func (c *call) dockerConfig(name string) dockerConfig {
	f := dockerConfig{}
	if text, err := afero.ReadFile(c.process.FS, name); err == nil {
		_ = json.Unmarshal(text, &f)
	}
	if f.Auths == nil {
		f.Auths = map[string]string{}
	}
	return f
}

func (c *call) writeDockerConfig(name string, f dockerConfig) error {
	text, err := json.Marshal(f)
	if err != nil {
		return err
	}
	return c.write(name, string(text), 0o600)
}

func (c *call) dockerLogin(file string, args []string) error {
	var user string
	var stdin bool
	rest, err := c.flags(args, func(f *pflag.FlagSet) {
		f.StringVarP(&user, "username", "u", "", "")
		f.BoolVar(&stdin, "password-stdin", false, "")
	})
	if err != nil {
		return err
	}
	if len(rest) != 1 || user == "" || !stdin {
		return errors.New("Error: Cannot perform an interactive login from a non TTY device")
	}
	text, err := io.ReadAll(c.process.Stdin)
	if err != nil {
		return err
	}
	w, err := c.dockerWay(rest[0])
	if err != nil {
		return err
	}
	r, err := c.contact(rest[0], w)
	if err != nil {
		return fmt.Errorf("Error response from daemon: Get \"%s://%s/v2/\": %w", w.scheme, rest[0], err)
	}
	creds := user + ":" + strings.TrimRight(string(text), "\r\n")
	if r.Username != "" && creds != r.Username+":"+r.Password {
		return fmt.Errorf("Error response from daemon: login attempt to %s://%s/v2/ failed with status: 401 Unauthorized", w.scheme, rest[0])
	}
	f := c.dockerConfig(file)
	f.Auths[rest[0]] = creds
	c.printf("Login Succeeded\n")
	return c.writeDockerConfig(file, f)
}

func (c *call) dockerLogout(file string, args []string) error {
	if len(args) != 1 {
		return errors.New("\"docker logout\" requires at most 1 argument.")
	}
	f := c.dockerConfig(file)
	delete(f.Auths, args[0])
	return c.writeDockerConfig(file, f)
}

func (c *call) dockerPull(file string, args []string) error {
	rest, err := c.flags(args, func(f *pflag.FlagSet) { f.BoolP("quiet", "q", false, "") })
	if err != nil {
		return err
	}
	if len(rest) != 1 {
		return errors.New("\"docker pull\" requires exactly 1 argument.")
	}
	server, _, _ := strings.Cut(rest[0], "/")
	if err := c.pull(rest[0], c.dockerConfig(file).Auths[server], c.dockerWay); err != nil {
		return fmt.Errorf("Error response from daemon: %w", err)
	}
	return nil
}

// dockerInfo tells which registries without TLS the daemon knows now.
func (c *call) dockerInfo(args []string) error {
	if !slices.Equal(args, []string{"--format", "{{json .RegistryConfig.IndexConfigs}}"}) {
		return fmt.Errorf("kubesim: docker info %q is not simulated", args)
	}
	type index struct{ Secure bool }
	known := map[string]index{"docker.io": {true}}
	return c.on(func(m *machine) error {
		for _, server := range m.Insecure {
			known[server] = index{}
		}
		text, err := json.Marshal(known)
		c.printf("%s\n", text)
		return err
	})
}

// loadDaemon is what Docker does when it starts or is told to reload. A reload does not notice that a list is gone.
func (c *call) loadDaemon(m *machine, reload bool) error {
	var f struct {
		Insecure *[]string `json:"insecure-registries"`
	}
	text, err := afero.ReadFile(c.process.FS, "/etc/docker/daemon.json")
	if err == nil {
		if err := json.Unmarshal(text, &f); err != nil {
			return fmt.Errorf("unable to configure the Docker daemon with file /etc/docker/daemon.json: %w", err)
		}
	}
	switch {
	case f.Insecure != nil:
		m.Insecure = *f.Insecure
	case !reload:
		m.Insecure = nil
	}
	return nil
}
