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

	"k8s.io/apimachinery/pkg/util/validation"
)

// faults are the fields that kubeadm refuses.
type faults []error

func (f *faults) unless(sound bool, path string, value any) {
	if !sound {
		*f = append(*f, fmt.Errorf("%s: Invalid value: %v", path, value))
	}
}

func (f *File) check() error {
	var out faults
	if i := f.Init; i != nil {
		out.checkVersion(i.APIVersion, i.newer)
		out.checkRegistration(i.APIVersion, i.NodeRegistration)
		out.checkEndpoint(i.LocalAPIEndpoint)
		for _, t := range i.BootstrapTokens {
			out.unless(t.Token == "" || tokens.MatchString(t.Token), "bootstrapTokens.token", t.Token)
			for _, usage := range t.Usages {
				out.unless(usage == "signing" || usage == "authentication", "bootstrapTokens.usages", usage)
			}
			for _, group := range t.Groups {
				out.unless(groups.MatchString(group), "bootstrapTokens.groups", group)
			}
		}
	}
	if f.Cluster != nil {
		out.checkCluster(f.Cluster)
	}
	if f.Join != nil {
		out.checkJoin(f.Join)
	}
	return errors.Join(out...)
}

var (
	tokens = regexp.MustCompile(`\A([a-z0-9]{6})\.([a-z0-9]{16})\z`)
	groups = regexp.MustCompile(`\Asystem:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]\z`)
)

func isSubdomain(name string) bool { return len(validation.IsDNS1123Subdomain(name)) == 0 }

func isAddress(text string) bool {
	_, err := netip.ParseAddr(text)
	return err == nil
}

// checkVersion refuses fields of v1beta4 in v1beta3.
func (f *faults) checkVersion(version string, n newer) {
	f.unless(version != v1beta3 || n.DryRun == nil && n.Timeouts == nil, "dryRun, timeouts", "unknown field")
}

func (f *faults) checkRegistration(version string, r Registration) {
	name := strings.ToLower(strings.TrimSpace(r.Name))
	f.unless(name == "" || isSubdomain(name), "nodeRegistration.name", name)
	args := strings.TrimSpace(string(r.KubeletExtraArgs))
	f.unless(args == "" || args == "null" || (version == v1beta4) == (args[0] == '['), "nodeRegistration.kubeletExtraArgs", args)
}

func (f *faults) checkEndpoint(e Endpoint) {
	f.unless(e.BindPort >= 0 && e.BindPort <= 65535, "localAPIEndpoint.bindPort", e.BindPort)
	f.unless(e.AdvertiseAddress == "" || isAddress(e.AdvertiseAddress), "localAPIEndpoint.advertiseAddress", e.AdvertiseAddress)
}

func (f *faults) checkCluster(c *Cluster) {
	f.unless(c.APIVersion != v1beta3 || c.Encryption == "" && c.Validity == nil && c.CAValidity == nil, "encryptionAlgorithm, certificateValidityPeriod", "unknown field")
	for _, name := range c.APIServer.CertSANs {
		f.unless(isAddress(name) || isSubdomain(strings.TrimPrefix(strings.ToLower(name), "*.")), "apiServer.certSANs", name)
	}
	host, port, err := net.SplitHostPort(c.ControlPlaneEndpoint)
	if err != nil { // the port may be left out
		host, port = c.ControlPlaneEndpoint, "6443"
	}
	n, err := strconv.Atoi(port)
	f.unless(host == "" || (isAddress(host) || isSubdomain(host)) && err == nil && n > 0 && n < 65536, "controlPlaneEndpoint", c.ControlPlaneEndpoint)
	f.checkNetworks("networking.podSubnet", c.Networking.PodSubnet, func(p netip.Prefix) bool {
		node := map[bool]int{true: 64, false: 24}[p.Addr().Is6()] // the network of each node has this length
		return p.Bits() <= node && node-p.Bits() <= 16
	})
	f.checkNetworks("networking.serviceSubnet", c.Networking.ServiceSubnet, func(p netip.Prefix) bool {
		host := p.Addr().BitLen() - p.Bits()
		return host >= 4 && host <= 20
	})
}

func (f *faults) checkNetworks(path, list string, sound func(netip.Prefix) bool) {
	for text := range strings.SplitSeq(list, ",") {
		p, err := netip.ParsePrefix(text)
		f.unless(list == "" || err == nil && sound(p), path, text+": not a network, or one of the wrong size")
	}
}

func (f *faults) checkJoin(j *Join) {
	f.checkVersion(j.APIVersion, j.newer)
	f.checkRegistration(j.APIVersion, j.NodeRegistration)
	b := j.Discovery.BootstrapToken
	f.unless(b != nil || j.Discovery.File != nil, "discovery", "bootstrapToken or file must be set")
	if b != nil {
		f.unless(tokens.MatchString(b.Token), "discovery.bootstrapToken.token", b.Token)
		f.unless(len(b.CACertHashes) > 0 || b.UnsafeSkipCAVerification, "discovery.bootstrapToken.caCertHashes", "must be set")
		_, _, err := net.SplitHostPort(b.APIServerEndpoint)
		f.unless(err == nil, "discovery.bootstrapToken.apiServerEndpoint", b.APIServerEndpoint)
	}
	if p := j.ControlPlane; p != nil {
		f.checkEndpoint(p.LocalAPIEndpoint)
		key, err := hex.DecodeString(p.CertificateKey)
		f.unless(p.CertificateKey == "" || err == nil && len(key) == 32, "controlPlane.certificateKey", "not a key of 32 bytes")
	}
}

// TakesAll reports whether a registration ignores all preflight checks, which init and join refuse, and config validate does not.
func (r Registration) TakesAll() bool {
	return slices.ContainsFunc(r.Ignore, func(name string) bool { return strings.EqualFold(name, "all") })
}
