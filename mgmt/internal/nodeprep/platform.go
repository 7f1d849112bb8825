package nodeprep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/linux"
	"github.com/vnfkit/vnfkit/sshexec"
)

// platforms are the systems that the built-in preparation is made for: ID and VERSION_ID of os-release(5).
var platforms = []string{"debian 12", "ubuntu 22.04", "ubuntu 24.04"}

// CheckPlatform refuses other systems before anything is changed.
func CheckPlatform(ctx context.Context, n mgmt.Node) error {
	if err := linux.On(n.SSH).CheckRelease(ctx, platforms...); err != nil {
		return fmt.Errorf("kubeadm: %w, or script_path", err)
	}
	return nil
}

// The files by which modules and settings are there after a reboot.
const (
	modulesFile = "/etc/modules-load.d/kubernetes.conf"
	sysctlFile  = "/etc/sysctl.d/90-kubernetes.conf"
)

// SetUpSystem makes the kernel ready: swap off, since the kubelet refuses to run beside it unless it is told
// otherwise, and what Kubernetes and its network add-ons need (kubernetes.io, "Container Runtimes",
// prerequisites).
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
	ipv6, err := linux.On(n.SSH).Succeeds(ctx, "test", "-e", "/proc/sys/net/ipv6")
	if err != nil {
		return err
	}
	if ipv6 { // a kernel without has no such settings
		settings += "net.bridge.bridge-nf-call-ip6tables = 1\nnet.ipv6.conf.all.forwarding = 1\n"
	}
	if err := linux.On(n.SSH).Write(ctx, sysctlFile, []byte(settings), 0o644); err != nil {
		return err
	}
	return n.RunRoot(ctx, []string{"sysctl", "-p", sysctlFile}, nil, nil, nil)
}

// loadModules loads the kernel modules. modprobe fails also where they are part of the kernel: what counts is
// what the kernel can do then.
func loadModules(ctx context.Context, n mgmt.Node) error {
	if err := linux.On(n.SSH).Write(ctx, modulesFile, []byte("overlay\nbr_netfilter\n"), 0o644); err != nil {
		return err
	}
	for _, module := range []string{"overlay", "br_netfilter"} {
		err := n.RunRoot(ctx, []string{"modprobe", module}, nil, nil, nil)
		if _, failed := errors.AsType[*sshexec.ExitError](err); err != nil && !failed {
			return err
		}
	}
	filesystems, err := n.SSH.ReadFile(ctx, sshexec.File{Path: "/proc/filesystems", Root: true})
	if err != nil {
		return err
	}
	bridge, err := linux.On(n.SSH).Succeeds(ctx, "test", "-e", "/proc/sys/net/bridge/bridge-nf-call-iptables")
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
	return fmt.Errorf("kubeadm: the kernel of %s lacks %s: install the package with its modules, or another kernel", n.HostName, strings.Join(missing, " and "))
}

// disableSwap turns swap off, now and after a reboot.
func disableSwap(ctx context.Context, n mgmt.Node) error {
	if err := n.RunRoot(ctx, []string{"swapoff", "-a"}, nil, nil, nil); err != nil {
		return err
	}
	exists, err := linux.On(n.SSH).Succeeds(ctx, "test", "-e", "/etc/fstab")
	if !exists || err != nil {
		return err
	}
	file := sshexec.File{Path: "/etc/fstab", Mode: 0o644, Root: true}
	table, err := n.SSH.ReadFile(ctx, file)
	if err != nil {
		return err
	}
	return n.SSH.Upload(ctx, bytes.NewReader(WithoutSwap(table)), file)
}

// WithoutSwap comments out the swap lines of an fstab (fstab(5): fields are separated by tabs or spaces, the third is
// the type).
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
