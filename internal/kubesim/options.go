package kubesim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/vnfkit/vnfkit/internal/kubesim/kubeadmconf"
)

// initOptions are what "kubeadm init" was told, by flags or by a configuration file.
type initOptions struct {
	name, endpoint, advertise, podCIDR, serviceCIDR, version string
	certSANs                                                 []string

	ignore []string // preflight checks

	token string // init leaves one that lives a day unless told otherwise
	ttl   time.Duration
}

func (c *call) initOptions(args []string) (*initOptions, error) {
	o := &initOptions{serviceCIDR: "10.96.0.0/12", token: newToken(), ttl: 24 * time.Hour}
	var config string
	rest, err := c.flags(args, func(f *pflag.FlagSet) {
		f.StringVar(&config, "config", "", "")
		f.StringVar(&o.name, "node-name", "", "")
		f.StringVar(&o.endpoint, "control-plane-endpoint", "", "")
		f.StringVar(&o.advertise, "apiserver-advertise-address", "", "")
		f.StringVar(&o.podCIDR, "pod-network-cidr", "", "")
		f.StringVar(&o.serviceCIDR, "service-cidr", o.serviceCIDR, "")
		f.Bool("upload-certs", false, "")
		f.Bool("skip-token-print", false, "")
	})
	if err != nil || len(rest) > 0 {
		return nil, errors.Join(err, unexpected(rest))
	}
	if config == "" {
		return o, nil
	}
	f, err := c.readConfig(config)
	if err != nil {
		return nil, err
	}
	if i := f.Init; i != nil {
		for _, t := range i.BootstrapTokens {
			o.token, o.ttl = t.Token, cmp.Or(t.TTL.Duration, o.ttl)
		}
		o.name, o.advertise, o.ignore = i.NodeRegistration.Name, i.LocalAPIEndpoint.AdvertiseAddress, i.NodeRegistration.Ignore
	}
	if c := f.Cluster; c != nil {
		o.version, o.endpoint, o.certSANs = c.KubernetesVersion, c.ControlPlaneEndpoint, c.APIServer.CertSANs
		o.podCIDR, o.serviceCIDR = c.Networking.PodSubnet, cmp.Or(c.Networking.ServiceSubnet, o.serviceCIDR)
	}
	return o, nil
}

func unexpected(rest []string) error {
	if len(rest) == 0 {
		return nil
	}
	return fmt.Errorf("unknown command %q", rest)
}

// check finds what kubeadm refuses.
func (o *initOptions) check(m *machine) error {
	pods, err1 := netip.ParsePrefix(o.podCIDR)
	services, err2 := netip.ParsePrefix(o.serviceCIDR)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	if pods.Masked() != pods || services.Masked() != services || pods.Overlaps(services) {
		return fmt.Errorf("podSubnet %s and serviceSubnet %s: host bits set, or they overlap", pods, services)
	}
	if o.advertise != m.Address.String() {
		return fmt.Errorf("unable to select an IP: %q is no address of this machine", o.advertise)
	}
	if o.version != "" && o.version != "v"+DefaultVersion {
		return fmt.Errorf("this version of kubeadm only supports deploying clusters of its own version, not %s", o.version)
	}
	if !nodeNames.MatchString(o.name) || len(o.name) > 63 {
		return fmt.Errorf("nodeRegistration.name: %q is not a lowercase RFC 1123 subdomain", o.name)
	}
	if o.endpoint == "" {
		o.endpoint = o.advertise + ":6443"
	}
	_, err := splitEndpoint(o.endpoint)
	return err
}

// joinOptions are what "kubeadm join" was told.
type joinOptions struct {
	endpoint, token, hash, certKey, name, advertise string
	controlPlane                                    bool
	ignore                                          []string // preflight checks
}

func (c *call) joinOptions(args []string) (*joinOptions, error) {
	o := &joinOptions{}
	var config string
	rest, err := c.flags(args, func(f *pflag.FlagSet) {
		f.StringVar(&config, "config", "", "")
		f.StringVar(&o.token, "token", "", "")
		f.StringVar(&o.hash, "discovery-token-ca-cert-hash", "", "")
		f.StringVar(&o.certKey, "certificate-key", "", "")
		f.StringVar(&o.name, "node-name", "", "")
		f.StringVar(&o.advertise, "apiserver-advertise-address", "", "")
		f.BoolVar(&o.controlPlane, "control-plane", false, "")
	})
	switch {
	case err != nil:
		return nil, err
	case config != "":
		f, err := c.readConfig(config)
		if err != nil {
			return nil, err
		}
		o.from(f.Join)
	case len(rest) == 1:
		o.endpoint = rest[0]
	default:
		return nil, errors.New("error: exactly one API server endpoint is needed")
	}
	if !nodeNames.MatchString(o.name) || len(o.name) > 63 {
		return nil, fmt.Errorf("nodeRegistration.name: %q is not a lowercase RFC 1123 subdomain", o.name)
	}
	return o, nil
}

// from takes the options of a configuration file.
func (o *joinOptions) from(j *kubeadmconf.Join) {
	if j == nil {
		return
	}
	if b := j.Discovery.BootstrapToken; b != nil {
		o.endpoint, o.token, o.hash = b.APIServerEndpoint, b.Token, strings.Join(b.CACertHashes, ",")
	}
	o.name, o.ignore = j.NodeRegistration.Name, j.NodeRegistration.Ignore
	if p := j.ControlPlane; p != nil {
		o.controlPlane, o.certKey, o.advertise = true, p.CertificateKey, p.LocalAPIEndpoint.AdvertiseAddress
	}
}

// readConfig reads a configuration file for init, join or a token.
func (c *call) readConfig(name string) (*kubeadmconf.File, error) {
	data, err := c.read(name)
	if err != nil {
		return nil, err
	}
	f, err := kubeadmconf.Read(data)
	if err != nil {
		return nil, fmt.Errorf("error: %w", err)
	}
	if f.Init != nil && f.Init.NodeRegistration.TakesAll() || f.Join != nil && f.Join.NodeRegistration.TakesAll() {
		return nil, errors.New("ignore-preflight-errors: Invalid value: \"all\": 'all' cannot be used in configuration file")
	}
	return f, nil
}

// validate is kubeadm config validate.
func (c *call) validate(_ context.Context, args []string) error {
	var config string
	rest, err := c.flags(args, func(f *pflag.FlagSet) { f.StringVar(&config, "config", "", "") })
	if err != nil || len(rest) > 0 {
		return errors.Join(err, unexpected(rest))
	}
	data, err := c.read(config)
	if err != nil {
		return err
	}
	if _, err := kubeadmconf.Read(data); err != nil {
		return fmt.Errorf("error: %w", err)
	}
	c.printf("ok\n")
	return nil
}
