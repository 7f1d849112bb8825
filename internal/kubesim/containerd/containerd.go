// Package containerd simulates the programs of containerd 1.6 that drivers call, and the files that it reads: config.toml, as far as it
// says where the registries are described, and hosts.toml. It refuses other commands, and files that containerd does not start with. It
// does not know containers, and of images only their names: a pull ends when the registry has answered for the manifest.
package containerd

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/afero"
	"github.com/spf13/pflag"

	"github.com/vnfkit/vnfkit/internal/kubesim/docker"
	"github.com/vnfkit/vnfkit/internal/kubesim/program"
	"github.com/vnfkit/vnfkit/internal/kubesim/pull"
)

// Check finds what containerd 1.x refuses.
func Check(text string) error {
	var config struct {
		Version int `toml:"version"`
	}
	if err := toml.Unmarshal([]byte(text), &config); err != nil {
		return fmt.Errorf("containerd: failed to load TOML: %w", err)
	}
	if config.Version != 2 {
		return fmt.Errorf("containerd: expected containerd config version equal to or less than 2, got %d", config.Version)
	}
	return nil
}

// file is the configuration of containerd.
type file struct {
	Plugins map[string]struct {
		Registry struct {
			ConfigPath string `toml:"config_path"`
		} `toml:"registry"`
	} `toml:"plugins"`
}

// configFile is where containerd looks for its configuration.
const configFile = "/etc/containerd/config.toml"

// Run prints the version of containerd, or its configuration.
func Run(p *program.Call) error {
	switch {
	case slices.Equal(p.Args, []string{"--version"}):
		p.Printf("containerd github.com/containerd/containerd 1.6.20~ds1 1.6.20~ds1-1+deb12u1\n")
		return nil
	case !slices.Equal(p.Args, []string{"config", "dump"}):
		return fmt.Errorf("kubesim: containerd %q is not simulated", p.Args)
	}
	_, text, err := read(p)
	if err == nil {
		p.Printf("%s", text)
	}
	return err
}

