package outbound_test

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/vnfkit/vnfkit/vnflcm/outbound"
)

// proxy is the proxy of the environment, which net/http reads once.
var proxy = newRecorder(nil)

func TestMain(m *testing.M) {
	_ = os.Setenv("HTTP_PROXY", proxy.URL)
	_ = os.Setenv("NO_PROXY", "")
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) { proxy.Close(); os.Exit(code) }), goleak.IgnoreCurrent())
}

func TestRefuseLocal(t *testing.T) {
	t.Parallel()
	var policy outbound.Policy // the default
	for address, allowed := range map[string]bool{
		"127.0.0.1": false, "127.8.8.8": false, "::1": false, "::ffff:127.0.0.1": false, "0.0.0.0": false, "0.1.2.3": false, "::": false, "169.254.169.254": false,
		"fe80::1%eth0": false, "224.0.0.1": false, "ff02::1": false, "fd00:ec2::254": false, "fd20:ce::254": false, "64:ff9b::7f00:1": false, "64:ff9b::a9fe:a9fe": false,
		"64:ff9b:1::a9fe:a9fe": false, "2002:7f00:1::1": false, "::127.0.0.1": false, "100.100.100.200": false, "168.63.129.16": false, "192.0.0.192": false,
		"10.0.0.1": true, "192.168.1.1": true, "100.64.0.1": true, "172.16.0.1": true, "203.0.113.9": true, "2001:db8::1": true, "fd00::1": true,
		"64:ff9b::cb00:7109": true, "2002:cb00:7109::1": true,
	} {
		err := policy.Check(netip.AddrPortFrom(netip.MustParseAddr(address), 443))
		if (err == nil) != allowed || err != nil && !errors.Is(err, outbound.ErrAddress) {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestExcept(t *testing.T) {
	t.Parallel()
	policy := outbound.Except(netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("fe80::/10"))
	for address, allowed := range map[string]bool{"127.0.0.1": true, "::ffff:127.0.0.1": true, "fe80::1%eth0": true, "::1": false, "169.254.169.254": false, "10.0.0.1": true} {
		if err := policy.Check(netip.AddrPortFrom(netip.MustParseAddr(address), 443)); (err == nil) != allowed {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// TestCheckURL judges addresses for programs on other machines.
func TestCheckURL(t *testing.T) {
	t.Parallel()
	var policy outbound.Policy
	for text, allowed := range map[string]bool{
		"http://169.254.169.254/latest": false, "https://[::1]:8443/": false, "https://[fe80::1%25eth0]/": false, "oci://localhost:5000/charts": false,
		"http://LOCALHOST./": false, "http://a.localhost/": false, "http://ip6-loopback/": false, "http://127.1/": false, "http://2130706433/": false, "http://0x7f.1/": false, "http://0251.254.43518/": false,
		"http://10.1/": true, "http://10.9.0.300/": true, "http://3232235777/": true, "http://1.2.3.4.5/": true, "http://1_0.1/": true,
		"https://charts.example.com/": true, "http://10.0.0.1:8080/": true, "oci://registry.example/charts": true, "http://localhost.example.com/": true, "http://1.example/": true,
	} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := policy.CheckURL(u); (err == nil) != allowed || err != nil && !errors.Is(err, outbound.ErrAddress) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// recorder is a server that counts the connections that it gets.
type recorder struct {
	*httptest.Server
	connections atomic.Int32
	targets     chan string
}

func record(t *testing.T, handler http.HandlerFunc) *recorder {
	t.Helper()
	r := newRecorder(handler)
	t.Cleanup(r.Close)
	return r
}

func newRecorder(handler http.HandlerFunc) *recorder {
	r := &recorder{targets: make(chan string, 10)}
	r.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		r.targets <- request.Host
		if handler != nil {
			handler(w, request)
		}
	}))
	r.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			r.connections.Add(1)
		}
	}
	r.Start()
	return r
}

func (r *recorder) address() string { return r.Listener.Addr().String() }

// only allows a single address.
func only(address string) outbound.Policy {
	return func(to netip.AddrPort) error {
		if to.String() == address {
			return nil
		}
		return outbound.RefuseLocal(to)
	}
}

func TestDialContext(t *testing.T) {
	t.Parallel()
	server := record(t, nil)
	_, port, _ := net.SplitHostPort(server.address())
	for _, host := range []string{"127.0.0.1", "localhost"} {
		conn, err := outbound.Policy(nil).DialContext(t.Context(), "tcp", net.JoinHostPort(host, port))
		if conn != nil || !errors.Is(err, outbound.ErrAddress) {
			t.Errorf("%s: %v", host, err)
		}
	}
	if n := server.connections.Load(); n != 0 {
		t.Errorf("the server has got %d connections", n)
	}
	conn, err := only(server.address()).DialContext(t.Context(), "tcp", server.address())
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
}

// TestRedirect: a redirect is judged like a first address.
func TestRedirect(t *testing.T) {
	t.Parallel()
	inside := record(t, nil)
	server := record(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, inside.URL, http.StatusFound) })
	transport := only(server.address()).Transport()
	defer transport.CloseIdleConnections()
	_, err := get(t, transport, server.URL)
	if !errors.Is(err, outbound.ErrAddress) || inside.connections.Load() != 0 {
		t.Errorf("%v; the server has got %d connections", err, inside.connections.Load())
	}
}

// TestProxy: the proxy is the operator's, and gets only targets that are allowed.
func TestProxy(t *testing.T) {
	t.Parallel()
	transport := outbound.Policy(nil).Transport()
	defer transport.CloseIdleConnections()
	for _, target := range []string{"http://203.0.113.5/", "http://charts.invalid:8080/"} {
		if _, err := get(t, transport, target); err != nil {
			t.Errorf("%s: %v", target, err)
		}
	}
	for _, target := range []string{"http://169.254.169.254/", "http://[::1]:80/", "http://[::ffff:169.254.169.254]/", proxy.URL, "http://localhost:1/"} {
		if _, err := get(t, transport, target); !errors.Is(err, outbound.ErrAddress) {
			t.Errorf("%s: %v", target, err)
		}
	}
	var got []string
	for len(proxy.targets) > 0 {
		got = append(got, <-proxy.targets)
	}
	if diff := cmp.Diff([]string{"203.0.113.5", "charts.invalid:8080"}, got); diff != "" {
		t.Errorf("targets that the proxy got:\n%s", diff)
	}
}

func get(t *testing.T, transport http.RoundTripper, target string) (int, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return 0, err
	}
	return answer.StatusCode, answer.Body.Close()
}

func FuzzCheckURL(f *testing.F) {
	for _, seed := range []string{"http://127.0.0.1", "https://[::ffff:7f00:1]:1/x", "oci://h/c", "http://0x7f000001", "http://h:99999"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, err := url.Parse(text)
		if err != nil {
			return
		}
		if err := outbound.Policy(nil).CheckURL(u); err != nil && !errors.Is(err, outbound.ErrAddress) {
			t.Errorf("%q: %v", text, err)
		}
		if a, err := netip.ParseAddr(u.Hostname()); err == nil && a.IsLoopback() && outbound.Policy(nil).CheckURL(u) == nil {
			t.Errorf("%q is allowed", text)
		}
	})
}
