package outbound

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// ErrAddress is the error of an address that a Policy refuses.
var ErrAddress = errors.New("the address is not allowed")

// Policy decides whether the program may connect to an address that a request has brought. An error, which should wrap
// ErrAddress, refuses the address. A nil Policy is RefuseLocal.
type Policy func(netip.AddrPort) error

// metadata are the addresses of metadata services of clouds that are not link-local.
var metadata = []netip.Addr{
	netip.MustParseAddr("fd00:ec2::254"),   // Amazon
	netip.MustParseAddr("fd20:ce::254"),    // Google
	netip.MustParseAddr("100.100.100.200"), // Alibaba
	netip.MustParseAddr("168.63.129.16"),   // Azure
	netip.MustParseAddr("192.0.0.192"),     // Oracle
}

// RefuseLocal allows every address except those of this machine and of its links, and those of cloud metadata services:
// loopback, link-local, multicast, unspecified, "this network" (0.0.0.0/8), and some single addresses. It allows private
// networks, because clouds and their services are there.
func RefuseLocal(to netip.AddrPort) error {
	address := embedded(to.Addr().Unmap().WithZone(""))
	switch {
	case address.IsLoopback(), address.IsLinkLocalUnicast(), address.IsMulticast(), address.IsUnspecified(),
		address.Is4() && address.As4()[0] == 0, slices.Contains(metadata, address):
		return fmt.Errorf("%w: %s belongs to this machine, to its links or to a metadata service", ErrAddress, to.Addr())
	}
	return nil
}

// AllowAny allows every address. It is for what an operator has configured, for tests, and for programs whose connections
// the operating system restricts.
func AllowAny(netip.AddrPort) error { return nil }

// Except returns RefuseLocal with exceptions: it also allows the addresses of these networks.
func Except(networks ...netip.Prefix) Policy {
	networks = slices.Clone(networks)
	return func(to netip.AddrPort) error {
		address := to.Addr().Unmap().WithZone("")
		if slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(address) }) {
			return nil
		}
		return RefuseLocal(to)
	}
}

// Prefixes of IPv6 addresses that embed an IPv4 address, and where: a gateway connects to that address.
var embeddings = []struct {
	prefix netip.Prefix
	at     int
}{
	{netip.MustParsePrefix("64:ff9b::/96"), 12},   // RFC 6052
	{netip.MustParsePrefix("64:ff9b:1::/48"), 12}, // RFC 8215
	{netip.MustParsePrefix("2002::/16"), 2},       // 6to4, RFC 3056
	{netip.MustParsePrefix("::/96"), 12},          // RFC 4291 2.5.5.1
}

// embedded returns the IPv4 address that an IPv6 address embeds, or address.
func embedded(address netip.Addr) netip.Addr {
	if address.Is4() || address.IsLoopback() || address.IsUnspecified() {
		return address
	}
	for _, e := range embeddings {
		if e.prefix.Contains(address) {
			bytes := address.As16()
			return netip.AddrFrom4([4]byte(bytes[e.at : e.at+4]))
		}
	}
	return address
}

// Check judges an address.
func (p Policy) Check(to netip.AddrPort) error {
	if p == nil {
		return RefuseLocal(to)
	}
	return p(to)
}

// CheckHost judges the host of an address that another machine or program will connect to. It judges an IP address, and
// names of the loopback address; any other name it allows, because only the other machine resolves the name.
func (p Policy) CheckHost(host string, port uint16) error {
	bare := strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if address, err := netip.ParseAddr(bare); err == nil {
		return p.Check(netip.AddrPortFrom(address, port))
	}
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	if slices.Contains(localNames, name) || strings.HasSuffix(name, ".localhost") {
		return p.Check(netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), port))
	}
	if address, ok := numeric(name); ok {
		return p.Check(netip.AddrPortFrom(address, port))
	}
	return nil
}

// CheckURL judges the host of a URL as CheckHost does.
func (p Policy) CheckURL(u *url.URL) error {
	return p.CheckHost(u.Hostname(), portOf(u))
}

// localNames are names of the loopback address in the hosts files of Linux distributions.
var localNames = []string{"localhost", "localhost.localdomain", "localhost4", "localhost6", "ip6-localhost", "ip6-loopback"}

// numeric returns the IPv4 address that many resolvers read in a name of one to four numbers, such as 127.1 or 0x7f000001: the last
// number fills the remaining bytes (inet_aton).
func numeric(name string) (address netip.Addr, ok bool) {
	labels := strings.Split(name, ".")
	if len(labels) > 4 {
		return address, false
	}
	var bytes [4]byte
	for i, label := range labels {
		last := i == len(labels)-1
		size := 1
		if last {
			size = 4 - i
		}
		n, err := strconv.ParseUint(label, 0, 8*size)
		if err != nil || strings.Contains(label, "_") {
			return address, false
		}
		for j := range size {
			bytes[i+j] = byte(n >> (8 * (size - 1 - j))) //nolint:gosec // one byte of n
		}
	}
	return netip.AddrFrom4(bytes), true
}

func portOf(u *url.URL) uint16 {
	text := u.Port()
	switch {
	case text == "" && u.Scheme == "http":
		return 80
	case text == "":
		return 443
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return 0
	}
	return uint16(port)
}
