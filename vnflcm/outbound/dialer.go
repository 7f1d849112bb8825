package outbound

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"syscall"
	"time"
)

// connectTimeout bounds a TCP connect. The kernel alone tries for two minutes.
const connectTimeout = 15 * time.Second

// DialContext connects to an address if the policy allows it, within 15 s. It judges the addresses that the name has at the
// moment of the connection. It has the form of net.Dialer's method.
func (p Policy) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: connectTimeout, ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("%w: %s", ErrAddress, address)
		}
		return p.Check(to)
	}}
	return dialer.DialContext(ctx, network, address)
}

// Transport returns a transport that connects only to allowed addresses, on redirects too, and otherwise has the settings of
// http.DefaultTransport. The caller may change it before its first use.
//
// It uses the proxies of the environment (HTTP_PROXY, HTTPS_PROXY, NO_PROXY). The addresses of proxies are the operator's
// and are not judged. A proxy gets only allowed targets: Transport judges an IP address, and every address that a name has
// here. A name that only the proxy can resolve is allowed.
func (p Policy) Transport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // the type of the variable in net/http
	proxies := newProxies(p)
	t.DialContext, t.Proxy = proxies.dial, proxies.choose
	return t
}

// proxies are the proxies of the environment.
type proxies struct {
	policy    Policy
	addresses []string // host:port
}

func newProxies(p Policy) *proxies {
	out := &proxies{policy: p}
	for _, scheme := range []string{"http", "https"} {
		request := &http.Request{URL: &url.URL{Scheme: scheme, Host: "any.invalid"}}
		if via, err := http.ProxyFromEnvironment(request); err == nil && via != nil {
			out.addresses = append(out.addresses, addressOf(via))
		}
	}
	return out
}

// dial connects to a proxy, or to an address that the policy allows. net/http does not say which of the two it asks for, so
// choose refuses proxies as targets of requests.
func (x *proxies) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if slices.Contains(x.addresses, address) {
		return Policy(AllowAny).DialContext(ctx, network, address)
	}
	return x.policy.DialContext(ctx, network, address)
}

// choose returns the proxy for a request, nil for a direct connection, and judges the target that the proxy gets.
func (x *proxies) choose(r *http.Request) (*url.URL, error) {
	if slices.Contains(x.addresses, addressOf(r.URL)) {
		return nil, fmt.Errorf("%w: %s is a proxy of this program", ErrAddress, r.URL.Host)
	}
	via, err := http.ProxyFromEnvironment(r)
	if err != nil || via == nil {
		return nil, err
	}
	return via, x.policy.checkResolved(r.Context(), r.URL)
}

// checkResolved judges the host of a URL and, if this machine can resolve the name, all its addresses.
func (p Policy) checkResolved(ctx context.Context, u *url.URL) error {
	if err := p.CheckURL(u); err != nil {
		return err
	}
	if _, err := netip.ParseAddr(u.Hostname()); err == nil {
		return nil
	}
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname())
	if err != nil {
		return nil //nolint:nilerr // only the proxy knows the name
	}
	var faults []error
	for _, address := range found {
		faults = append(faults, p.Check(netip.AddrPortFrom(address, portOf(u))))
	}
	return errors.Join(faults...)
}

// addressOf returns host:port of a URL, as net/http dials it.
func addressOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "socks5": "1080", "socks5h": "1080"}[u.Scheme]
		if port == "" {
			port = "80"
		}
	}
	return net.JoinHostPort(u.Hostname(), port)
}
