package kubeadmconf

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// File is the documents of a configuration file. A document that the file lacks is nil.
type File struct {
	Init    *Init
	Cluster *Cluster
	Join    *Join
}

type head struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
}

// Init is an InitConfiguration.
type Init struct {
	head
	newer
	BootstrapTokens  []Token      `json:"bootstrapTokens"`
	NodeRegistration Registration `json:"nodeRegistration"`
	LocalAPIEndpoint Endpoint     `json:"localAPIEndpoint"`
	CertificateKey   string       `json:"certificateKey"`
	SkipPhases       []string     `json:"skipPhases"`
	Patches          Patches      `json:"patches"`
}

// Patches has the folder with patches.
type Patches struct {
	Directory string `json:"directory"`
}

// Cluster is a ClusterConfiguration.
type Cluster struct {
	head
	Settings map[string]any `json:"-"` // all of them

	KubernetesVersion    string `json:"kubernetesVersion"`
	ControlPlaneEndpoint string `json:"controlPlaneEndpoint"`
	Networking           struct {
		PodSubnet     string `json:"podSubnet"`
		ServiceSubnet string `json:"serviceSubnet"`
		DNSDomain     string `json:"dnsDomain"`
	} `json:"networking"`
	APIServer struct {
		CertSANs   []string `json:"certSANs"`
		Timeout    any      `json:"timeoutForControlPlane"`
		ExtraArgs  any      `json:"extraArgs"`
		ExtraEnvs  any      `json:"extraEnvs"`
		ExtraMount any      `json:"extraVolumes"`
	} `json:"apiServer"`
	Etcd              any             `json:"etcd"`
	ControllerManager any             `json:"controllerManager"`
	Scheduler         any             `json:"scheduler"`
	DNS               any             `json:"dns"`
	Proxy             any             `json:"proxy"`
	CertificatesDir   string          `json:"certificatesDir"`
	ImageRepository   string          `json:"imageRepository"`
	FeatureGates      map[string]bool `json:"featureGates"`
	ClusterName       string          `json:"clusterName"`
	Encryption        string          `json:"encryptionAlgorithm"`
	Validity          *duration       `json:"certificateValidityPeriod"`
	CAValidity        *duration       `json:"caCertificateValidityPeriod"`
}

// Join is a JoinConfiguration.
type Join struct {
	head
	newer
	NodeRegistration Registration `json:"nodeRegistration"`
	CACertPath       string       `json:"caCertPath"`
	Discovery        struct {
		BootstrapToken *struct {
			Token                    string   `json:"token"`
			APIServerEndpoint        string   `json:"apiServerEndpoint"`
			CACertHashes             []string `json:"caCertHashes"`
			UnsafeSkipCAVerification bool     `json:"unsafeSkipCAVerification"`
		} `json:"bootstrapToken"`
		File              any    `json:"file"`
		TLSBootstrapToken string `json:"tlsBootstrapToken"`
	} `json:"discovery"`
	ControlPlane *struct {
		LocalAPIEndpoint Endpoint `json:"localAPIEndpoint"`
		CertificateKey   string   `json:"certificateKey"`
	} `json:"controlPlane"`
	SkipPhases []string `json:"skipPhases"`
	Patches    Patches  `json:"patches"`
}

// newer are fields of v1beta4 only.
type newer struct {
	DryRun   *bool `json:"dryRun"`
	Timeouts *struct {
		ControlPlane     *duration `json:"controlPlaneComponentHealthCheck"`
		Kubelet          *duration `json:"kubeletHealthCheck"`
		API              *duration `json:"kubernetesAPICall"`
		EtcdAPICall      *duration `json:"etcdAPICall"`
		TLSBootstrap     *duration `json:"tlsBootstrap"`
		Discovery        *duration `json:"discovery"`
		UpgradeManifests *duration `json:"upgradeManifests"`
	} `json:"timeouts"`
}

// Token is a bootstrap token.
type Token struct {
	Token       string   `json:"token"`
	TTL         duration `json:"ttl"`
	Expires     string   `json:"expires"`
	Description string   `json:"description"`
	Usages      []string `json:"usages"`
	Groups      []string `json:"groups"`
}

