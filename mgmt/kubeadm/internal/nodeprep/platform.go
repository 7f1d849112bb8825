package nodeprep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/kubeversion"
	"github.com/vnfkit/vnfkit/sshexec"
)

// platforms are the systems that this package supports: ID and VERSION_ID of os-release(5).
var platforms = []string{"debian 12", "debian 13", "ubuntu 22.04", "ubuntu 24.04"}

// CheckPlatform returns an error if the system of the machine is not supported. It changes nothing.
func CheckPlatform(ctx context.Context, n mgmt.Node) error {
	if err := n.Root().CheckRelease(ctx, platforms...); err != nil {
		return fmt.Errorf("kubeadm: %w, or script_path", err)
	}
	return nil
}

// CheckCgroups returns an error if the machine has cgroup v1 and the kubelet does not start with it by default. It changes nothing.
func (s Settings) CheckCgroups(ctx context.Context, n mgmt.Node) error {
	if kubeversion.Minor(s.Version) < refusesCgroupV1 {
		return nil
	}
	v1, err := n.Root().Succeeds(ctx, "test", "-d", "/sys/fs/cgroup/memory") // the controllers of version 2 are in one directory
	if err != nil || !v1 {
		return err
	}
	return fmt.Errorf("kubeadm: %s has cgroup v1, which kubelets refuse from Kubernetes 1.%d on: use an image with cgroup v2, or set "+
		"kubelet_configuration.failCgroupV1 to false and add SystemVerification to ignore_preflight_errors", n.Label(), refusesCgroupV1)
}

// refusesCgroupV1 is the first version of Kubernetes whose kubelet refuses cgroup v1 by default (kubernetes.io, "About cgroup v2").
const refusesCgroupV1 = 35

// The files that load modules and settings when the machine starts.
const (
	modulesFile = "/etc/modules-load.d/kubernetes.conf"
	sysctlFile  = "/etc/sysctl.d/90-kubernetes.conf"
)

// SetUpSystem sets up the kernel. It turns swap off, because the kubelet refuses to run with swap by default, and sets what
// Kubernetes and its network add-ons require (kubernetes.io, "Container Runtimes", prerequisites).
func (s Settings) SetUpSystem(ctx context.Context, n mgmt.Node) error {
	if !s.Swap {
		if err := disableSwap(ctx, n); err != nil {
			return err
		}
	}
	if err := loadModules(ctx, n); err != nil {
		return err
	}
	settings := "net.bridge.bridge-nf-call-iptables = 1\nnet.ipv4.ip_forward = 1\n"
	ipv6, err := n.Root().Succeeds(ctx, "test", "-e", "/proc/sys/net/ipv6")
	if err != nil {
		return err
	}
	if ipv6 { // a kernel without IPv6 lacks these settings
		settings += "net.bridge.bridge-nf-call-ip6tables = 1\nnet.ipv6.conf.all.forwarding = 1\n"
	}
	if err := n.Root().Write(ctx, sysctlFile, []byte(settings), 0o644); err != nil {
		return err
	}
	return n.Root().Run(ctx, "sysctl", "-p", sysctlFile)
}

// loadModules loads the kernel modules. It ignores the exit code of modprobe, which also fails if a module is built into
// the kernel, and checks the features of the kernel instead.
func loadModules(ctx context.Context, n mgmt.Node) error {
	if err := n.Root().Write(ctx, modulesFile, []byte("overlay\nbr_netfilter\n"), 0o644); err != nil {
		return err
	}
	for _, module := range []string{"overlay", "br_netfilter"} {
		err := n.Root().Run(ctx, "modprobe", module)
		if _, failed := errors.AsType[*sshexec.ExitError](err); err != nil && !failed {
			return err
		}
	}
	filesystems, err := n.Root().ReadFile(ctx, "/proc/filesystems")
	if err != nil {
		return err
	}
	bridge, err := n.Root().Succeeds(ctx, "test", "-e", "/proc/sys/net/bridge/bridge-nf-call-iptables")
	if err != nil {
		return err
	}
	var missing []string
	if !slices.Contains(strings.Fields(string(filesystems)), "overlay") {
		missing = append(missing, "overlay (the file system of containers)")
	}
	if !bridge {
		missing = append(missing, "br_netfilter (the firewall for traffic between pods)")
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("kubeadm: the kernel of %s lacks %s: install the package with its modules, or another kernel", n.Label(), strings.Join(missing, " and "))
}

// disableSwap turns swap off, and keeps it off after a reboot.
func disableSwap(ctx context.Context, n mgmt.Node) error {
	if err := n.Root().Run(ctx, "swapoff", "-a"); err != nil {
		return err
	}
	table, exists, err := n.Root().Read(ctx, "/etc/fstab")
	if !exists || err != nil {
		return err
	}
	return n.Root().Write(ctx, "/etc/fstab", WithoutSwap(table), 0o644)
}

// WithoutSwap comments out the lines of an fstab that mount swap (fstab(5): fields are separated by tabs or spaces; the
// third is the type).
func WithoutSwap(table []byte) []byte {
	var out bytes.Buffer
	for line := range bytes.Lines(table) {
		f := bytes.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' || r == '\n' })
		if len(f) > 2 && string(bytes.TrimSpace(f[2])) == "swap" && !bytes.HasPrefix(bytes.TrimSpace(f[0]), []byte("#")) {
			out.WriteString("# vnfkit: ")
		}
		out.Write(line)
	}
	return out.Bytes()
}
