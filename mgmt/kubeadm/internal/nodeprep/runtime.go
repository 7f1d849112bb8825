package nodeprep

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/jointoken"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/kubeversion"
	"github.com/vnfkit/vnfkit/mgmt/linux"
	"github.com/vnfkit/vnfkit/sshexec"
)

// cniDir is the directory in which network add-ons and the package kubernetes-cni install plugins.
const cniDir = "/opt/cni/bin"

// linkPlugins links the plugins of Debian's package containernetworking-plugins into cniDir. Debian's containerd looks for
// plugins only in /usr/lib/cni, other builds of containerd only in cniDir, and add-ons assume cniDir.
const linkPlugins sshexec.Shell = `mkdir -p ` + cniDir + ` && for f in /usr/lib/cni/*; do
	name=${f##*/}; [ ! -f "$f" ] || [ -e ` + cniDir + `/"$name" ] || ln -s "$f" ` + cniDir + `/"$name" || exit 1
done`

// SetUpRuntime configures containerd for the kubelet, and starts it.
func (s Settings) SetUpRuntime(ctx context.Context, n mgmt.Node) error {
	if err := s.findPlugins(ctx, n); err != nil {
		return err
	}
	config, err := s.runtimeConfig(ctx, n)
	if err != nil {
		return err
	}
	if err := n.Root().Write(ctx, runtimeFile, config, 0o644); err != nil {
		return err
	}
	if env := s.Env; env != nil {
		if err := n.Root().Write(ctx, "/etc/systemd/system/containerd.service.d/50-vnfkit-proxy.conf", linux.ProxyDropIn(env), 0o600); err != nil {
			return err
		}
	}
	for _, argv := range [][]string{{"systemctl", "daemon-reload"}, {"systemctl", "enable", "containerd", "kubelet"}} {
		if err := n.Root().Run(ctx, argv...); err != nil {
			return err
		}
	}
	return n.Root().Unit(ctx, "restart", "containerd")
}

// findPlugins makes sure that the basic CNI plugins exist, which every network add-on calls. The kubelet package of the
// Kubernetes project depends on them; otherwise Debian's package is installed.
func (s Settings) findPlugins(ctx context.Context, n mgmt.Node) error {
	for _, install := range []bool{false, true} {
		if install && s.Packages.From() != FromNowhere {
			if err := s.install(ctx, n, "containernetworking-plugins"); err != nil {
				return err
			}
		}
		if err := n.Root().Exec(ctx, sshexec.Command{Shell: linkPlugins}); err != nil {
			return err
		}
		if found, err := n.Root().Succeeds(ctx, "test", "-e", cniDir+"/loopback"); found || err != nil {
			return err
		}
	}
	return fmt.Errorf("kubeadm: %s has no CNI plugins in %s or /usr/lib/cni: its image needs kubernetes-cni or containernetworking-plugins", n.Label(), cniDir)
}

// runtimeSettings are the facts on which containerd's configuration depends.
type runtimeSettings struct {
	major, minor   int    // version of containerd
	pause          string // image of the sandbox container
	systemdCgroups bool
	limitedOOM     bool // no process on the machine may lower its oom_score_adj
}

// runtimeConfig reads the facts from a machine and returns containerd's configuration.
func (s Settings) runtimeConfig(ctx context.Context, n mgmt.Node) ([]byte, error) {
	printed, err := n.Root().Output(ctx, sshexec.Command{Argv: []string{"containerd", "--version"}})
	if err != nil {
		return nil, err
	}
	images, err := s.images(ctx, n)
	if err != nil {
		return nil, err
	}
	status, err := n.Root().ReadFile(ctx, "/proc/1/status")
	if err != nil {
		return nil, err
	}
	config, err := s.RuntimeConfig(string(printed), string(images), string(status))
	if err != nil {
		return nil, fmt.Errorf("kubeadm: containerd of %s: %w", n.Label(), err)
	}
	s.warnOfContainerd(ctx, n, string(printed))
	return config, nil
}

// images lists the images of the control plane.
func (s Settings) images(ctx context.Context, n mgmt.Node) ([]byte, error) {
	argv := []string{"kubeadm", "config", "images", "list", "--kubernetes-version", "v" + s.Version}
	if s.Repository != "" {
		argv = append(argv, "--image-repository", s.Repository)
	}
	out, err := n.Root().Output(ctx, sshexec.Command{Argv: argv})
	return out, jointoken.Masked(err)
}

// RuntimeConfig returns containerd's configuration for a machine, from what "containerd --version" and "kubeadm config
// images list" print there and from its /proc/1/status.
func (s Settings) RuntimeConfig(version, images, status string) ([]byte, error) {
	r := runtimeSettings{systemdCgroups: !s.CgroupFS, pause: pauseImage(images)}
	var err error
	if r.major, r.minor, err = containerdVersion(strings.TrimSpace(version)); err != nil {
		return nil, err
	}
	if err := CheckContainerd(r.major, s.Version); err != nil {
		return nil, err
	}
	if r.pause == "" {
		return nil, errors.New("kubeadm config images list names no pause image")
	}
	if r.limitedOOM, err = lacksSysResource(status); err != nil {
		return nil, err
	}
	return toml.Marshal(r.config())
}

