package kubeadmconf

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func (f *File) check() error {
	var errs []error
	if f.Init != nil {
		errs = append(errs, f.Init.check())
	}
	if f.Cluster != nil {
		errs = append(errs, f.Cluster.check())
	}
	if f.Join != nil {
		errs = append(errs, f.Join.check())
	}
	return errors.Join(errs...)
}

func invalid(path, value, reason string) error {
	return fmt.Errorf("%s: Invalid value: %q: %s", path, value, reason)
}

var (
	tokens    = regexp.MustCompile(`\A([a-z0-9]{6})\.([a-z0-9]{16})\z`)
	groups    = regexp.MustCompile(`\Asystem:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]\z`)
	subdomain = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
)

func isSubdomain(name string) bool { return len(name) <= 253 && subdomain.MatchString(name) }

const notSubdomain = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character"

func (i *Init) check() error {
	errs := []error{i.newer.check(i.APIVersion), i.NodeRegistration.check(i.APIVersion), i.LocalAPIEndpoint.check()}
	for n, t := range i.BootstrapTokens {
		if t.Token != "" && !tokens.MatchString(t.Token) {
			errs = append(errs, fmt.Errorf("the bootstrap token %q was not of the form %q", t.Token, tokens))
		}
		for _, usage := range t.Usages {
			if usage != "signing" && usage != "authentication" {
				errs = append(errs, fmt.Errorf("bootstrapTokens.%d.usages: Invalid value: invalid bootstrap token usage string: %s, valid usage options: signing,authentication", n, usage))
			}
		}
		for _, group := range t.Groups {
			if !groups.MatchString(group) {
				errs = append(errs, fmt.Errorf("bootstrapTokens.%d.groups: Invalid value: bootstrap group %q is invalid (must match %s)", n, group, groups))
			}
		}
	}
	return errors.Join(errs...)
}

func (n newer) check(version string) error {
	if version != v1beta3 {
		return nil
	}
	switch {
	case n.DryRun != nil:
		return errors.New(`strict decoding error: unknown field "dryRun"`)
	case n.Timeouts != nil:
		return errors.New(`strict decoding error: unknown field "timeouts"`)
	}
	return nil
}

func (r Registration) check(version string) error {
	var errs []error
	if name := strings.ToLower(strings.TrimSpace(r.Name)); name != "" && !isSubdomain(name) {
		errs = append(errs, invalid("nodeRegistration.name", name, notSubdomain))
	}
	if args := strings.TrimSpace(string(r.KubeletExtraArgs)); args != "" && args != "null" {
		switch isList := args[0] == '['; {
		case version == v1beta4 && !isList:
			errs = append(errs, errors.New("json: cannot unmarshal object into Go struct field NodeRegistrationOptions.nodeRegistration.kubeletExtraArgs of type []v1beta4.Arg"))
		case version == v1beta3 && isList:
			errs = append(errs, errors.New("json: cannot unmarshal array into Go struct field NodeRegistrationOptions.nodeRegistration.kubeletExtraArgs of type map[string]string"))
		}
	}
	return errors.Join(errs...)
}

func (e Endpoint) check() error {
	if e.BindPort < 0 || e.BindPort > 65535 {
		return fmt.Errorf("localAPIEndpoint.bindPort: Invalid value: %d: port number is not valid", e.BindPort)
	}
	if _, err := netip.ParseAddr(e.AdvertiseAddress); e.AdvertiseAddress != "" && err != nil {
		return fmt.Errorf("couldn't use %q as \"apiserver-advertise-address\", must be ipv4 or ipv6 address", e.AdvertiseAddress)
	}
	return nil
}

func (c *Cluster) check() error {
	errs := []error{c.checkVersion(), c.checkEndpoint(), checkPods(c.Networking.PodSubnet), checkServices(c.Networking.ServiceSubnet)}
	for _, name := range c.APIServer.CertSANs {
		plain := strings.TrimPrefix(strings.ToLower(name), "*.")
		if _, err := netip.ParseAddr(name); err != nil && !isSubdomain(plain) {
			errs = append(errs, invalid("apiServer.certSANs", name, "altname is not a valid IP address, DNS label or a DNS label with subdomain wildcards: "+notSubdomain))
		}
	}
	return errors.Join(errs...)
}

// checkVersion refuses fields of v1beta4 in v1beta3.
func (c *Cluster) checkVersion() error {
	switch {
	case c.APIVersion != v1beta3:
	case c.Encryption != "":
		return errors.New(`strict decoding error: unknown field "encryptionAlgorithm"`)
	case c.Validity != nil:
		return errors.New(`strict decoding error: unknown field "certificateValidityPeriod"`)
	case c.CAValidity != nil:
		return errors.New(`strict decoding error: unknown field "caCertificateValidityPeriod"`)
	}
	return nil
}

