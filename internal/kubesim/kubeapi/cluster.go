package kubeapi

import (
	"cmp"
	"encoding/json"
	"net/netip"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/vnfkit/vnfkit/internal/kubesim/pki"
)

// Cluster is what the etcd of a Kubernetes cluster contains, and what serves and controls it. It is saved as JSON. Its Host guards
// it: but for Serve, its methods are called under the lock of the Host.
type Cluster struct {
	ID        string                     `json:"id"`
	Version   string                     `json:"version"`
	Endpoint  string                     `json:"endpoint"`         // host:port for members
	CA        string                     `json:"ca"`               // PEM
	CAKey     string                     `json:"caKey"`            // PEM
	Signer    string                     `json:"signer,omitempty"` // public key of tokens of service accounts
	CertSANs  []string                   `json:"certSANs,omitempty"`
	PodCIDR   string                     `json:"podCIDR"`
	Images    string                     `json:"images,omitempty"` // registry of the images of Kubernetes
	Nodes     map[string]*Node           `json:"nodes"`
	Tokens    map[string]time.Time       `json:"tokens"`              // bootstrap tokens, which are Secrets: expiry
	Objects   map[string]json.RawMessage `json:"objects"`             // "kind/namespace/name"
	Issued    map[string]issued          `json:"issued"`              // tokens of service accounts, by TokenRequest
	Revision  int                        `json:"revision"`            // of etcd
	Addresses int                        `json:"addresses,omitempty"` // how many Services and ports of theirs have been given

	Deprecated []string `json:"deprecated,omitempty"` // lines of the metric of deprecated versions that were requested

	Host Host `json:"-"`

	history history
	idleAt  int                  // the revision at which the controllers had no work
	due     time.Time            // when they have work again, if nothing changes
	delay   time.Duration        // of pods
	since   map[string]time.Time // when pods began to start or to end
}

// Node is a node of a cluster.
type Node struct {
	Name          string     `json:"name"`
	Machine       string     `json:"machine"`
	Address       netip.Addr `json:"address"`
	ControlPlane  bool       `json:"controlPlane,omitempty"`
	Unschedulable bool       `json:"unschedulable,omitempty"`

	// What clients have set, beside what kubeadm and the kubelet do.
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Taints      []any             `json:"taints,omitempty"`
	Down        bool              `json:"down,omitempty"` // of nodes of a Standalone
}

// Version is the version of Kubernetes that is simulated.
const Version = "1.36.3"

// Options say what a new cluster is like.
type Options struct {
	Version  string // of Kubernetes, default Version
	Endpoint string // host:port for its clients
	PodCIDR  string
	Images   string   // registry of the images of Kubernetes
	CertSANs []string // names in the certificates of API servers, beside those that all have
}

// New returns a cluster without nodes. It has a CA, and the objects that every cluster begins with.
func New(o Options, now time.Time) (*Cluster, error) {
	ca, err := pki.NewCA("kubernetes", now)
	if err != nil {
		return nil, err
	}
	c := &Cluster{ID: uuid.NewString()[:8], CA: ca.Cert, CAKey: ca.Key, CertSANs: o.CertSANs, Version: cmp.Or(o.Version, Version), Endpoint: o.Endpoint, PodCIDR: o.PodCIDR, Images: o.Images,
		Nodes: map[string]*Node{}, Tokens: map[string]time.Time{}, Objects: map[string]jsonObject{}, Issued: map[string]issued{}}
	return c, c.addDefaults()
}

// Restore gives a cluster that was read from JSON its Host. A watch from before the cluster was saved ends: what changed then is not
// known.
func (c *Cluster) Restore(h Host) {
	c.Host, c.history.before = h, c.Revision
}

// Host has what a cluster does not know itself: its machines, its etcd and the time.
type Host interface {
	// Locked calls fn under the lock that guards the cluster. The methods below are called under it.
	Locked(fn func())
	// Changed is called after a change, without the lock.
	Changed()

	Now() time.Time // the clock of tokens and certificates
	Quorate() bool  // whether etcd answers

	// Kubelet reports whether the kubelet of a node runs, and whether the node is ready.
	Kubelet(n *Node) (runs, ready bool)
	// RunPod is called for a pod of a StatefulSet that runs. It runs on, also without its Pod, until EndPods is called
	// while the kubelet runs. uid returns the uid of the Pod of that namespace and name, "" without one.
	RunPod(n *Node, name, uid string)
	EndPods(uid func(name string) string)
}

func (c *Cluster) ready(n *Node) bool {
	_, ready := c.Host.Kubelet(n)
	return ready
}

// HasNetwork reports whether a network add-on has been applied: kubelets are NotReady without.
func (c *Cluster) HasNetwork() bool {
	for key := range c.Objects {
		if strings.HasPrefix(key, "DaemonSet/") && !strings.HasSuffix(key, "/kube-proxy") {
			return true
		}
	}
	return false
}
