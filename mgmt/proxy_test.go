package mgmt_test

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// faults lists the faults of parameters in the joined errors, sorted. It is not mgmttest.Faults because that package links
// the simulated clusters, and compiling them for the race detector takes longer than all tests of this package.
func faults(err error) (out []string) {
	joined, _ := err.(interface{ Unwrap() []error })
	if joined == nil {
		return nil
	}
	for _, each := range joined.Unwrap() {
		if fault, ok := errors.AsType[*vnflcm.ParamError](each); ok {
			out = append(out, fault.Error())
		}
	}
	slices.Sort(out)
	return out
}

func TestProxyValidate(t *testing.T) {
	t.Parallel()
	const good = "http://user:hunter2@proxy.example.com:3128"
	for name, c := range map[string]struct {
		http, https, direct, cidr string
		want                      []string
	}{
		"none":                {},
		"good":                {http: good, https: good, direct: "10.0.0.1, .example.com,192.168.0.0/16,[2001:db8::1],*.example.org", cidr: "10.0.0.0/8"},
		"no port":             {http: "http://proxy", https: "https://proxy/"},
		"IPv6":                {http: "http://[2001:db8::1]:3128", https: good},
		"port is no number":   {http: "http://user1:hunter2@host1:port1", want: []string{"http_proxy: the port is not a number"}},
		"port too high":       {http: "http://user:hunter2@host:65536", want: []string{"http_proxy: the port is not a number from 1 to 65535"}},
		"port 0":              {https: "http://host:0", want: []string{"https_proxy: the port is not a number from 1 to 65535"}},
		"another scheme":      {http: "socks5://hunter2:hunter2@host:1", want: []string{"http_proxy: must begin with http:// or https://"}},
		"no scheme":           {http: "host:3128", want: []string{"http_proxy: must begin with http:// or https://"}},
		"no host":             {http: "http://:3128", want: []string{"http_proxy: names no host"}},
		"newline":             {http: "http://user:hunter2@host:1\nX: y", want: []string{"http_proxy: is not a URL"}},
		"quotes":              {http: `http://ho"st:1`, want: []string{"http_proxy: has a character that a URL does not have as it is: use %22 and the like"}},
		"command":             {https: "http://host:1/$(touch /pwned)`id`", want: []string{"https_proxy: has a character that a URL does not have as it is: use %22 and the like"}},
		"CIDR":                {cidr: "10.0.0.0", want: []string{`k8s_node_cidr: "10.0.0.0": must be a network such as 10.10.0.0/24`}},
		"no_proxy of a shell": {direct: "a;$(touch /pwned)", want: []string{"no_proxy: may hold names, addresses and networks, separated by commas, and nothing else"}},
		"no_proxy of lines":   {direct: "a\nb", want: []string{"no_proxy: may hold names, addresses and networks, separated by commas, and nothing else"}},
		"all at once": {http: "x", https: "http://:1", direct: `"`, cidr: "y", want: []string{
			"http_proxy: must begin with http:// or https://", "https_proxy: names no host", `k8s_node_cidr: "y": must be a network such as 10.10.0.0/24`,
			"no_proxy: may hold names, addresses and networks, separated by commas, and nothing else"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := mgmt.Proxy{HTTPProxy: vnflcm.NewSecret(c.http), HTTPSProxy: vnflcm.NewSecret(c.https), NoProxy: c.direct, K8sNodeCIDR: c.cidr}.Validate()
			if diff := cmp.Diff(c.want, faults(err)); diff != "" {
				t.Error(diff)
			}
			if err != nil && (!errors.Is(err, vnflcm.ErrInvalidRequest) || strings.Contains(err.Error(), "hunter2")) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestProxyEnvironment(t *testing.T) {
	t.Parallel()
	url := vnflcm.NewSecret("http://proxy:3128")
	for name, c := range map[string]struct {
		proxy mgmt.Proxy
		want  map[string]string
	}{
		"none":      {mgmt.Proxy{NoProxy: "a"}, nil},
		"only http": {mgmt.Proxy{HTTPProxy: url}, nil},
		"both": {mgmt.Proxy{HTTPProxy: url, HTTPSProxy: url},
			map[string]string{"http_proxy": "http://proxy:3128", "https_proxy": "http://proxy:3128", "no_proxy": "127.0.0.1,localhost,10.10.0.0/16,10.96.0.0/12"}},
		"user's list first": {mgmt.Proxy{HTTPProxy: url, HTTPSProxy: url, NoProxy: "a,b"},
			map[string]string{"http_proxy": "http://proxy:3128", "https_proxy": "http://proxy:3128", "no_proxy": "a,b,127.0.0.1,localhost,10.10.0.0/16,10.96.0.0/12"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, c.proxy.Environment("10.10.0.0/16", "10.96.0.0/12")); diff != "" {
				t.Error(diff)
			}
			if c.proxy.Used() != (c.want != nil) {
				t.Error("Used says something else")
			}
		})
	}
}

func TestProxyNodeNetwork(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ given, first, want string }{
		{"", "10.10.3.7", "10.10.3.0/24"},
		{"", "2001:db8:0:1::7", "2001:db8:0:1::/64"},
		{"10.0.0.0/16", "10.10.3.7", "10.0.0.0/16"},
	} {
		if got := (mgmt.Proxy{K8sNodeCIDR: c.given}).NodeNetwork(netip.MustParseAddr(c.first)); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}