// checkEndpoint is ParseHostPort of kubeadm: the port may be left out.
func (c *Cluster) checkEndpoint() error {
	endpoint := c.ControlPlaneEndpoint
	if endpoint == "" {
		return nil
	}
	host, port, err := net.SplitHostPort(endpoint)
	if err != nil {
		host, port = endpoint, ""
	}
	if n, err := strconv.Atoi(port); port != "" && (err != nil || n < 1 || n > 65535) {
		return fmt.Errorf("hostport %s: port %s must be a valid number between 1 and 65535, inclusive", endpoint, port)
	}
	if _, err := netip.ParseAddr(host); err != nil && !isSubdomain(host) {
		return fmt.Errorf("hostport %s: host '%s' must be a valid IP address or a valid RFC-1123 DNS subdomain", endpoint, host)
	}
	return nil
}

func checkPods(list string) error {
	for text := range strings.SplitSeq(list, ",") {
		p, err := netip.ParsePrefix(text)
		node := map[bool]int{true: 64, false: 24}[p.Addr().Is6()]
		switch {
		case list == "":
			return nil
		case err != nil:
			return invalid("networking.podSubnet", text, "couldn't parse subnet")
		case p.Bits() > node:
			return invalid("networking.podSubnet", text, fmt.Sprintf("the size of pod subnet with mask %d is smaller than the size of node subnet with mask %d", p.Bits(), node))
		case node-p.Bits() > 16:
			return invalid("networking.podSubnet", text, fmt.Sprintf("pod subnet mask (%d) and node-mask (%d) difference is greater than 16", p.Bits(), node))
		}
	}
	return nil
}

func checkServices(list string) error {
	for text := range strings.SplitSeq(list, ",") {
		p, err := netip.ParsePrefix(text)
		host := p.Addr().BitLen() - p.Bits()
		switch {
		case list == "":
			return nil
		case err != nil:
			return invalid("networking.serviceSubnet", text, "couldn't parse subnet")
		case host < 4:
			return invalid("networking.serviceSubnet", text, fmt.Sprintf("subnet with %d address(es) is too small, the minimum is 10", 1<<host))
		case host > 20:
			return invalid("networking.serviceSubnet", text, fmt.Sprintf("specified service subnet is too large; for %d-bit addresses, the mask must be >= %d", p.Addr().BitLen(), p.Addr().BitLen()-20))
		}
	}
	return nil
}

func (j *Join) check() error {
	errs := []error{j.newer.check(j.APIVersion), j.NodeRegistration.check(j.APIVersion)}
	b := j.Discovery.BootstrapToken
	switch {
	case b == nil && j.Discovery.File == nil:
		errs = append(errs, invalid("discovery", "", "bootstrapToken or file must be set"))
	case b == nil:
	default:
		if !tokens.MatchString(b.Token) {
			errs = append(errs, invalid("discovery.bootstrapToken.token", b.Token, "the bootstrap token is invalid"))
		}
		if len(b.CACertHashes) == 0 && !b.UnsafeSkipCAVerification {
			errs = append(errs, invalid("discovery.bootstrapToken.caCertHashes", "", "using token-based discovery without caCertHashes can be unsafe"))
		}
		if _, _, err := net.SplitHostPort(b.APIServerEndpoint); err != nil {
			errs = append(errs, invalid("discovery.bootstrapToken.apiServerEndpoint", b.APIServerEndpoint, err.Error()))
		}
	}
	if j.ControlPlane != nil {
		errs = append(errs, j.ControlPlane.LocalAPIEndpoint.check(), checkKey(j.ControlPlane.CertificateKey))
	}
	return errors.Join(errs...)
}

func checkKey(text string) error {
	key, err := hex.DecodeString(text)
	switch {
	case text == "":
		return nil
	case err != nil:
		return invalid("controlPlane.certificateKey", text, fmt.Sprintf("certificate key decoding error: %v", err))
	case len(key) != 32:
		return invalid("controlPlane.certificateKey", text, fmt.Sprintf("invalid certificate key size %d, the key must be an AES key of size 32", len(key)))
	}
	return nil
}

// TakesAll reports whether a registration ignores all preflight checks, which init and join refuse, and config validate does not.
func (r Registration) TakesAll() bool {
	return slices.ContainsFunc(r.Ignore, func(name string) bool { return strings.EqualFold(name, "all") })
}
