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

// What the hosts have of the machine. Neither names nor addresses are used by anything else.
const (
	bridge   = "vnfkit0"
	lockFile = "/run/lock/vnfkit-e2e"
	stateDir = "/var/lib/vnfkit-e2e"
)

var (
	subnet  = netip.MustParsePrefix("10.213.0.0/16")
	gateway = netip.MustParseAddr("10.213.0.1")
)

// Network is a bridge with hosts on it.
type Network struct {
	lock    *flock.Flock
	inotify func() error // sets the machine's limit back

	mu     sync.Mutex
	taken  map[netip.Addr]bool
	serial int
}

// Up makes the network, in place of one that a killed run has left. One process of the machine can have it:
// others wait, until ctx ends. Close it.
func Up(ctx context.Context) (*Network, error) {
	n := &Network{lock: flock.New(lockFile), inotify: func() error { return nil }, taken: map[netip.Addr]bool{}}
	if _, err := n.lock.TryLockContext(ctx, 200*time.Millisecond); err != nil {
		return nil, fmt.Errorf("vmhost: another process has the network %s: %w", bridge, err)
	}
	err := n.up(ctx)
	if err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

func (n *Network) up(ctx context.Context) error {
	if err := clean(ctx); err != nil {
		return err
	}
	if err := os.MkdirAll(stateDir, 0o700); err != nil {
		return err
	}
	restore, err := raiseInotify()
	if err != nil {
		return err
	}
	n.inotify = restore
	others, err := net.InterfaceAddrs()
	if err != nil {
		return err
	}
	for _, other := range others {
		if p, err := netip.ParsePrefix(other.String()); err == nil && p.Overlaps(subnet) {
			return fmt.Errorf("vmhost: the machine has %s, which overlaps %s", p, subnet)
		}
	}
	return errors.Join(
		// Without an address of its own the bridge takes one of its devices', which changes as hosts come and go:
		// the others would send to the old one for a while.
		ip(ctx, "link", "add", bridge, "address", "02:76:6e:66:6b:30", "type", "bridge"),
		ip(ctx, "addr", "add", netip.PrefixFrom(gateway, subnet.Bits()).String(), "dev", bridge),
		ip(ctx, "link", "set", bridge, "up"))
}

// clean removes what a run makes, or what an earlier one has left.
func clean(ctx context.Context) error {
	return errors.Join(removeBridge(ctx), removeGroups(groups), detachDisks(ctx), os.RemoveAll(stateDir))
}

// removeBridge removes the bridge, and the devices of hosts that still hang on it.
func removeBridge(ctx context.Context) error {
	if _, err := net.InterfaceByName(bridge); err != nil {
		return nil //nolint:nilerr // there is none
	}
	out, err := exec.CommandContext(ctx, "ip", "-o", "link", "show", "master", bridge).Output()
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(out)) { // 7: vnfkit3@if2: <BROADCAST...
		_, rest, _ := strings.Cut(line, ": ")
		name, _, _ := strings.Cut(rest, "@")
		_ = ip(ctx, "link", "del", name) // it may be going by itself
	}
	return ip(ctx, "link", "del", bridge)
}

// Close removes the network. The hosts must be gone.
func (n *Network) Close() error {
	return errors.Join(clean(context.Background()), n.inotify(), n.lock.Unlock())
}

// Dir is a directory for what the hosts are made from. It is removed with the network.
func (n *Network) Dir() string { return stateDir }

// Gateway is the address of the machine itself, as the hosts see it.
func (n *Network) Gateway() netip.Addr { return gateway }

// Reserve takes an address that no host gets, such as one that hosts share. It is the network's until that is closed.
func (n *Network) Reserve() netip.Addr { return n.address() }

// address takes the lowest free address. Neighbours are in different /24s, so that nobody relies on one.
func (n *Network) address() netip.Addr {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := 0; ; i++ {
		addr := netip.AddrFrom4([4]byte{10, 213, byte(i/240*3 + i%3), byte(10 + i%240)})
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

// device returns a name for a network device that none had before: those of killed hosts go a moment later.
func (n *Network) device() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.serial++
	return fmt.Sprintf("vnfkit0.%d", n.serial)
}

func ip(ctx context.Context, args ...string) error {
	out, err := exec.CommandContext(ctx, "ip", args...).CombinedOutput() //nolint:gosec // our own arguments
	if err != nil {
		return fmt.Errorf("vmhost: ip %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
