package kubeadm

import (
	"bytes"
	"crypto/rand"
	"math/big"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/vnfkit/vnfkit/mgmt"
)

// The documents of kubeadm's configuration, as far as the driver sets them (kubeadm.k8s.io/v1beta4 and, where
// it differs, v1beta3).
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
		Taints                *[]taint `yaml:"taints,omitempty"` // nil: what kubeadm does by itself
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
		Networking           networking `yaml:"networking"`
		APIServer            apiServer  `yaml:"apiServer"`
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

// containerdSocket is named so that a machine with several container runtimes is no question to kubeadm.
const containerdSocket = "unix:///run/containerd/containerd.sock"

// kind is the head of a document, in the newest form that this version of kubeadm reads: v1beta4 since 1.31
// (kubernetes.io, "kubeadm Configuration (v1beta4)").
func (p *clusterParam) kind(name string) typeMeta {
	if p.version().minor < 31 {
		return typeMeta{"kubeadm.k8s.io/v1beta3", name}
	}
	return typeMeta{"kubeadm.k8s.io/v1beta4", name}
}

func (d *deployment) initConfiguration(n mgmt.Node) initConfiguration {
	return initConfiguration{
		typeMeta:         d.p.kind("InitConfiguration"),
		BootstrapTokens:  []bootstrapToken{bootstrapTokenFor(newToken(), initTokenTTL)},
		NodeRegistration: d.registration(n),
		LocalAPIEndpoint: localAPIEndpoint{n.IP.String()},
	}
}

func bootstrapTokenFor(token string, ttl time.Duration) bootstrapToken {
	return bootstrapToken{Token: token, TTL: ttl.String(), Usages: []string{"signing", "authentication"},
		Groups: []string{"system:bootstrappers:kubeadm:default-node-token"}}
}

// registration is what a node is told of itself. The address is given to the kubelet, which would take that of
// the default route, the wrong one on a machine in several networks.
func (d *deployment) registration(n mgmt.Node) nodeRegistration {
	marks := d.marks(n)
	args := []extraArg{{"node-ip", n.IP.String()}}
	if labels := marks.byKubelet(); labels != "" {
		args = append(args, extraArg{"node-labels", labels})
	}
	r := nodeRegistration{Name: n.HostName, CRISocket: containerdSocket, KubeletExtraArgs: args,
		IgnorePreflightErrors: d.p.IgnorePreflight, Taints: marks.taints()}
	if d.p.version().minor < 31 {
		byName := map[string]string{}
		for _, a := range args {
			byName[a.Name] = a.Value
		}
		r.KubeletExtraArgs = byName
	}
	return r
}

func (d *deployment) clusterConfiguration() clusterConfiguration {
	return clusterConfiguration{
		typeMeta:             d.p.kind("ClusterConfiguration"),
		KubernetesVersion:    "v" + d.p.KubernetesVersion,
		ControlPlaneEndpoint: d.endpoint(),
		Networking:           networking{d.p.Master.PodCIDR, d.p.Master.ClusterCIDR},
		APIServer:            apiServer{d.certSANs()},
	}
}

func (d *deployment) joinConfig(n mgmt.Node, b bootstrap, c credentials, controlPlane bool) joinConfiguration {
	j := joinConfiguration{
		typeMeta:         d.p.kind("JoinConfiguration"),
		Discovery:        discovery{tokenDiscovery{b.Endpoint, c.token, []string{b.CAHash}}},
		NodeRegistration: d.registration(n),
	}
	if controlPlane {
		j.ControlPlane = &joinControlPlane{localAPIEndpoint{n.IP.String()}, c.certificateKey}
	}
	return j
}

// marshal writes YAML documents.
func marshal(documents ...any) ([]byte, error) {
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	for _, doc := range documents {
		if err := e.Encode(doc); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), e.Close()
}

// newToken makes a bootstrap token: 6 and 16 characters of a-z and 0-9.
func newToken() string { return randomText(6) + "." + randomText(16) }

// randomText is n characters of a-z and 0-9.
func randomText(n int) string {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789"
	out := make([]byte, n)
	for i := range out {
		at, err := rand.Int(rand.Reader, big.NewInt(int64(len(letters))))
		if err != nil {
			panic(err) // crypto/rand does not fail
		}
		out[i] = letters[at.Int64()]
	}
	return string(out)
}
