package kubeadmconf

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/vnfkit/vnfkit/internal/kubesim/program"
)

// InitOptions are what "kubeadm init" was told, by flags or by a configuration file.
type InitOptions struct {
	Name, Endpoint, Advertise, PodCIDR, ServiceCIDR, Version string
	CertSANs                                                 []string
	Validity                                                 time.Duration // of certificates

	Ignore   []string       // preflight checks
	Patches  string         // folder
	Settings map[string]any // the ClusterConfiguration

	Token string // init leaves one that lives a day unless told otherwise
	TTL   time.Duration
}

// DefaultValidity is how long certificates are valid unless the configuration says otherwise.
const DefaultValidity = 365 * 24 * time.Hour

// ValidityOfCertificates returns how long certificates of the cluster are valid.
func (c *Cluster) ValidityOfCertificates() time.Duration {
	if c.Validity == nil {
		return DefaultValidity
	}
	return c.Validity.Duration
}

// ReadInit reads the arguments of "kubeadm init", with its configuration file.
func ReadInit(c *program.Call, args []string) (*InitOptions, error) {
	o := &InitOptions{ServiceCIDR: "10.96.0.0/12", Validity: DefaultValidity, Token: NewToken(), TTL: 24 * time.Hour}
	var config string
	rest, err := c.Flags(args, func(f *pflag.FlagSet) {
		f.StringVar(&config, "config", "", "")
		f.StringVar(&o.Name, "node-name", "", "")
		f.StringVar(&o.Endpoint, "control-plane-endpoint", "", "")
		f.StringVar(&o.Advertise, "apiserver-advertise-address", "", "")
		f.StringVar(&o.PodCIDR, "pod-network-cidr", "", "")
		f.StringVar(&o.ServiceCIDR, "service-cidr", o.ServiceCIDR, "")
		f.Bool("upload-certs", false, "")
		f.Bool("skip-token-print", false, "")
	})
	if err != nil || len(rest) > 0 {
		return nil, errors.Join(err, program.Unexpected(rest))
	}
	if config == "" {
		return o, nil
	}
	f, err := ReadFile(c, config)
	if err != nil {
		return nil, err
	}
	if i := f.Init; i != nil {
		for _, t := range i.BootstrapTokens {
			o.Token, o.TTL = t.Token, cmp.Or(t.TTL.Duration, o.TTL)
		}
		o.Patches = i.Patches.Directory
		o.Name, o.Advertise, o.Ignore = i.NodeRegistration.Name, i.LocalAPIEndpoint.AdvertiseAddress, i.NodeRegistration.Ignore
	}
	if c := f.Cluster; c != nil {
		o.Version, o.Endpoint, o.CertSANs = c.KubernetesVersion, c.ControlPlaneEndpoint, c.APIServer.CertSANs
		o.PodCIDR, o.ServiceCIDR = c.Networking.PodSubnet, cmp.Or(c.Networking.ServiceSubnet, o.ServiceCIDR)
		o.Validity, o.Settings = c.ValidityOfCertificates(), c.Settings
	}
	return o, nil
}

// Check finds what kubeadm of a version refuses on a machine with an address.
func (o *InitOptions) Check(machine netip.Addr, kubeadm string) error {
	pods, err1 := netip.ParsePrefix(o.PodCIDR)
	services, err2 := netip.ParsePrefix(o.ServiceCIDR)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	if pods.Masked() != pods || services.Masked() != services || pods.Overlaps(services) {
		return fmt.Errorf("podSubnet %s and serviceSubnet %s: host bits set, or they overlap", pods, services)
	}
	if o.Advertise != machine.String() {
		return fmt.Errorf("unable to select an IP: %q is no address of this machine", o.Advertise)
	}
	if o.Version != "" && o.Version != "v"+kubeadm {
		return fmt.Errorf("this version of kubeadm only supports deploying clusters of its own version, not %s", o.Version)
	}
	if !nodeNames.MatchString(o.Name) || len(o.Name) > 63 {
		return fmt.Errorf("nodeRegistration.name: %q is not a lowercase RFC 1123 subdomain", o.Name)
	}
	if o.Endpoint == "" {
		o.Endpoint = o.Advertise + ":6443"
	}
	_, err := splitEndpoint(o.Endpoint)
	return err
}

// JoinOptions are what "kubeadm join" was told.
type JoinOptions struct {
	Endpoint, Token, Hash, CertKey, Name, Advertise string
	ControlPlane                                    bool
	Ignore                                          []string // preflight checks
	Patches                                         string   // folder
}