// Endpoint is a LocalAPIEndpoint.
type Endpoint struct {
	AdvertiseAddress string `json:"advertiseAddress"`
	BindPort         int    `json:"bindPort"`
}

// Registration has the options with which a node registers.
type Registration struct {
	Name             string          `json:"name"`
	CRISocket        string          `json:"criSocket"`
	Taints           any             `json:"taints"`
	KubeletExtraArgs json.RawMessage `json:"kubeletExtraArgs"` // a list since v1beta4, before an object
	Ignore           []string        `json:"ignorePreflightErrors"`
	ImagePullPolicy  string          `json:"imagePullPolicy"`
	ImagePullSerial  *bool           `json:"imagePullSerial"`
}

type duration struct{ time.Duration }

// UnmarshalJSON implements json.Unmarshaler.
func (d *duration) UnmarshalJSON(data []byte) (err error) {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	d.Duration, err = time.ParseDuration(text)
	return err
}

const (
	v1beta4 = "kubeadm.k8s.io/v1beta4"
	v1beta3 = "kubeadm.k8s.io/v1beta3"
)

// Read reads and checks a file (kubeadm, SplitConfigDocuments).
func Read(data []byte) (*File, error) {
	f := &File{}
	var seen []string
	for doc := range strings.SplitSeq("\n"+string(data), "\n---\n") {
		if strings.TrimSpace(doc) == "" {
			continue
		}
		var h head
		if err := decode([]byte(doc), &h, false); err != nil {
			return nil, fmt.Errorf("could not interpret GroupVersionKind; unmarshal error: %w", err)
		}
		if h.Kind == "" || !strings.Contains(h.APIVersion, "/") {
			return nil, fmt.Errorf("invalid configuration for GroupVersionKind %s, Kind=%s: kind and apiVersion is mandatory information that must be specified", h.APIVersion, h.Kind)
		}
		if slices.Contains(seen, h.Kind) {
			return nil, fmt.Errorf("invalid configuration: kind %q is specified twice in YAML file", h.Kind)
		}
		seen = append(seen, h.Kind)
		if err := f.read(h, []byte(doc)); err != nil {
			return nil, err
		}
	}
	return f, errors.Join(f.check())
}

func (f *File) read(h head, doc []byte) error {
	var into any
	switch h {
	case head{v1beta4, "InitConfiguration"}, head{v1beta3, "InitConfiguration"}:
		f.Init = &Init{}
		into = f.Init
	case head{v1beta4, "ClusterConfiguration"}, head{v1beta3, "ClusterConfiguration"}:
		f.Cluster = &Cluster{}
		into = f.Cluster
	case head{v1beta4, "JoinConfiguration"}, head{v1beta3, "JoinConfiguration"}:
		f.Join = &Join{}
		into = f.Join
	case head{"kubelet.config.k8s.io/v1beta1", "KubeletConfiguration"}, head{"kubeproxy.config.k8s.io/v1alpha1", "KubeProxyConfiguration"}:
		into = &map[string]any{}
	default:
		if strings.HasPrefix(h.APIVersion, "kubeadm.k8s.io/v1beta") && h.APIVersion < v1beta3 {
			return fmt.Errorf("your configuration file uses an old API spec: %q (kind: %q)", h.APIVersion, h.Kind)
		}
		return fmt.Errorf("unknown configuration APIs: %s, Kind=%s", h.APIVersion, h.Kind)
	}
	if f.Cluster != nil && into == any(f.Cluster) {
		if err := decode(doc, &f.Cluster.Settings, false); err != nil {
			return err
		}
	}
	if err := decode(doc, into, true); err != nil {
		return fmt.Errorf("error unmarshaling configuration %s, Kind=%s: strict decoding error: %w", h.APIVersion, h.Kind, err)
	}
	return nil
}

// decode reads YAML as JSON, as kubeadm does.
func decode(doc []byte, into any, strict bool) error {
	var tree any
	if err := yaml.Unmarshal(doc, &tree); err != nil {
		return err
	}
	text, err := json.Marshal(tree)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if strict {
		d.DisallowUnknownFields()
	}
	return d.Decode(into)
}
