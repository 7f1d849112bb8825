package kubesim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/afero"
	"github.com/spf13/pflag"
)

func swapoff(_ context.Context, c *call) error {
	if err := c.root(); err != nil {
		return err
	}
	if !slices.Equal(c.args, []string{"-a"}) {
		return errors.New("swapoff: bad usage")
	}
	return c.on(func(m *machine) error { m.SwapOff = true; return nil })
}

func modprobe(_ context.Context, c *call) error {
	if err := c.root(); err != nil {
		return err
	}
	return c.on(func(m *machine) error {
		for _, arg := range c.args {
			if arg != "-a" && !slices.Contains(m.Modules, arg) {
				m.Modules = append(m.Modules, arg)
			}
		}
		return nil
	})
}

// sysctl loads the files of /etc/sysctl.d: the value that kubeadm checks must be in one of them.
func sysctl(_ context.Context, c *call) error {
	if err := c.root(); err != nil {
		return err
	}
	if !slices.Equal(c.args, []string{"--system"}) {
		return fmt.Errorf("sysctl: unknown arguments %q", c.args)
	}
	files, err := afero.Glob(c.process.FS, "/etc/sysctl.d/*.conf")
	if err != nil {
		return err
	}
	for _, name := range files {
		text, err := afero.ReadFile(c.process.FS, name)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(text)) {
			key, value, _ := strings.Cut(line, "=")
			key, value = strings.TrimSpace(key), strings.TrimSpace(value)
			if err := c.on(func(m *machine) error { return m.sysctl(key, value) }); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *machine) sysctl(key, value string) error {
	switch {
	case strings.HasPrefix(key, "net.bridge.") && !slices.Contains(m.Modules, "br_netfilter"):
		return fmt.Errorf("sysctl: cannot stat /proc/sys/%s: No such file or directory", strings.ReplaceAll(key, ".", "/"))
	case key == "net.ipv4.ip_forward":
		m.Forward = value == "1"
	}
	return nil
}

// servicesOf says which packages bring a service.
var servicesOf = map[string]string{"containerd": "containerd", "kubelet": "kubelet", "haproxy": "haproxy", "keepalived": "keepalived"}

func systemctl(_ context.Context, c *call) error {
	var now, quiet bool
	args, err := c.flags(c.args, func(f *pflag.FlagSet) {
		f.BoolVar(&now, "now", false, "")
		f.BoolVarP(&quiet, "quiet", "q", false, "")
	})
	if err != nil {
		return err
	}
	if len(args) == 0 {
		return errors.New("systemctl: no verb")
	}
	verb, units := args[0], args[1:]
	if verb != "is-active" {
		if err := c.root(); err != nil {
			return err
		}
	}
	for _, unit := range units {
		if err := c.unit(verb, strings.TrimSuffix(unit, ".service"), now, quiet); err != nil {
			return err
		}
	}
	return nil
}

func (c *call) unit(verb, name string, now, quiet bool) error {
	return c.on(func(m *machine) error {
		if pkg, known := servicesOf[name]; !known || m.Packages[pkg] == "" {
			return fmt.Errorf("Failed to %s %s.service: Unit %s.service not found.", verb, name, name)
		}
		switch verb {
		case "enable":
			m.Services[name] = m.Services[name] || now
		case "start", "restart", "reload":
			m.Services[name] = true
			if name == "docker" {
				return c.loadDaemon(m, verb == "reload")
			}
		case "stop", "disable":
			m.Services[name] = false
		case "is-active":
			if !m.Services[name] {
				if !quiet {
					c.printf("inactive\n")
				}
				return errSilent
			}
		default:
			return fmt.Errorf("Unknown command verb %s.", verb)
		}
		return nil
	})
}

// versions is what the package sources offer.
var versions = map[string]string{"kubeadm": DefaultVersion, "kubelet": DefaultVersion, "kubectl": DefaultVersion,
	"containerd": "1.6.20", "haproxy": "2.6.12", "keepalived": "2.2.7", "conntrack": "1.4.7", "socat": "1.7.4", "ebtables": "2.0.11",
	"ethtool": "6.1", "iproute2": "6.1.0", "iptables": "1.8.9", "ca-certificates": "20230311", "apt-transport-https": "2.6.1", "gpg": "2.2.40",
	"cri-tools": DefaultVersion, "kubernetes-cni": "1.6.0"}

// DefaultVersion is the Kubernetes version that the package sources offer.
const DefaultVersion = "1.34.4"

// aptGet installs what the sources offer; Kubernetes comes from a source that must have been configured.
func aptGet(ctx context.Context, c *call) error {
	args, err := c.flags(c.args, func(f *pflag.FlagSet) {
		f.BoolP("yes", "y", false, "")
		f.BoolP("quiet", "q", false, "")
		f.Bool("no-install-recommends", false, "")
		f.Bool("allow-change-held-packages", false, "")
		f.StringArrayP("option", "o", nil, "")
	})
	if err != nil {
		return err
	}
	if err := c.root(); err != nil {
		return err
	}
	if len(args) == 0 {
		return errors.New("E: no operation")
	}
	switch args[0] {
	case "update":
		return c.on(func(m *machine) error { m.Fetched = true; return nil })
	case "install":
		if err := c.w.take(ctx); err != nil {
			return err
		}
		return c.install(args[1:])
	default:
		return fmt.Errorf("E: Invalid operation %s", args[0])
	}
}

func (c *call) install(packages []string) error {
	sources, err := afero.Glob(c.process.FS, "/etc/apt/sources.list.d/*")
	if err != nil {
		return err
	}
	return c.on(func(m *machine) error {
		for _, arg := range packages {
			name, wanted, pinned := strings.Cut(arg, "=")
			offered, known := versions[name]
			switch {
			case !known, !m.Fetched:
				return fmt.Errorf("E: Unable to locate package %s", name)
			case strings.HasPrefix(name, "kube") && len(sources) == 0 && m.Packages[name] == "":
				return fmt.Errorf("E: Unable to locate package %s", name)
			case pinned && !strings.HasPrefix(offered, strings.TrimRight(strings.TrimSuffix(wanted, "-*"), "*")):
				return fmt.Errorf("E: Version '%s' for '%s' was not found", wanted, name)
			}
			m.Packages[name] = offered
			if name == "containerd" || name == "haproxy" || name == "keepalived" {
				m.Services[name] = true // Debian starts what it installs
			}
		}
		return nil
	})
}

func version(_ context.Context, c *call) error {
	c.printf("Kubernetes v%s\n", DefaultVersion)
	return nil
}
