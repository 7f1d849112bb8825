package mgmt

import (
	"errors"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// Proxy is the parameter "proxy" of Kubernetes-cluster VNFs. It is used when both URLs are given, as in
// Tacker.
type Proxy struct {
	HTTPProxy   vnflcm.Secret `json:"http_proxy"`  // URLs may carry a password
	HTTPSProxy  vnflcm.Secret `json:"https_proxy"` //
	NoProxy     string        `json:"no_proxy"`
	K8sNodeCIDR string        `json:"k8s_node_cidr"` // default: the /24 (IPv6: /64) of the first control-plane node
}

// Used reports whether nodes use the proxy.
func (p Proxy) Used() bool { return !p.HTTPProxy.IsZero() && !p.HTTPSProxy.IsZero() }

// Validate reports the faults of the parameter, by their names in it. Values are left out: a URL may carry a
// password.
func (p Proxy) Validate() error {
	var faults []error
	if reason := proxyFault(p.HTTPProxy.Reveal()); reason != "" {
		faults = append(faults, &vnflcm.ParamError{Path: "http_proxy", Reason: reason})
	}
	if reason := proxyFault(p.HTTPSProxy.Reveal()); reason != "" {
		faults = append(faults, &vnflcm.ParamError{Path: "https_proxy", Reason: reason})
	}
	if !directForm.MatchString(p.NoProxy) {
		faults = append(faults, &vnflcm.ParamError{Path: "no_proxy", Reason: "may hold names, addresses and networks, separated by commas, and nothing else"})
	}
	if p.K8sNodeCIDR != "" {
		if _, err := netip.ParsePrefix(p.K8sNodeCIDR); err != nil {
			faults = append(faults, &vnflcm.ParamError{Path: "k8s_node_cidr", Value: p.K8sNodeCIDR, Reason: "must be a network such as 10.10.0.0/24"})
		}
	}
	return errors.Join(faults...)
}

// These values end up in files and environments that scripts of packages write and read: characters that are special in
// shells or systemd are refused, since no proxy setting needs them.
var (
	directForm = regexp.MustCompile(`^[A-Za-z0-9.,:/*_\[\] -]*$`)
	urlForm    = regexp.MustCompile(`^[A-Za-z0-9._~:/?#\[\]@!&*+,;=%-]*$`)
)

func proxyFault(text string) string {
	if text == "" {
		return ""
	}
	u, err := url.Parse(text)
	if err != nil {
		if strings.Contains(err.Error(), "invalid port") {
			return "the port is not a number"
		}
		return "is not a URL"
	}
	port, err := strconv.Atoi(u.Port())
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return "must begin with http:// or https://"
	case u.Hostname() == "":
		return "names no host"
	case u.Port() != "" && (err != nil || port < 1 || port > 65535):
		return "the port is not a number from 1 to 65535"
	case !urlForm.MatchString(text):
		return "has a character that a URL does not have as it is: use %22 and the like"
	}
	return ""
}

// Environment returns the proxy variables for programs on a node. direct lists destinations without the proxy, in
// addition to the user's list: networks as networks, not address by address.
func (p Proxy) Environment(direct ...string) map[string]string {
	if !p.Used() {
		return nil
	}
	list := []string{"127.0.0.1", "localhost"}
	if p.NoProxy != "" {
		list = append([]string{p.NoProxy}, list...)
	}
	return map[string]string{
		"http_proxy": p.HTTPProxy.Reveal(), "https_proxy": p.HTTPSProxy.Reveal(),
		"no_proxy": strings.Join(append(list, direct...), ","),
	}
}

// NodeNetwork returns K8sNodeCIDR, or its default.
func (p Proxy) NodeNetwork(first netip.Addr) string {
	if p.K8sNodeCIDR != "" {
		return p.K8sNodeCIDR
	}
	bits := 24
	if first.Is6() {
		bits = 64
	}
	return netip.PrefixFrom(first, bits).Masked().String()
}
