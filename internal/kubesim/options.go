package kubesim

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"gopkg.in/yaml.v3"
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
	return o, c.readConfig(config, map[string]any{"InitConfiguration": &initFile{o}, "ClusterConfiguration": &clusterFile{o}})
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
		if err := c.readConfig(config, map[string]any{"JoinConfiguration": &joinFile{o}}); err != nil {
			return nil, err
		}
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

// readConfig decodes the documents of a kubeadm configuration file by kind. As kubeadm does, it passes over
// attributes and kinds that it does not know.
func (c *call) readConfig(name string, kinds map[string]any) error {
	data, err := c.read(name)
	if err != nil {
		return err
	}
	for doc := range strings.SplitSeq(string(data), "\n---\n") {
		var head struct {
			APIVersion string `yaml:"apiVersion"`
			Kind       string `yaml:"kind"`
		}
		if err := yaml.Unmarshal([]byte(doc), &head); err != nil {
			return err
		}
		into := kinds[head.Kind]
		if !slices.Contains(groupVersions[head.Kind], head.APIVersion) {
			return fmt.Errorf("no kind %q is registered for version %q", head.Kind, head.APIVersion)
		}
		if into == nil {
			continue
		}
		d := yaml.NewDecoder(bytes.NewReader([]byte(doc)))
		if err := d.Decode(into); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
	}
	return nil
}

// groupVersions are the forms of each document that kubeadm reads.
var groupVersions = map[string][]string{
	"InitConfiguration":      {"kubeadm.k8s.io/v1beta4", "kubeadm.k8s.io/v1beta3"},
	"ClusterConfiguration":   {"kubeadm.k8s.io/v1beta4", "kubeadm.k8s.io/v1beta3"},
	"JoinConfiguration":      {"kubeadm.k8s.io/v1beta4", "kubeadm.k8s.io/v1beta3"},
	"KubeletConfiguration":   {"kubelet.config.k8s.io/v1beta1"},
	"KubeProxyConfiguration": {"kubeproxy.config.k8s.io/v1alpha1"},
}

type (
	initFile    struct{ o *initOptions }
	clusterFile struct{ o *initOptions }
	joinFile    struct{ o *joinOptions }
)

type registration struct {
	Name             string   `yaml:"name"`
	KubeletExtraArgs any      `yaml:"kubeletExtraArgs"`
	Ignore           []string `yaml:"ignorePreflightErrors"`
}

// check refuses arguments in the form of another version, as kubeadm does: a list since v1beta4.
func (r registration) check(n *yaml.Node) error {
	var head struct {
		APIVersion string `yaml:"apiVersion"`
	}
	if err := n.Decode(&head); err != nil {
		return err
	}
	_, isList := r.KubeletExtraArgs.([]any)
	if wantsList := head.APIVersion == "kubeadm.k8s.io/v1beta4"; r.KubeletExtraArgs != nil && isList != wantsList {
		return fmt.Errorf("json: cannot unmarshal nodeRegistration.kubeletExtraArgs of %s", head.APIVersion)
	}
	if slices.Contains(r.Ignore, "all") {
		return errors.New("ignore-preflight-errors: Invalid value: \"all\": 'all' cannot be used in configuration file")
	}
	return nil
}

type localAPI struct {
	AdvertiseAddress string `yaml:"advertiseAddress"`
}

func (f *initFile) UnmarshalYAML(n *yaml.Node) error {
	var doc struct {
		BootstrapTokens []struct {
			Token string        `yaml:"token"`
			TTL   time.Duration `yaml:"ttl"`
		} `yaml:"bootstrapTokens"`
		NodeRegistration registration `yaml:"nodeRegistration"`
		LocalAPIEndpoint localAPI     `yaml:"localAPIEndpoint"`
	}
	err := n.Decode(&doc)
	for _, t := range doc.BootstrapTokens {
		f.o.token, f.o.ttl = t.Token, t.TTL
	}
	f.o.name, f.o.advertise, f.o.ignore = doc.NodeRegistration.Name, doc.LocalAPIEndpoint.AdvertiseAddress, doc.NodeRegistration.Ignore
	return errors.Join(err, doc.NodeRegistration.check(n))
}

func (f *clusterFile) UnmarshalYAML(n *yaml.Node) error {
	var doc struct {
		KubernetesVersion    string `yaml:"kubernetesVersion"`
		ControlPlaneEndpoint string `yaml:"controlPlaneEndpoint"`
		APIServer            struct {
			CertSANs []string `yaml:"certSANs"`
		} `yaml:"apiServer"`
		Networking struct {
			PodSubnet     string `yaml:"podSubnet"`
			ServiceSubnet string `yaml:"serviceSubnet"`
		} `yaml:"networking"`
	}
	err := n.Decode(&doc)
	f.o.version, f.o.endpoint = doc.KubernetesVersion, doc.ControlPlaneEndpoint
	f.o.certSANs = doc.APIServer.CertSANs
	f.o.podCIDR, f.o.serviceCIDR = doc.Networking.PodSubnet, doc.Networking.ServiceSubnet
	return err
}

func (f *joinFile) UnmarshalYAML(n *yaml.Node) error {
	var doc struct {
		NodeRegistration registration `yaml:"nodeRegistration"`
		Discovery        struct {
			BootstrapToken struct {
				APIServerEndpoint string   `yaml:"apiServerEndpoint"`
				Token             string   `yaml:"token"`
				CACertHashes      []string `yaml:"caCertHashes"`
			} `yaml:"bootstrapToken"`
		} `yaml:"discovery"`
		ControlPlane *struct {
			CertificateKey   string   `yaml:"certificateKey"`
			LocalAPIEndpoint localAPI `yaml:"localAPIEndpoint"`
		} `yaml:"controlPlane"`
	}
	err := n.Decode(&doc)
	o, b := f.o, doc.Discovery.BootstrapToken
	o.ignore = doc.NodeRegistration.Ignore
	o.name, o.endpoint, o.token, o.hash = doc.NodeRegistration.Name, b.APIServerEndpoint, b.Token, strings.Join(b.CACertHashes, ",")
	if doc.ControlPlane != nil {
		o.controlPlane, o.certKey, o.advertise = true, doc.ControlPlane.CertificateKey, doc.ControlPlane.LocalAPIEndpoint.AdvertiseAddress
	}
	return errors.Join(err, doc.NodeRegistration.check(n))
}