// containerdForm matches the version in "containerd <origin> 1.7.24 <commit>", with or without a v.
var containerdForm = regexp.MustCompile(`^containerd \S+ v?([0-9]{1,4})\.([0-9]{1,4})\.`)

func containerdVersion(printed string) (major, minor int, err error) {
	match := containerdForm.FindStringSubmatch(printed)
	if match == nil {
		return 0, 0, fmt.Errorf("containerd says %q of its version", printed)
	}
	major, _ = strconv.Atoi(match[1]) // the expression matches digits only
	minor, _ = strconv.Atoi(match[2])
	if major < 1 || major > 2 {
		return 0, 0, fmt.Errorf("containerd %d is not known: 1 and 2 are", major)
	}
	return major, minor, nil
}

// The last version of Kubernetes whose kubelet works with containerd 1, and the last one that the Kubernetes project supports with it. The
// kubelets in between log a warning (github.com/kubernetes/enhancements, issues 4033 and 6087).
const (
	lastMinorOfContainerd1      = 37
	lastSupportedForContainerd1 = 35
)

func containerdReason(minor int) string {
	return fmt.Sprintf("is too old for Kubernetes 1.%d: kubelets work with containerd 1 up to Kubernetes 1.%d, later versions take containerd 2", minor, lastMinorOfContainerd1)
}

// CheckContainerd returns an error if containerd is too old for this version of Kubernetes.
func CheckContainerd(major int, kubernetes string) error {
	if minor := kubeversion.Minor(kubernetes); major < 2 && minor > lastMinorOfContainerd1 {
		return errors.New(containerdReason(minor))
	}
	return nil
}

// CheckRuntime returns an error if kubelets of this version do not work with the containerd of a machine, and warns if they work without support.
func (s Settings) CheckRuntime(ctx context.Context, n mgmt.Node) error {
	printed, err := n.Root().Output(ctx, sshexec.Command{Argv: []string{"containerd", "--version"}})
	if err != nil {
		return err
	}
	major, _, err := containerdVersion(strings.TrimSpace(string(printed)))
	if err == nil {
		err = CheckContainerd(major, s.Version)
	}
	if err != nil {
		return fmt.Errorf("containerd of %s: %w", n.Label(), err)
	}
	s.warnOfContainerd(ctx, n, string(printed))
	return nil
}

// warnOfContainerd logs a warning for a version of containerd, as it prints it, with which this kubelet works without support.
func (s Settings) warnOfContainerd(ctx context.Context, n mgmt.Node, printed string) {
	major, _, err := containerdVersion(strings.TrimSpace(printed))
	if err == nil && major < 2 && kubeversion.Minor(s.Version) > lastSupportedForContainerd1 {
		s.Warn(ctx, fmt.Sprintf("%s has containerd 1, which is supported up to Kubernetes 1.%d: plan for containerd 2", n.Label(), lastSupportedForContainerd1))
	}
}

// pauseImage returns the pause image of kubeadm's list. With another one, every node would store two pause images.
func pauseImage(images string) string {
	for image := range strings.Lines(images) {
		if name := strings.TrimSpace(image); strings.HasPrefix(path.Base(name), "pause:") {
			return name
		}
	}
	return ""
}

// lacksSysResource reports whether services on the machine lack CAP_SYS_RESOURCE (capabilities(7), number 24), from the
// bounding set of PID 1 (proc_pid_status(5), CapBnd). Machines that are containers often lack it. Then a process cannot
// lower its oom_score_adj, and containers for which Kubernetes requests that would fail to start.
func lacksSysResource(status string) (bool, error) {
	const sysResource = 24
	for line := range strings.Lines(status) {
		if value, found := strings.CutPrefix(line, "CapBnd:"); found {
			mask, err := strconv.ParseUint(strings.TrimSpace(value), 16, 64)
			return mask>>sysResource&1 == 0, err
		}
	}
	return false, errors.New("/proc/1/status has no CapBnd")
}

type table = map[string]any

// config returns containerd's configuration: registries are configured in certs.d, cgroups are managed as in the kubelet,
// and plugins are in cniDir (github.com/containerd/containerd, docs/cri/config.md: version 2 until containerd 1.7, version
// 3 since 2.0).
func (s runtimeSettings) config() any {
	registry := table{"config_path": "/etc/containerd/certs.d"}
	runc := table{"runtimes": table{"runc": table{"runtime_type": "io.containerd.runc.v2", "options": table{"SystemdCgroup": s.systemdCgroups}}}}
	cni := table{"conf_dir": "/etc/cni/net.d"}
	if s.major > 1 && s.minor > 0 { // bin_dir is deprecated since containerd 2.1
		cni["bin_dirs"] = []string{cniDir}
	} else {
		cni["bin_dir"] = cniDir
	}
	runtime := table{"containerd": runc, "cni": cni}
	if s.limitedOOM {
		runtime["restrict_oom_score_adj"] = true
	}
	if s.major > 1 {
		return table{"version": 3, "plugins": table{
			"io.containerd.cri.v1.runtime": runtime,
			"io.containerd.cri.v1.images":  table{"registry": registry, "pinned_images": table{"sandbox": s.pause}},
		}}
	}
	runtime["registry"], runtime["sandbox_image"] = registry, s.pause
	return table{"version": 2, "plugins": table{"io.containerd.grpc.v1.cri": runtime}}
}
