package client

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/vnfkit/vnfkit/sshexec"
)

// Errors about settings that are already on the machine, found with errors.Is. Both are final until an operator changes
// that.
var (
	// ErrForeign: another program has configured the same registry differently.
	ErrForeign = errors.New("configured by another program")
	// ErrNotConfigured: containerd does not look for registries where it should.
	ErrNotConfigured = errors.New("containerd has no config_path for registries")
)

// certsDir is where containerd looks for registries; its config_path must name it.
const certsDir = "/etc/containerd/certs.d"

// caFile is the name of our CA certificates in a directory of certs.d. Docker takes any name that ends so.
const caFile = "vnfkit-ca.crt"

// containerdDir is the directory of a registry: on Linux it is called as the server is, with the colon before the
// port (containerd, docs/hosts.md).
func containerdDir(server string) string { return certsDir + "/" + server }

// shadowDir is what containerd looks for before that, "" if it does not (containerd, hostDirectory).
func shadowDir(server string) string {
	i := strings.LastIndexByte(server, ':')
	if i <= 0 {
		return ""
	}
	return certsDir + "/" + server[:i] + "_" + server[i+1:] + "_"
}

// hostsFile is hosts.toml (containerd, docs/hosts.md). containerd 1.x needs a host table; after its hosts it tries
// the server, with what stands at the top.
type hostsFile struct {
	Server string                `toml:"server,omitempty"`
	CA     any                   `toml:"ca,omitempty"`
	Host   map[string]hostConfig `toml:"host"`
}

type hostConfig struct {
	Capabilities []string `toml:"capabilities,omitempty"`
	CA           any      `toml:"ca,omitempty"` // a path; files of other programs may have a list
	SkipVerify   bool     `toml:"skip_verify,omitempty"`

	Header map[string]string `toml:"header,omitempty"`
}

// hostsTOML renders hosts.toml of a connection, with credentials ("name:password") if there are any. Use credentials
// only for a probe: containerd would send them with each pull, for every client.
func hostsTOML(c Connection, credentials string) ([]byte, error) {
	host := hostConfig{Capabilities: []string{"pull", "resolve"}}
	if credentials != "" {
		host.Header = map[string]string{"Authorization": "Basic " + base64.StdEncoding.EncodeToString([]byte(credentials))}
	}
	if c.ownCA() {
		host.CA = containerdDir(c.Server) + "/" + caFile
	}
	out, err := toml.Marshal(hostsFile{Server: c.URL(), CA: host.CA, Host: map[string]hostConfig{c.URL(): host}})
	return append([]byte("# Written by vnfkit: changes will be lost.\n"), out...), err
}

// servesAs reports whether a hosts.toml of another program has the same effect.
func servesAs(content []byte, c Connection) bool {
	var f hostsFile
	if err := toml.Unmarshal(content, &f); err != nil || len(f.Host) != 1 || c.ownCA() {
		return false
	}
	for url, host := range f.Host {
		all := len(host.Capabilities) == 0 || slices.Contains(host.Capabilities, "pull") && slices.Contains(host.Capabilities, "resolve")
		return strings.TrimSuffix(url, "/") == c.URL() && all && host.CA == nil && !host.SkipVerify
	}
	return false
}

func (c *connector) claimContainerd(ctx context.Context, out map[string]claim) error {
	if len(c.wanted) == 0 {
		return nil
	}
	config, err := c.containerdConfig(ctx)
	if err != nil {
		return err
	}
	if paths := config.paths(); !slices.Contains(paths, certsDir) {
		return fmt.Errorf("registry: %s: %w: it has %q; set config_path = %q under [plugins.%q.registry] of /etc/containerd/config.toml (version 3: [plugins.%q.registry]) and restart containerd",
			c.SSH.Name(), ErrNotConfigured, strings.Join(paths, ":"), certsDir, criV2, criV3)
	}
	var faults []error
	for _, w := range c.wanted {
		ours, err := c.claimDir(ctx, w)
		faults = append(faults, err)
		owned := out[w.Server]
		owned.Containerd = ours
		out[w.Server] = owned
	}
	return errors.Join(faults...)
}

// claimDir reports whether this package owns, or can take, the directory of a registry. It cannot if another program
// has configured the same registry there.
func (c *connector) claimDir(ctx context.Context, w Connection) (ours bool, err error) {
	if dir := shadowDir(w.Server); dir != "" {
		exists, err := c.Succeeds(ctx, "test", "-e", dir)
		if err != nil {
			return false, err
		}
		if exists {
			return false, fmt.Errorf("registry: %s: %s: %w: containerd would use %s: remove that directory", c.SSH.Name(), w.Server, ErrForeign, dir)
		}
	}
	if c.old.Registries[w.Server].Containerd {
		return true, nil
	}
	name := containerdDir(w.Server) + "/hosts.toml"
	content, exists, err := c.Read(ctx, name)
	switch {
	case err != nil:
		return false, err
	case !exists:
		return true, nil
	case servesAs(content, w):
		return false, nil
	}
	return false, fmt.Errorf("registry: %s: %s: %w: remove %s, or leave that registry out", c.SSH.Name(), w.Server, ErrForeign, name)
}

func (c *connector) writeContainerd(ctx context.Context) error {
	for _, w := range c.wanted {
		if !c.now[w.Server].Containerd {
			continue
		}
		dir := containerdDir(w.Server)
		// The CA first: a hosts.toml that names a missing file makes every pull fail.
		if ca := c.cas[w.Server]; ca != nil {
			if err := c.Write(ctx, dir+"/"+caFile, ca, 0o644); err != nil {
				return err
			}
		}
		content, err := hostsTOML(w, "")
		if err != nil {
			return err
		}
		if err := c.Write(ctx, dir+"/hosts.toml", content, 0o644); err != nil {
			return err
		}
		if c.cas[w.Server] == nil {
			if err := c.Remove(ctx, dir+"/"+caFile); err != nil {
				return err
			}
		}
	}
	return nil
}

// The plugins whose registry.config_path is used: containerd 1.x, and 2.x in configurations of version 3 (containerd,
// docs/cri/registry.md).
const (
	criV2 = "io.containerd.grpc.v1.cri"
	criV3 = "io.containerd.cri.v1.images"
)

// containerdConfig is what matters of containerd's configuration.
type containerdConfig struct {
	Disabled []string `toml:"disabled_plugins"`
	Plugins  map[string]struct {
		Registry struct {
			ConfigPath string `toml:"config_path"`
		} `toml:"registry"`
	} `toml:"plugins"`
}

// containerdConfig asks containerd for its effective configuration, with all included files.
func (m machine) containerdConfig(ctx context.Context) (containerdConfig, error) {
	var c containerdConfig
	out, err := m.Output(ctx, sshexec.Command{Argv: []string{"containerd", "config", "dump"}})
	if err != nil {
		return c, err
	}
	if err := toml.Unmarshal(out, &c); err != nil {
		return c, fmt.Errorf("registry: %s: containerd config dump: %w", m.SSH.Name(), err)
	}
	return c, nil
}

// paths are the directories where containerd looks for registries.
func (c containerdConfig) paths() []string {
	var out []string
	for _, plugin := range []string{criV2, criV3} {
		if text := c.Plugins[plugin].Registry.ConfigPath; text != "" {
			out = append(out, strings.Split(text, ":")...)
		}
	}
	return out
}

// servesKubernetes reports whether the plugin that the kubelet talks to is on: packages of Docker turn it off.
func (c containerdConfig) servesKubernetes() bool {
	return !slices.Contains(c.Disabled, "cri") && !slices.Contains(c.Disabled, criV2)
}
