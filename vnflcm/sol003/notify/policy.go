package notify

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"
)

// ErrAddress is the error of a connection that Options.Allow has refused.
var ErrAddress = errors.New("notify: the address is not allowed")

// nat64 is the prefix of IPv6 addresses that embed an IPv4 address (RFC 6052 2.1).
var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// RefuseLocal allows every address except those of this machine and of its links: loopback, link-local, multicast,
// unspecified and "this network" (0.0.0.0/8). Cloud metadata services have link-local addresses; it refuses
// fd00:ec2::254 too.
func RefuseLocal(to netip.AddrPort) error {
	address := to.Addr().Unmap().WithZone("")
	if nat64.Contains(address) {
		bytes := address.As16()
		address = netip.AddrFrom4([4]byte(bytes[12:]))
	}
	switch {
	case address.IsLoopback(), address.IsLinkLocalUnicast(), address.IsMulticast(), address.IsUnspecified(),
		address.Is4() && address.As4()[0] == 0, address == netip.MustParseAddr("fd00:ec2::254"):
		return fmt.Errorf("%w: %s is an address of this machine or of its links", ErrAddress, to.Addr())
	}
	return nil
}

// AllowAny allows every address: for tests, and where the operating system restricts the connections of the program.
func AllowAny(netip.AddrPort) error { return nil }

// Bounds of one request to a subscriber or a token endpoint.
const (
	requestTime   = 10 * time.Second
	maxAnswer     = 64 << 10 // bytes that are read of an answer
	maxHeader     = 64 << 10 // bytes
	perSubscriber = 8        // requests at once
)

// newClient returns a client that connects only where the policy allows, verifies TLS, and follows no redirects.
func newClient(o Options) *http.Client {
	dialer := &net.Dialer{Timeout: requestTime, ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("%w: %s", ErrAddress, address)
		}
		return o.Allow(to)
	}}
	transport := &http.Transport{DialContext: dialer.DialContext, TLSClientConfig: o.TLS.Clone(), ForceAttemptHTTP2: true, MaxIdleConnsPerHost: perSubscriber,
		TLSHandshakeTimeout: requestTime, IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: maxHeader}
	return &http.Client{Transport: transport, Timeout: requestTime,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}
