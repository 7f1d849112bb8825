// Package preflight finds on a machine what would keep it from being a node of a cluster. It changes nothing, and does not depend on
// operations of a cluster.
package preflight

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/sshexec"
)

// Names of checks.
const (
	Clocks     = "clocks"
	Disk       = "disk"
	Memory     = "memory"
	Cores      = "cores"
	MTU        = "mtu"
	Ports      = "ports"
	Names      = "names"
	Packages   = "packages"
	Registries = "registries"
	Images     = "images"
	Cgroups    = "cgroups"
	Swap       = "swap"
	Leftovers  = "leftovers"
)

// Checks are the names of all checks.
var Checks = []string{Clocks, Disk, Memory, Cores, MTU, Ports, Names, Packages, Registries, Images, Cgroups, Swap, Leftovers}

// Finding is something wrong with a machine.
type Finding struct {
	Check   string // one of Checks
	Machine string
	Problem string
	Remedy  string
}

// Error returns the finding without the machine, which the error of a step names.
func (f Finding) Error() string {
	text := f.Check + ": " + f.Problem
	if f.Remedy != "" {
		text += ": " + f.Remedy
	}
	return text
}

// The least that a node needs. kubeadm refuses a control-plane node with less memory or fewer cores (kubeadm, app/constants).
const (
	leastCores   = 2
	controlPlane = 1700 << 20 // bytes of memory
	worker       = 512 << 20
	controlDisk  = 3 << 30 // bytes, for images, etcd and logs
	workerDisk   = 2 << 30
)

// data are the directories of a node that grow. They may be mounts.
var data = []string{"/var/lib", "/var/lib/containerd", "/var/lib/kubelet", "/var/lib/etcd"}

// Size finds what is too small on a machine.
func Size(ctx context.Context, n mgmt.Node, isControlPlane bool) ([]Finding, error) {
	disk, memory := int64(workerDisk), int64(worker)
	if isControlPlane {
		disk, memory = controlDisk, controlPlane
	}
	cores, err1 := n.Root().Number(ctx, "nproc")
	total, err2 := memoryOf(ctx, n)
	var out []Finding
	if isControlPlane && err1 == nil && cores < leastCores {
		out = append(out, Finding{Cores, n.Label(), fmt.Sprintf("it has %d core, and a control-plane node needs %d", cores, leastCores), "give its VDU a larger flavor"})
	}
	if err2 == nil && total < memory {
		out = append(out, Finding{Memory, n.Label(), fmt.Sprintf("it has %d MiB, and needs %d MiB", total>>20, memory>>20), "give its VDU a larger flavor"})
	}
	var err3 error
	for _, dir := range data {
		free, err := Free(ctx, n, dir)
		err3 = errors.Join(err3, err)
		if err == nil && free >= 0 && free < disk {
			out = append(out, Finding{Disk, n.Label(), fmt.Sprintf("%s has %d MiB free, and needs %d MiB", dir, free>>20, disk>>20), "free space, or give its VDU a larger disk"})
			break
		}
	}
	return out, errors.Join(err1, err2, err3)
}

// Free returns how many bytes are free in a directory, -1 if it does not exist.
func Free(ctx context.Context, n mgmt.Node, dir string) (int64, error) {
	exists, err := n.Root().Succeeds(ctx, "test", "-d", dir)
	if err != nil || !exists {
		return -1, err
	}
	return n.Root().Number(ctx, "df", "-B1", "--output=avail", dir)
}

// memoryOf returns the memory of a machine in bytes (proc_meminfo(5)).
func memoryOf(ctx context.Context, n mgmt.Node) (int64, error) {
	text, err := n.Root().ReadFile(ctx, "/proc/meminfo")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "MemTotal:" {
			kib, err := strconv.ParseInt(fields[1], 10, 64)
			return kib << 10, err
		}
	}
	return 0, errors.New(n.Label() + ": /proc/meminfo has no MemTotal")
}

// ForeignSwap finds swap that no line of /etc/fstab turns on: the driver cannot keep it off after a reboot.
func ForeignSwap(ctx context.Context, n mgmt.Node) ([]Finding, error) {
	swaps, exists, err := n.Root().Read(ctx, "/proc/swaps")
	if err != nil || !exists {
		return nil, err
	}
	table, _, err := n.Root().Read(ctx, "/etc/fstab")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(table)) {
		if f := strings.Fields(line); len(f) > 2 && f[2] == "swap" && !strings.HasPrefix(f[0], "#") {
			return nil, nil
		}
	}
	var active []string
	for line := range strings.Lines(string(swaps)) {
		if f := strings.Fields(line); len(f) > 1 && strings.HasPrefix(f[0], "/") {
			active = append(active, f[0])
		}
	}
	if len(active) == 0 {
		return nil, nil
	}
	return []Finding{{Swap, n.Label(), "swap is on that /etc/fstab does not turn on: " + strings.Join(active, ", "),
		"remove the unit or the generator (zram) from the image, or set kubelet_configuration.failSwapOn to false"}}, nil
}

// mtuOf returns the MTU of the interface with the address of a node, 0 if it is not found.
func mtuOf(ctx context.Context, n mgmt.Node) (int64, error) {
	family := "-4"
	if n.IP.Is6() {
		family = "-6"
	}
	out, err := n.Root().Output(ctx, sshexec.Command{Argv: []string{"ip", "-o", family, "addr", "show", "to", n.IP.String()}})
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(out)) // 2: eth0 inet 10.0.0.5/24 ...
	if len(fields) < 2 {
		return 0, nil
	}
	name, _, _ := strings.Cut(strings.TrimSuffix(fields[1], ":"), "@")
	text, exists, err := n.Root().Read(ctx, "/sys/class/net/"+name+"/mtu")
	if err != nil || !exists {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
}

// leastMTU is the least MTU of IPv6, below which flannel's vxlan does not work either.
const leastMTU = 1280

// CheckMTU compares the MTU of a machine with the one of another machine, if that is not the machine itself.
func CheckMTU(ctx context.Context, n, other mgmt.Node) ([]Finding, error) {
	mine, err := mtuOf(ctx, n)
	if err != nil || mine == 0 {
		return nil, err
	}
	if mine < leastMTU {
		return []Finding{{MTU, n.Label(), fmt.Sprintf("the interface with %s has the MTU %d, less than %d", n.IP, mine, leastMTU), "set the MTU of the network"}}, nil
	}
	if other.ID == n.ID {
		return nil, nil
	}
	theirs, err := mtuOf(ctx, other)
	if err != nil || theirs == 0 || theirs == mine {
		return nil, err
	}
	return []Finding{{MTU, n.Label(), fmt.Sprintf("its interface with %s has the MTU %d, and that of %s has %d", n.IP, mine, other.Label(), theirs),
		"give both the same MTU: larger packets between pods would be lost"}}, nil
}

// Resolve finds names that a machine cannot resolve.
func Resolve(ctx context.Context, n mgmt.Node, names []string) (out []Finding, err error) {
	var unknown []string
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		err := n.Root().Run(ctx, "getent", "ahosts", name)
		if exit, failed := errors.AsType[*sshexec.ExitError](err); failed && exit.Code == 2 { // getent(1): a key was not found
			unknown = append(unknown, name)
		} else if err != nil && !failed {
			return nil, err
		}
	}
	if len(unknown) == 0 {
		return nil, nil
	}
	return []Finding{{Names, n.Label(), "its name servers do not know " + strings.Join(unknown, ", "), "correct the name servers of its subnet, or the name in the request"}}, nil
}
