package kubesim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/afero"
	"github.com/spf13/pflag"

	"github.com/vnfkit/vnfkit/internal/kubesim/kubeadm"
	"github.com/vnfkit/vnfkit/internal/kubesim/kubeapi"
	"github.com/vnfkit/vnfkit/internal/kubesim/program"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// versions is what the package sources offer.
var versions = map[string]string{"kubeadm": DefaultVersion, "kubelet": DefaultVersion, "kubectl": DefaultVersion,
	"containerd": "1.6.20", "haproxy": "2.6.12", "keepalived": "2.2.7", "conntrack": "1.4.7", "socat": "1.7.4", "ebtables": "2.0.11",
	"ethtool": "6.1", "iproute2": "6.1.0", "iptables": "1.8.9", "ca-certificates": "20230311", "apt-transport-https": "2.6.1", "gpg": "2.2.40",
	"cri-tools": DefaultVersion, "kubernetes-cni": "1.6.0",
	"containernetworking-plugins": "1.1.1", "nfs-kernel-server": "2.6.2", "nfs-common": "2.6.2", "docker.io": "20.10.24+dfsg1-1+deb12u1",
	"docker-ce": "5:28.5.1-1~debian.12~bookworm", "docker-ce-cli": "5:28.5.1-1~debian.12~bookworm", "containerd.io": "1.7.28", "cri-dockerd": "0.3.4"}

// DefaultVersion is the Kubernetes version that the package sources offer.
const DefaultVersion = kubeapi.Version

// Package is a package beside those of versions. Nothing else is simulated of it than what the fields say.
type Package struct {
	Version  string
	Services []string // units that it brings, and starts when it is installed
	Files    map[string]string
	Commands map[string]sshtest.Command // programs that a machine has while the package is installed
}

// offered returns the version of a package that the sources offer, "" if they do not have it.
func (w *World) offered(name string) string {
	if slices.Contains(w.missing, name) {
		return ""
	}
	return cmp.Or(w.packages[name].Version, versions[name])
}

// chosen returns the version of a package that the sources offer and that apt-get chooses for a wanted version such as 1.36.3-*, "" if no
// version fits. Of Kubernetes they offer several: those of minors, all if that is empty.
func (w *World) chosen(name, wanted string, minors []string) string {
	offers := []string{w.offered(name)}
	if slices.Contains(kubernetesPackages, name) && offers[0] != "" {
		offers = slices.DeleteFunc(slices.Clone(kubeadm.Versions), func(version string) bool {
			return len(minors) > 0 && !slices.Contains(minors, version[:strings.LastIndex(version, ".")])
		})
	}
	for _, version := range offers {
		if strings.HasPrefix(version, strings.TrimRight(strings.TrimSuffix(wanted, "-*"), "*")) {
			return version
		}
	}
	return ""
}

var kubernetesPackages = []string{"kubeadm", "kubelet", "kubectl"}

// hasUnit reports whether a machine has a unit, by a package or from the beginning.
func (w *World) hasUnit(m *machine, unit string) bool {
	if slices.Contains(w.services, unit) || m.has(servicesOf[unit]) {
		return true
	}
	for name := range m.Packages {
		if slices.Contains(w.packages[name].Services, unit) {
			return true
		}
	}
	return false
}

