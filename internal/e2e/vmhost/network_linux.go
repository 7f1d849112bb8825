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

// networks is how many networks a machine can have at once.
const networks = 4

// Network is a bridge with hosts on it. What a network has of the machine is named by its number: neither names nor
// addresses are used by anything else.
type Network struct {
	number   int
	bridge   string
	subnet   netip.Prefix
	stateDir string
	groups   string // the control group, below that of the machine, of all hosts that run systemd
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

// Up makes a network, in place of one that a killed run has left. Other processes can have networks at the same time; when
// all are in use Up waits until one is free or ctx ends. Close it.
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

// lockNetwork takes the first network that no other process has.
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
		// Without an address of its own the bridge takes one of its devices', which changes as hosts come and go:
		// the others would send to the old one for a while.
		ip(ctx, "link", "add", n.bridge, "address", fmt.Sprintf("02:76:6e:66:6b:3%d", n.number), "type", "bridge"),
		ip(ctx, "addr", "add", netip.PrefixFrom(n.Gateway(), n.subnet.Bits()).String(), "dev", n.bridge),
		ip(ctx, "link", "set", n.bridge, "up"))
}

// clean removes what a run makes, or what an earlier one has left.
func (n *Network) clean(ctx context.Context) error {
	return errors.Join(n.removeBridge(ctx), removeGroups(n.groups), n.detachDisks(ctx), os.RemoveAll(n.stateDir))
}

// removeBridge removes the bridge, and the devices of hosts that still hang on it.
func (n *Network) removeBridge(ctx context.Context) error {
	if _, err := net.InterfaceByName(n.bridge); err != nil {
		return nil //nolint:nilerr // there is none
	}
	out, err := exec.CommandContext(ctx, "ip", "-o", "link", "show", "master", n.bridge).Output()
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(out)) { // 7: vnfkit3@if2: <BROADCAST...
		_, rest, _ := strings.Cut(line, ": ")
		name, _, _ := strings.Cut(rest, "@")
		_ = ip(ctx, "link", "del", name) // it may be going by itself
	}
	return ip(ctx, "link", "del", n.bridge)
}

// Close removes the network. The hosts must be gone.
func (n *Network) Close() error {
	return errors.Join(n.clean(context.Background()), n.lock.Unlock(), restoreInotify())
}

// Dir is a directory for what the hosts are made from. It is removed with the network.
func (n *Network) Dir() string { return n.stateDir }

// Gateway is the address of the machine itself, as the hosts see it.
func (n *Network) Gateway() netip.Addr { return n.subnet.Addr().Next() }

// Prefix is the subnet of the hosts, a /16.
func (n *Network) Prefix() netip.Prefix { return n.subnet }

// Reserve takes an address that no host gets, such as one that hosts share. It is the network's until that is closed.
func (n *Network) Reserve() netip.Addr { return n.address() }

// address takes the lowest free address. Neighbours are in different /24s, so that nobody relies on one.
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

// device returns a name for a network device that none had before: those of killed hosts go a moment later.
func (n *Network) device() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.serial++
	return fmt.Sprintf("%s.%d", n.bridge, n.serial)
}

func ip(ctx context.Context, args ...string) error {
	out, err := exec.CommandContext(ctx, "ip", args...).CombinedOutput() //nolint:gosec // our own arguments
	if err != nil {
		return fmt.Errorf("vmhost: ip %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
