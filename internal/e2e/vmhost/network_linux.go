package vmhost

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

// networks is how many networks a machine can have at the same time.
const networks = 4

// Network is a bridge with hosts. Its number is part of the names of the bridge, the directories and the locks, and of the
// addresses, so that networks of several processes do not conflict.
type Network struct {
	number   int
	bridge   string
	subnet   netip.Prefix
	stateDir string
	groups   string // control group, below the machine's, of all hosts that run systemd
	lock     *flock.Flock

	mu     sync.Mutex
	taken  map[netip.Addr]bool
	serial int
}

func newNetwork(number int) *Network {
	return &Network{
		number:   number,
		bridge:   fmt.Sprintf("vnfkit%d", number),
		subnet:   netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(213 + number), 0, 0}), 16),
		stateDir: fmt.Sprintf("/var/lib/vnfkit-e2e/%d", number),
		groups:   fmt.Sprintf("vnfkit-e2e-%d", number),
		lock:     flock.New(fmt.Sprintf("/run/lock/vnfkit-e2e-%d", number)),
		taken:    map[netip.Addr]bool{},
	}
}

// Up creates a network. It first removes the remains of a killed run. Other processes can have networks at the same time;
// if all networks are in use, Up waits until one is free or ctx ends. The caller closes the network.
func Up(ctx context.Context) (*Network, error) {
	n, err := lockNetwork(ctx)
	if err != nil {
		return nil, err
	}
	err = n.up(ctx)
	if err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

// lockNetwork locks and returns the first network that no other process uses.
func lockNetwork(ctx context.Context) (*Network, error) {
	for {
		for number := range networks {
			n := newNetwork(number)
			if locked, err := n.lock.TryLock(); locked || err != nil {
				return n, err
			}
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("vmhost: other processes have all %d networks: %w", networks, context.Cause(ctx))
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (n *Network) up(ctx context.Context) error {
	if err := n.clean(ctx); err != nil {
		return err
	}
	if err := errors.Join(os.MkdirAll(n.stateDir, 0o700), raiseInotify()); err != nil {
		return err
	}
	others, err := net.InterfaceAddrs()
	if err != nil {
		return err
	}
	for _, other := range others {
		if p, err := netip.ParsePrefix(other.String()); err == nil && p.Overlaps(n.subnet) {
			return fmt.Errorf("vmhost: the machine has %s, which overlaps %s", p, n.subnet)
		}
	}
	return errors.Join(
		// Without a fixed hardware address the bridge uses the address of one of its devices. That address changes when
		// hosts are created and closed, and other hosts would send to the former address for a while.
		ip(ctx, "link", "add", n.bridge, "address", fmt.Sprintf("02:76:6e:66:6b:3%d", n.number), "type", "bridge"),
		ip(ctx, "addr", "add", netip.PrefixFrom(n.Gateway(), n.subnet.Bits()).String(), "dev", n.bridge),
		ip(ctx, "link", "set", n.bridge, "up"))
}

// clean removes the bridge, control groups, disks and files of this run or of an earlier one.
func (n *Network) clean(ctx context.Context) error {
	return errors.Join(n.removeBridge(ctx), removeGroups(n.groups), n.detachDisks(ctx), os.RemoveAll(n.stateDir))
}

// removeBridge removes the bridge and the devices of hosts that are still connected to it.
func (n *Network) removeBridge(ctx context.Context) error {
	if _, err := net.InterfaceByName(n.bridge); err != nil {
		return nil //nolint:nilerr // there is no bridge
	}
	out, err := exec.CommandContext(ctx, "ip", "-o", "link", "show", "master", n.bridge).Output()
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(out)) { // 7: vnfkit3@if2: <BROADCAST...
		_, rest, _ := strings.Cut(line, ": ")
		name, _, _ := strings.Cut(rest, "@")
		_ = ip(ctx, "link", "del", name) // fails if the kernel removes the device at the same time
	}
	return ip(ctx, "link", "del", n.bridge)
}

// Close removes the network. All hosts must be closed before.
func (n *Network) Close() error {
	return errors.Join(n.clean(context.Background()), n.lock.Unlock(), restoreInotify())
}

// Dir returns a directory for files that hosts are created from. Close deletes the directory.
func (n *Network) Dir() string { return n.stateDir }

// Gateway returns the address of the machine in the network.
func (n *Network) Gateway() netip.Addr { return n.subnet.Addr().Next() }

// Prefix returns the subnet of the hosts, a /16.
func (n *Network) Prefix() netip.Prefix { return n.subnet }

// Reserve returns an address that no host gets, for example for a virtual address. It stays reserved until Close.
func (n *Network) Reserve() netip.Addr { return n.address() }

// address reserves the lowest free address. Successive addresses are in different /24 networks, so that no code can rely
// on a common /24.
func (n *Network) address() netip.Addr {
	n.mu.Lock()
	defer n.mu.Unlock()
	base := n.subnet.Addr().As4()
	for i := 0; ; i++ {
		addr := netip.AddrFrom4([4]byte{10, base[1], byte(i/240*3 + i%3), byte(10 + i%240)})
		if !n.taken[addr] {
			n.taken[addr] = true
			return addr
		}
	}
}

func (n *Network) take(addr netip.Addr) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.taken[addr] {
		return fmt.Errorf("vmhost: another host has the address %s", addr)
	}
	n.taken[addr] = true
	return nil
}

func (n *Network) release(addr netip.Addr) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.taken, addr)
}

// device returns a new name for a network device. Names are not reused, because the kernel removes the device of a killed
// host some time later.
func (n *Network) device() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.serial++
	return fmt.Sprintf("%s.%d", n.bridge, n.serial)
}

func ip(ctx context.Context, args ...string) error {
	_, err := run(ctx, "ip", args...)
	return err
}

// run runs a program and returns its output, without white space around it.
func run(ctx context.Context, program string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, program, args...).CombinedOutput() //nolint:gosec // our own arguments
	said := strings.TrimSpace(string(out))
	if err != nil {
		return "", fmt.Errorf("vmhost: %s %s: %w: %s", program, strings.Join(args, " "), err, said)
	}
	return said, nil
}