// read reads the configuration; without a file containerd has its defaults.
func read(p *program.Call) (f file, text []byte, err error) {
	text, err = afero.ReadFile(p.FS, configFile)
	if err != nil {
		return f, []byte("version = 2\n"), nil //nolint:nilerr // see above
	}
	if err := toml.Unmarshal(text, &f); err != nil {
		return f, nil, fmt.Errorf("containerd: failed to load TOML: %s: %w", configFile, err)
	}
	return f, text, nil
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

// endpoint is a server that containerd asks for the images of a registry.
type endpoint struct {
	server string
	way    pull.Way
}

// endpointsOf reads hosts.toml of a registry below the directories that are configured, and returns the servers in the order in which containerd
// asks them.
func endpointsOf(p *program.Call, server string, roots []string) ([]endpoint, error) {
	host, port, _ := pull.CutServer(server)
	for _, root := range roots {
		for _, name := range []string{host + "_" + port + "_", server} {
			if dir := path.Join(root, name); p.Exists(dir) {
				return readHosts(p, dir, server)
			}
		}
	}
	return []endpoint{{server, pull.Way{Scheme: "https"}}}, nil
}

func readHosts(p *program.Call, dir, server string) ([]endpoint, error) {
	itself := endpoint{server, pull.Way{Scheme: "https"}}
	text, err := afero.ReadFile(p.FS, dir+"/hosts.toml")
	if err != nil {
		return []endpoint{itself}, nil //nolint:nilerr // containerd falls back to its defaults
	}
	var f hostsFile
	if err := toml.Unmarshal(text, &f); err != nil || len(f.Host) != 1 {
		return nil, errors.New("failed to decode hosts.toml: invalid `host` tree, or one that is not simulated")
	}
	var out []endpoint
	for url, h := range f.Host {
		scheme, at, _ := strings.Cut(url, "://")
		if !slices.Contains(h.Capabilities, "pull") || !slices.Contains(h.Capabilities, "resolve") {
			return nil, fmt.Errorf("%s: no host of hosts.toml can pull", server)
		}
		w := pull.Way{Scheme: scheme}
		if encoded, ok := strings.CutPrefix(h.Header.Authorization, "Basic "); ok {
			creds, err := base64.StdEncoding.DecodeString(encoded)
			if err != nil {
				return nil, err
			}
			w.Creds = string(creds)
		}
		if h.CA != "" {
			if w.CAs, err = afero.ReadFile(p.FS, h.CA); err != nil {
				return nil, fmt.Errorf("unable to read CA cert %q: %w", h.CA, err)
			}
		}
		out = append(out, endpoint{at, w})
		if f.Server != url { // containerd asks the registry last
			if f.Server != "" {
				scheme, at, _ := strings.Cut(f.Server, "://")
				itself = endpoint{at, pull.Way{Scheme: scheme}}
			}
			out = append(out, itself)
		}
	}
	return out, nil
}

// fetch fetches an image as containerd does. creds are "name:password".
func fetch(ctx context.Context, p *program.Call, n pull.Network, name, creds string, roots []string) (got docker.Image, err error) {
	server, path, _ := strings.Cut(name, "/")
	endpoints, err := endpointsOf(p, server, roots)
	for _, e := range endpoints {
		if got, err = fetchFrom(ctx, p, n, e, name, path, creds); err == nil {
			break
		}
	}
	return got, err
}

func fetchFrom(ctx context.Context, p *program.Call, n pull.Network, e endpoint, name, path, creds string) (docker.Image, error) {
	r, err := n.Contact(ctx, p, e.server, e.way)
	if err != nil {
		return docker.Image{}, fmt.Errorf("failed to pull and unpack image %q: failed to do request: Head \"%s://%s/v2/%s\": %w", name, e.way.Scheme, e.server, path, err)
	}
	got, err := r.Image(ctx, path, cmp.Or(e.way.Creds, creds))
	switch {
	case errors.Is(err, pull.ErrUnauthorized):
		err = fmt.Errorf("failed to pull and unpack image %q: failed to resolve reference: unexpected status from HEAD request: %w", name, err)
	case err != nil:
		err = fmt.Errorf("failed to pull and unpack image %q: %s: %w", name, name, err)
	}
	return got, err
}

// Store has the names of the images of a machine.
type Store interface {
	Images() []string
	AddImage(name string)
	Containers() []Container
}

// Container is a container that runs in a pod.
type Container struct{ Name, Pod string }

// Crictl asks containerd to pull.
func Crictl(ctx context.Context, p *program.Call, n pull.Network, images Store, runs bool) error {
	var endpoint string
	args, err := p.Flags(p.Args, func(f *pflag.FlagSet) {
		f.StringVarP(&endpoint, "runtime-endpoint", "r", "", "")
		f.BoolP("all", "a", false, "")
	})
	if err != nil {
		return err
	}
	if err := p.Root(); err != nil {
		return err
	}
	lists := len(args) == 1 && args[0] == "ps"
	if endpoint != "unix:///run/containerd/containerd.sock" || !lists && (len(args) != 2 || args[0] != "pull") {
		return fmt.Errorf("kubesim: crictl %q is not simulated", p.Args)
	}
	if !runs {
		return errors.New("validate service connection: connect: no such file or directory")
	}
	if lists {
		return list(p, images)
	}
	f, _, err := read(p)
	if err != nil {
		return err
	}
	var roots []string
	for _, plugin := range f.Plugins {
		roots = append(roots, strings.FieldsFunc(plugin.Registry.ConfigPath, func(r rune) bool { return r == ':' })...)
	}
	got, err := fetch(ctx, p, n, args[1], p.Env("CRICTL_CREDS"), roots)
	if err != nil {
		return fmt.Errorf("FATA[0000] pulling image: %w", err)
	}
	images.AddImage(args[1])
	p.Printf("Image is up to date for %s\n", got.ID)
	return nil
}

// list prints the containers of a machine.
func list(p *program.Call, of Store) error {
	p.Printf("%-30s %-10s %s\n", "NAME", "STATE", "POD")
	for _, c := range of.Containers() {
		p.Printf("%-30s %-10s %s\n", c.Name, "Running", c.Pod)
	}
	return nil
}

// Ctr lists images and containers, and pulls without what containerd is configured to do.
func Ctr(ctx context.Context, p *program.Call, n pull.Network, images Store) error {
	var namespace, dir string
	var quiet, remove bool
	args, err := p.Flags(p.Args, func(f *pflag.FlagSet) {
		f.BoolVar(&remove, "rm", false, "")
		f.StringVarP(&namespace, "namespace", "n", "default", "")
		f.StringVar(&dir, "hosts-dir", "", "")
		f.BoolVarP(&quiet, "quiet", "q", false, "")
	})
	if err != nil {
		return err
	}
	if err := p.Root(); err != nil {
		return err
	}
	if namespace == "k8s.io" && quiet && slices.Equal(args, []string{"images", "list"}) {
		for _, name := range images.Images() {
			p.Printf("%s\n", name)
		}
		return nil
	}
	if namespace == "k8s.io" && slices.Equal(args, []string{"containers", "list"}) {
		return list(p, images)
	}
	if len(args) > 2 && args[0] == "images" && strings.HasSuffix(args[1], "mount") {
		return mountImage(p, images, namespace, args[1:], remove)
	}
	if namespace != "k8s.io" || len(args) != 3 || args[0] != "images" || args[1] != "pull" {
		return fmt.Errorf("kubesim: ctr %q is not simulated", p.Args)
	}
	if _, err = fetch(ctx, p, n, args[2], "", []string{dir}); err == nil {
		images.AddImage(args[2])
	}
	return err
}

// Etcdutl is where an image of etcd has etcdutl.
const Etcdutl = "/usr/local/bin/etcdutl"

// mountImage is "ctr images mount IMAGE DIR" and "ctr images unmount --rm DIR".
func mountImage(p *program.Call, images Store, namespace string, args []string, remove bool) error {
	dir := args[len(args)-1]
	switch {
	case namespace == "k8s.io" && args[0] == "unmount" && len(args) == 2 && remove:
		return p.FS.RemoveAll(dir + "/usr")
	case namespace != "k8s.io" || args[0] != "mount" || len(args) != 3:
		return fmt.Errorf("kubesim: ctr %q is not simulated", p.Args)
	case !slices.Contains(images.Images(), args[1]):
		return fmt.Errorf("ctr: image %q: not found", args[1])
	case !p.Exists(dir):
		return fmt.Errorf("ctr: failed to mount at %q: no such file or directory", dir)
	}
	p.Printf("%s\n", dir)
	if !strings.HasPrefix(path.Base(args[1]), "etcd:") {
		return nil
	}
	return p.Write(dir+Etcdutl, "\x7fELF", 0o755)
}
