package controlplane

import (
	"bytes"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/jointoken"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/kubeversion"
)

// The documents of kubeadm's configuration, with the fields that the driver sets (kubeadm.k8s.io/v1beta4 and, where it
// differs, v1beta3).
type (
	typeMeta struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string `yaml:"kind"`
	}
	initConfiguration struct {
		typeMeta         `yaml:",inline"`
		BootstrapTokens  []bootstrapToken `yaml:"bootstrapTokens"`
		NodeRegistration nodeRegistration `yaml:"nodeRegistration,omitempty"`
		LocalAPIEndpoint localAPIEndpoint `yaml:"localAPIEndpoint,omitempty"`
		Patches          *patchDirectory  `yaml:"patches,omitempty"`
	}
	patchDirectory struct {
		Directory string `yaml:"directory"`
	}
	bootstrapToken struct {
		Token  string   `yaml:"token"`
		TTL    string   `yaml:"ttl"`
		Usages []string `yaml:"usages"`
		Groups []string `yaml:"groups"`
	}
	nodeRegistration struct {
		Name                  string   `yaml:"name,omitempty"`
		CRISocket             string   `yaml:"criSocket,omitempty"`
		KubeletExtraArgs      any      `yaml:"kubeletExtraArgs,omitempty"`
		Taints                *[]Taint `yaml:"taints,omitempty"` // nil: kubeadm's default
		IgnorePreflightErrors []string `yaml:"ignorePreflightErrors,omitempty"`
	}
	extraArg struct {
		Name  string `yaml:"name"`
		Value string `yaml:"value"`
	}
	localAPIEndpoint struct {
		AdvertiseAddress string `yaml:"advertiseAddress"`
	}
	clusterConfiguration struct {
		typeMeta             `yaml:",inline"`
		KubernetesVersion    string     `yaml:"kubernetesVersion"`
		ControlPlaneEndpoint string     `yaml:"controlPlaneEndpoint"`
		ImageRepository      string     `yaml:"imageRepository,omitempty"`
		Networking           networking `yaml:"networking"`
		APIServer            apiServer  `yaml:"apiServer"`
		Validity             string     `yaml:"certificateValidityPeriod,omitempty"`
	}
	networking struct {
		PodSubnet     string `yaml:"podSubnet"`
		ServiceSubnet string `yaml:"serviceSubnet"`
	}
	apiServer struct {
		CertSANs []string `yaml:"certSANs"`
	}
	joinConfiguration struct {
		typeMeta         `yaml:",inline"`
		Discovery        discovery         `yaml:"discovery"`
		NodeRegistration nodeRegistration  `yaml:"nodeRegistration"`
		ControlPlane     *joinControlPlane `yaml:"controlPlane,omitempty"`
		Patches          *patchDirectory   `yaml:"patches,omitempty"`
	}
	discovery struct {
		BootstrapToken tokenDiscovery `yaml:"bootstrapToken"`
	}
	tokenDiscovery struct {
		APIServerEndpoint string   `yaml:"apiServerEndpoint"`
		Token             string   `yaml:"token"`
		CACertHashes      []string `yaml:"caCertHashes"`
	}
	joinControlPlane struct {
		LocalAPIEndpoint localAPIEndpoint `yaml:"localAPIEndpoint"`
		CertificateKey   string           `yaml:"certificateKey"`
	}
)

// containerdSocket is in the configuration because kubeadm fails on a machine with several container runtimes if none is
// named.
const containerdSocket = "unix:///run/containerd/containerd.sock"

// kind returns the head of a document in the newest API version that this version of kubeadm reads: v1beta4 since 1.31
// (kubernetes.io, "kubeadm Configuration (v1beta4)").
func (k Kubeadm) kind(name string) typeMeta {
	if kubeversion.Minor(k.Version) < 31 {
		return typeMeta{"kubeadm.k8s.io/v1beta3", name}
	}
	return typeMeta{"kubeadm.k8s.io/v1beta4", name}
}

func (k Kubeadm) initConfiguration(n mgmt.Node) initConfiguration {
	return initConfiguration{
		typeMeta:         k.kind("InitConfiguration"),
		BootstrapTokens:  []bootstrapToken{bootstrapTokenFor(jointoken.New(), initTokenTTL)},
		NodeRegistration: k.registration(n),
		LocalAPIEndpoint: localAPIEndpoint{n.IP.String()},
		Patches:          k.User.patches(),
	}
}

func bootstrapTokenFor(token string, ttl time.Duration) bootstrapToken {
	return bootstrapToken{Token: token, TTL: ttl.String(), Usages: []string{"signing", "authentication"},
		Groups: []string{"system:bootstrappers:kubeadm:default-node-token"}}
}

// registration returns the registration of a node. It sets the node's address, because the kubelet would choose the address
// of the default route, which is wrong on a machine in several networks.
func (k Kubeadm) registration(n mgmt.Node) nodeRegistration {
	given := k.Register(n)
	args := []extraArg{{"node-ip", n.IP.String()}}
	if given.Labels != "" {
		args = append(args, extraArg{"node-labels", given.Labels})
	}
	return nodeRegistration{Name: n.HostName, CRISocket: containerdSocket, KubeletExtraArgs: k.args(args),
		IgnorePreflightErrors: k.IgnorePreflight, Taints: given.Taints}
}

func (k Kubeadm) clusterConfiguration() clusterConfiguration {
	c := clusterConfiguration{
		typeMeta:             k.kind("ClusterConfiguration"),
		KubernetesVersion:    "v" + k.Version,
		ControlPlaneEndpoint: k.Endpoint,
		ImageRepository:      k.Repository,
		Networking:           networking{k.PodSubnet, k.ServiceSubnet},
		APIServer:            apiServer{k.SANs},
	}
	if k.Validity > 0 {
		c.Validity = k.Validity.String()
	}
	return c
}

func (k Kubeadm) joinConfig(n mgmt.Node, b Bootstrap, c Credentials, controlPlane bool) joinConfiguration {
	j := joinConfiguration{
		typeMeta:         k.kind("JoinConfiguration"),
		Discovery:        discovery{tokenDiscovery{b.Endpoint, c.Token, []string{b.CAHash}}},
		NodeRegistration: k.registration(n),
		Patches:          k.User.patches(),
	}
	if controlPlane {
		j.ControlPlane = &joinControlPlane{localAPIEndpoint{n.IP.String()}, c.CertificateKey}
	}
	return j
}

// Marshal returns the documents as YAML.
func Marshal(documents ...any) ([]byte, error) {
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	for _, doc := range documents {
		if err := e.Encode(doc); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), e.Close()
}
