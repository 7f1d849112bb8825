package kubesim

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
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

// modprobe shows what a module brings where programs look for it.
func modprobe(_ context.Context, c *call) error {
	if err := c.root(); err != nil {
		return err
	}
	for _, arg := range c.args {
		var err error
		switch arg {
		case "-a":
		case "overlay":
			err = c.show("/proc/filesystems", "overlay", "nodev\tproc\n\text4\nnodev\toverlay\n")
		case "br_netfilter":
			err = errors.Join(c.show("/proc/sys/net/bridge/bridge-nf-call-iptables", "", "1\n"), c.show("/proc/sys/net/bridge/bridge-nf-call-ip6tables", "", "1\n"))
		default:
			err = fmt.Errorf("modprobe: FATAL: Module %s not found in directory /lib/modules", arg)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// show puts a file where the kernel has it, unless what is asked for is in it: it may be that of a real kernel.
func (c *call) show(name, wanted, content string) error {
	c.w.mu.Lock()
	files := c.w.files[c.id]
	c.w.mu.Unlock()
	if files == nil {
		return errors.New("the machine is gone")
	}
	if now, err := afero.ReadFile(files(), name); err == nil && strings.Contains(string(now), wanted) {
		return nil
	}
	if err := files().MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	return afero.WriteFile(files(), name, []byte(content), 0o444)
}

// sysctl loads one file, or those of /etc/sysctl.d: the value that kubeadm checks must be in one of them.
func sysctl(_ context.Context, c *call) error {
	if err := c.root(); err != nil {
		return err
	}
	var files []string
	switch {
	case slices.Equal(c.args, []string{"--system"}):
		var err error
		if files, err = afero.Glob(c.process.FS, "/etc/sysctl.d/*.conf"); err != nil {
			return err
		}
	case len(c.args) == 2 && c.args[0] == "-p":
		files = c.args[1:]
	default:
		return fmt.Errorf("sysctl: unknown arguments %q", c.args)
	}
	for _, name := range files {
		text, err := afero.ReadFile(c.process.FS, name)
		if err != nil {
			return fmt.Errorf("sysctl: cannot open %q: %w", name, err)
		}
		for line := range strings.Lines(string(text)) {
			key, value, _ := strings.Cut(line, "=")
			if err := c.setSysctl(strings.TrimSpace(key), strings.TrimSpace(value)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *call) setSysctl(key, value string) error {
	if file := "/proc/sys/" + strings.ReplaceAll(key, ".", "/"); strings.HasPrefix(key, "net.bridge.") && !c.exists(file) {
		return fmt.Errorf("sysctl: cannot stat %s: No such file or directory", file)
	}
	return c.on(func(m *machine) error {
		if key == "net.ipv4.ip_forward" {
			m.Forward = value == "1"
		}
		return nil
	})
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
	if slices.Contains([]string{"start", "restart", "reload", "reload-or-restart"}, verb) {
		if err := c.startable(name); err != nil {
			return fmt.Errorf("Job for %s.service failed because the control process exited with error code: %w", name, err)
		}
	}
	return c.on(func(m *machine) error {
		if pkg, known := servicesOf[name]; !known || m.Packages[pkg] == "" {
			return fmt.Errorf("Failed to %s %s.service: Unit %s.service not found.", verb, name, name)
		}
		switch verb {
		case "enable":
			m.Services[name] = m.Services[name] || now
		case "reset-failed":
		case "reload":
			if !m.Services[name] {
				return fmt.Errorf("%s.service is not active, cannot reload.", name)
			}
			if name == "docker" {
				return c.loadDaemon(m, true)
			}
		case "start", "restart", "reload-or-restart":
			m.Services[name] = true
			if name == "docker" {
				return c.loadDaemon(m, false)
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

// startable reports what a service does not start with.
func (c *call) startable(name string) error {
	check := map[string]func(string) error{"containerd": containerdConfig, "haproxy": haproxyConfig, "keepalived": keepalivedConfig}[name]
	if check == nil {
		return nil
	}
	text, err := afero.ReadFile(c.process.FS, configOf[name])
	if errors.Is(err, fs.ErrNotExist) && name == "containerd" {
		return nil // it has defaults
	}
	if err != nil {
		return err
	}
	return check(string(text))
}

// configOf is where services look for their configuration.
var configOf = map[string]string{"containerd": "/etc/containerd/config.toml", "haproxy": "/etc/haproxy/haproxy.cfg", "keepalived": "/etc/keepalived/keepalived.conf"}

// containerdConfig finds what containerd 1.x refuses.
func containerdConfig(text string) error {
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

// versions is what the package sources offer.
var versions = map[string]string{"kubeadm": DefaultVersion, "kubelet": DefaultVersion, "kubectl": DefaultVersion,
	"containerd": "1.6.20", "haproxy": "2.6.12", "keepalived": "2.2.7", "conntrack": "1.4.7", "socat": "1.7.4", "ebtables": "2.0.11",
	"ethtool": "6.1", "iproute2": "6.1.0", "iptables": "1.8.9", "ca-certificates": "20230311", "apt-transport-https": "2.6.1", "gpg": "2.2.40",
	"cri-tools": DefaultVersion, "kubernetes-cni": "1.6.0",
	"containernetworking-plugins": "1.1.1"}

// DefaultVersion is the Kubernetes version that the package sources offer.
const DefaultVersion = "1.34.4"

// aptGet installs what the sources offer; Kubernetes comes from a source that must have been configured.
func aptGet(ctx context.Context, c *call) error {
	waits := slices.ContainsFunc(c.args, func(arg string) bool { return strings.HasPrefix(arg, "DPkg::Lock::Timeout=") })
	args, err := c.flags(c.args, func(f *pflag.FlagSet) {
		f.BoolP("yes", "y", false, "")
		f.BoolP("quiet", "q", false, "")
		f.Bool("no-install-recommends", false, "")
		f.Bool("allow-change-held-packages", false, "")
		f.Bool("allow-downgrades", false, "")
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
		done, err := c.lockPackages(ctx, c.id+" lists", false)
		if err != nil {
			return exitError{100, "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 1 (apt-get)"}
		}
		defer done()
		if err := c.w.take(ctx); err != nil {
			return err
		}
		if _, err := c.sources(true); err != nil {
			return err
		}
		return c.on(func(m *machine) error { m.Fetched = true; return nil })
	case "install":
		done, err := c.lockPackages(ctx, c.id, waits)
		if err != nil {
			return err
		}
		defer done()
		if err := c.interrupt(true); err != nil {
			return err
		}
		if err := c.w.take(ctx); err != nil {
			return err
		}
		if err := c.install(args[1:]); err != nil {
			return errors.Join(err, c.interrupt(false))
		}
		return c.interrupt(false)
	default:
		return fmt.Errorf("E: Invalid operation %s", args[0])
	}
}

// interrupt notes that an installation has begun, or has ended: one that was cut short must be repaired first.
func (c *call) interrupt(begins bool) error {
	return c.on(func(m *machine) error {
		if begins && m.Interrupted {
			return errors.New("E: dpkg was interrupted, you must manually run 'sudo dpkg --configure -a' to correct the problem. ")
		}
		m.Interrupted = begins
		return nil
	})
}

// lockPackages takes a lock of the package system, which one program at a time can have.
func (c *call) lockPackages(ctx context.Context, name string, waits bool) (done func(), err error) {
	c.w.mu.Lock()
	lock := c.w.packageLocks[name]
	if lock == nil {
		lock = make(chan struct{}, 1)
		c.w.packageLocks[name] = lock
	}
	c.w.mu.Unlock()
	if !waits {
		select {
		case lock <- struct{}{}:
			return func() { <-lock }, nil
		default:
			return nil, errors.New("could not get lock /var/lib/dpkg/lock-frontend: it is held by another process")
		}
	}
	select {
	case lock <- struct{}{}:
		return func() { <-lock }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// dpkg finishes what an interrupted installation has left. It does not wait for the lock.
func dpkg(ctx context.Context, c *call) error {
	args, err := c.flags(c.args, func(f *pflag.FlagSet) {
		f.Bool("configure", false, "")
		f.BoolP("pending", "a", false, "")
		f.Bool("force-confdef", false, "")
		f.Bool("force-confold", false, "")
	})
	if err != nil || len(args) > 0 {
		return errors.Join(err, unexpected(args))
	}
	if err := c.root(); err != nil {
		return err
	}
	done, err := c.lockPackages(ctx, c.id, false)
	if err != nil {
		return exitError{2, "dpkg: error: dpkg frontend lock was locked by another process"}
	}
	defer done()
	return c.interrupt(false)
}

// sources counts the sources of packages that answer. Of those that do not, apt-get update only warns, and ends well.
func (c *call) sources(warn bool) (answer int, err error) {
	names, err := afero.Glob(c.process.FS, "/etc/apt/sources.list.d/*")
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		text, err := afero.ReadFile(c.process.FS, name)
		if err != nil {
			return 0, err
		}
		if _, silent, _ := strings.Cut(string(text), ".invalid/"); silent == "" {
			answer++
		} else if warn {
			_, _ = fmt.Fprintf(c.process.Stderr, "W: Failed to fetch the index of %s  Could not connect, proxy %s\nW: Some index files failed to download. They have been ignored, or old ones used instead.\n",
				path.Base(name), c.process.Env("http_proxy"))
		}
	}
	return answer, nil
}

func (c *call) install(packages []string) error {
	sources, err := c.sources(false)
	if err != nil {
		return err
	}
	var files []string
	err = c.on(func(m *machine) error {
		for _, arg := range packages {
			name, wanted, pinned := strings.Cut(arg, "=")
			offered, known := versions[name]
			switch {
			case !known, !m.Fetched:
				return fmt.Errorf("E: Unable to locate package %s", name)
			case strings.HasPrefix(name, "kube") && sources == 0 && m.Packages[name] == "":
				return fmt.Errorf("E: Unable to locate package %s", name)
			case pinned && !strings.HasPrefix(offered, strings.TrimRight(strings.TrimSuffix(wanted, "-*"), "*")):
				return fmt.Errorf("E: Version '%s' for '%s' was not found", wanted, name)
			}
			m.Packages[name] = offered
			switch name {
			case "containerd", "haproxy":
				m.Services[name] = true // Debian starts what it installs; keepalived has no configuration yet
			case "kubelet": // needs kubernetes-cni
				files = append(files, "/opt/cni/bin/loopback")
			case "containernetworking-plugins":
				files = append(files, "/usr/lib/cni/loopback")
			}
		}
		return nil
	})
	for _, name := range files {
		err = errors.Join(err, c.write(name, "", 0o755))
	}
	return err
}

func version(_ context.Context, c *call) error {
	c.printf("Kubernetes v%s\n", DefaultVersion)
	return nil
}