// ReadJoin reads the arguments of "kubeadm join", with its configuration file.
func ReadJoin(c *program.Call, args []string) (*JoinOptions, error) {
	o := &JoinOptions{}
	var config string
	rest, err := c.Flags(args, func(f *pflag.FlagSet) {
		f.StringVar(&config, "config", "", "")
		f.StringVar(&o.Token, "token", "", "")
		f.StringVar(&o.Hash, "discovery-token-ca-cert-hash", "", "")
		f.StringVar(&o.CertKey, "certificate-key", "", "")
		f.StringVar(&o.Name, "node-name", "", "")
		f.StringVar(&o.Advertise, "apiserver-advertise-address", "", "")
		f.BoolVar(&o.ControlPlane, "control-plane", false, "")
	})
	switch {
	case err != nil:
		return nil, err
	case config != "":
		f, err := ReadFile(c, config)
		if err != nil {
			return nil, err
		}
		o.from(f.Join)
	case len(rest) == 1:
		o.Endpoint = rest[0]
	default:
		return nil, errors.New("error: exactly one API server endpoint is needed")
	}
	if !nodeNames.MatchString(o.Name) || len(o.Name) > 63 {
		return nil, fmt.Errorf("nodeRegistration.name: %q is not a lowercase RFC 1123 subdomain", o.Name)
	}
	return o, nil
}

// from takes the options of a configuration file.
func (o *JoinOptions) from(j *Join) {
	if j == nil {
		return
	}
	if b := j.Discovery.BootstrapToken; b != nil {
		o.Endpoint, o.Token, o.Hash = b.APIServerEndpoint, b.Token, strings.Join(b.CACertHashes, ",")
	}
	o.Name, o.Ignore, o.Patches = j.NodeRegistration.Name, j.NodeRegistration.Ignore, j.Patches.Directory
	if p := j.ControlPlane; p != nil {
		o.ControlPlane, o.CertKey, o.Advertise = true, p.CertificateKey, p.LocalAPIEndpoint.AdvertiseAddress
	}
}

// ReadFile reads a configuration file for init, join or a token.
func ReadFile(c *program.Call, name string) (*File, error) {
	data, err := c.Read(name)
	if err != nil {
		return nil, err
	}
	f, err := Read(data)
	if err != nil {
		return nil, fmt.Errorf("error: %w", err)
	}
	if f.Init != nil && f.Init.NodeRegistration.TakesAll() || f.Join != nil && f.Join.NodeRegistration.TakesAll() {
		return nil, errors.New("ignore-preflight-errors: Invalid value: \"all\": 'all' cannot be used in configuration file")
	}
	return f, nil
}

// Validate reads the file of "kubeadm config validate".
func Validate(c *program.Call, args []string) (*File, error) {
	var config string
	rest, err := c.Flags(args, func(f *pflag.FlagSet) { f.StringVar(&config, "config", "", "") })
	if err != nil || len(rest) > 0 {
		return nil, errors.Join(err, program.Unexpected(rest))
	}
	data, err := c.Read(config)
	if err != nil {
		return nil, err
	}
	f, err := Read(data)
	if err != nil {
		return nil, fmt.Errorf("error: %w", err)
	}
	return f, nil
}

// gates are the feature gates of kubeadm since 1.35, by the first minor version without them.
var gates = map[string]int{"ControlPlaneKubeletLocalMode": 36, "PublicKeysECDSA": 37, "NodeLocalCRISocket": 37, "RootlessControlPlane": 38}

// CheckFor fails for a configuration that kubeadm of a minor version refuses and that of another version does not.
func (f *File) CheckFor(minor int) error {
	if f.Cluster == nil {
		return nil
	}
	if minor > 36 && f.Cluster.APIVersion == v1beta3 {
		return fmt.Errorf("error: your configuration file uses an old API spec: %q (kind: \"ClusterConfiguration\")", f.Cluster.APIVersion)
	}
	for _, name := range slices.Sorted(maps.Keys(f.Cluster.FeatureGates)) {
		if minor >= gates[name] {
			return fmt.Errorf("error: featureGates: Invalid value: %s is not a valid feature name", name)
		}
	}
	return nil
}

var nodeNames = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`)

func splitEndpoint(endpoint string) (netip.Addr, error) {
	host, _, err := net.SplitHostPort(endpoint)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("invalid endpoint %q: %w", endpoint, err)
	}
	return netip.ParseAddr(host)
}

// NewToken makes a bootstrap token.
func NewToken() string {
	b := make([]byte, 11)
	_, _ = rand.Read(b)
	text := hex.EncodeToString(b)
	return text[:6] + "." + text[6:]
}