// aptGet installs what the sources offer; Kubernetes comes from a source that must have been configured.
func aptGet(ctx context.Context, c *call) error {
	waits := slices.ContainsFunc(c.Args, func(arg string) bool { return strings.HasPrefix(arg, "DPkg::Lock::Timeout=") })
	var simulate bool
	var settings []string
	args, err := c.Flags(c.Args, func(f *pflag.FlagSet) {
		f.BoolP("yes", "y", false, "")
		f.BoolP("quiet", "q", false, "")
		f.BoolVarP(&simulate, "simulate", "s", false, "")
		f.Bool("no-install-recommends", false, "")
		f.Bool("allow-change-held-packages", false, "")
		f.Bool("allow-downgrades", false, "")
		f.StringArrayVarP(&settings, "option", "o", nil, "")
	})
	if err != nil {
		return err
	}
	if err := c.Root(); err != nil {
		return err
	}
	if len(args) == 0 {
		return errors.New("E: no operation")
	}
	from, err := partsOf(settings)
	if err != nil {
		return err
	}
	switch args[0] {
	case "update":
		done, err := c.lockPackages(ctx, c.id+" lists", false)
		if err != nil {
			return program.ExitError{Code: 100, Message: "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 1 (apt-get)"}
		}
		defer done()
		if err := c.w.take(ctx); err != nil {
			return err
		}
		if _, err := c.sources(from, true); err != nil {
			return err
		}
		return c.on(func(m *machine) error { m.Fetched = true; return nil })
	case "install":
		if simulate {
			return c.install(from, args[1:], true)
		}
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
		if err := c.install(from, args[1:], false); err != nil {
			return errors.Join(err, c.interrupt(false))
		}
		return c.interrupt(false)
	default:
		return fmt.Errorf("E: Invalid operation %s", args[0])
	}
}

// sourceParts is where apt finds its sources unless options say otherwise.
const sourceParts = "/etc/apt/sources.list.d"

// partsOf returns the folder with the sources of apt. An option that leaves the sources of the image out has to come with one for the folder.
func partsOf(settings []string) (string, error) {
	parts, list := sourceParts, false
	for _, setting := range settings {
		if folder, found := strings.CutPrefix(setting, "Dir::Etc::SourceParts="); found {
			parts = folder
		}
		list = list || setting == "Dir::Etc::SourceList=/dev/null"
	}
	if list != (parts != sourceParts) {
		return "", errors.New("kubesim: one of the options SourceList and SourceParts alone is not simulated")
	}
	return parts, nil
}

// aptCache lists the versions that the sources offer.
func aptCache(_ context.Context, c *call) error {
	args, err := c.Flags(c.Args, func(f *pflag.FlagSet) { f.StringArrayP("option", "o", nil, "") })
	if err != nil {
		return err
	}
	if len(args) < 2 || args[0] != "madison" {
		return fmt.Errorf("E: Invalid operation %s", strings.Join(c.Args, " "))
	}
	for _, name := range args[1:] {
		offers := []string{c.w.offered(name)}
		if slices.Contains(kubernetesPackages, name) {
			offers = kubeadm.NewestFirst()
		}
		for _, version := range offers {
			if version != "" {
				_, _ = fmt.Fprintf(c.Stdout, "%10s | %s-1.1 | https://packages.example/deb  Packages\n", name, version)
			}
		}
	}
	return nil
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
	args, err := c.Flags(c.Args, func(f *pflag.FlagSet) {
		f.Bool("configure", false, "")
		f.BoolP("pending", "a", false, "")
		f.Bool("force-confdef", false, "")
		f.Bool("force-confold", false, "")
	})
	if err != nil || len(args) > 0 {
		return errors.Join(err, program.Unexpected(args))
	}
	if err := c.Root(); err != nil {
		return err
	}
	done, err := c.lockPackages(ctx, c.id, false)
	if err != nil {
		return program.ExitError{Code: 2, Message: "dpkg: error: dpkg frontend lock was locked by another process"}
	}
	defer done()
	return c.interrupt(false)
}

// sources counts the sources of packages in a folder that answer. Of those that do not, apt-get update only warns, and ends well.
func (c *call) sources(from string, warn bool) (answer int, err error) {
	names, err := afero.Glob(c.FS, from+"/*")
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		text, err := afero.ReadFile(c.FS, name)
		if err != nil {
			return 0, err
		}
		if _, silent, _ := strings.Cut(string(text), ".invalid/"); silent == "" && (!c.w.offline || !strings.Contains(string(text), imageSource)) {
			answer++
		} else if warn {
			_, _ = fmt.Fprintf(c.Stderr, "W: Failed to fetch the index of %s  Could not connect, proxy %s\nW: Some index files failed to download. They have been ignored, or old ones used instead.\n",
				path.Base(name), c.Env("http_proxy"))
		}
	}
	return answer, nil
}

// imageSource is in the file of the source that images have beside those of the distribution.
const imageSource = "packages.example.org"

// reaches reports whether a source has a package. Sources of the distribution have no file here: they are those of the image.
func (c *call) reaches(name, from string, sources int) bool {
	if from == sourceParts && !strings.HasPrefix(name, "kube") {
		return !c.w.offline
	}
	return sources > 0 || from == sourceParts && !c.w.offline
}

// minorOf finds the minor version in the URL of a repository such as that of the project, which has packages of one minor version only.
var minorOf = regexp.MustCompile(`/core:/stable:/v(1\.[0-9]+)/`)

// minors are the minor versions of the repositories of one minor version.
func (c *call) minors(from string) (out []string, err error) {
	names, err := afero.Glob(c.FS, from+"/*")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		text, err := afero.ReadFile(c.FS, name)
		if err != nil {
			return nil, err
		}
		for _, match := range minorOf.FindAllStringSubmatch(string(text), -1) {
			out = append(out, match[1])
		}
	}
	return out, nil
}

// install installs packages, or, if simulate is set, only says whether it could.
func (c *call) install(from string, packages []string, simulate bool) error {
	sources, err1 := c.sources(from, false)
	minors, err := c.minors(from)
	if err := errors.Join(err1, err); err != nil {
		return err
	}
	var files []string
	err = c.on(func(m *machine) error {
		for _, arg := range packages {
			name, wanted, pinned := strings.Cut(arg, "=")
			offered := c.w.chosen(name, wanted, minors)
			switch {
			case c.w.offered(name) == "", !m.Fetched, m.Packages[name] == "" && !c.reaches(name, from, sources):
				return fmt.Errorf("E: Unable to locate package %s", name)
			case name == "docker-ce" && !c.offersDocker():
				return fmt.Errorf("E: Unable to locate package %s", name)
			case strings.HasPrefix(name, "kube") && sources == 0 && m.Packages[name] == "":
				return fmt.Errorf("E: Unable to locate package %s", name)
			case pinned && offered == "":
				return fmt.Errorf("E: Version '%s' for '%s' was not found", wanted, name)
			}
			if simulate {
				continue
			}
			m.Packages[name] = offered
			for _, unit := range c.w.packages[name].Services {
				m.Services[unit] = true
			}
			switch name {
			case "haproxy":
				if !m.Services[name] {
					m.Services[name] = true
					m.Haproxy.start("") // serves nothing
				}
			case "containerd":
				m.Services[name] = true // Debian starts what it installs; keepalived has no configuration yet
			case "docker.io", "docker-ce":
				if err := c.startDaemon(m, false); err != nil {
					return err
				}
			case "kubelet": // needs kubernetes-cni
				files = append(files, "/opt/cni/bin/loopback")
			case "nfs-kernel-server":
				m.Services["nfs-server"], m.Packages["nfs-common"] = true, versions["nfs-common"]
			case "containernetworking-plugins":
				files = append(files, "/usr/lib/cni/loopback")
			}
		}
		return nil
	})
	for _, name := range files {
		err = errors.Join(err, c.Write(name, "", 0o755))
	}
	if err != nil || simulate {
		return err
	}
	for _, arg := range packages {
		name, _, _ := strings.Cut(arg, "=")
		err = errors.Join(err, c.unpack(c.w.packages[name].Files))
	}
	return err
}

// unpack writes the files of a package that the machine does not have. Like dpkg it leaves those that were changed.
func (c *call) unpack(files map[string]string) (err error) {
	for name, content := range files {
		if exists, _ := afero.Exists(c.FS, name); !exists {
			err = errors.Join(err, c.Write(name, content, 0o644))
		}
	}
	return err
}
