package kubesim

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"
)

// cluster is a Kubernetes cluster: the content of its etcd.
type cluster struct {
	ID          string                     `json:"id"`
	Version     string                     `json:"version"`
	Endpoint    string                     `json:"endpoint"` // host:port for members
	CA          string                     `json:"ca"`       // PEM
	CAKey       string                     `json:"caKey"`    // PEM
	CertSANs    []string                   `json:"certSANs,omitempty"`
	PodCIDR     string                     `json:"podCIDR"`
	Nodes       map[string]*node           `json:"nodes"`
	Etcd        etcdCluster                `json:"etcd"`
	Tokens      map[string]time.Time       `json:"tokens"` // expiry
	CertKeys    map[string]time.Time       `json:"certKeys"`
	CertsTokens []string                   `json:"certsTokens,omitempty"` // those that upload-certs has made
	Objects     map[string]json.RawMessage `json:"objects"`               // "kind/namespace/name"
	Issued      map[string]issued          `json:"issued"`                // tokens of service accounts, by TokenRequest
	Revision    int                        `json:"revision"`              // of etcd
	Addresses   int                        `json:"addresses,omitempty"`   // how many Services and ports of theirs have been given
	Standalone  bool                       `json:"standalone,omitempty"`  // it is on no machines

	history history
	idleAt  int                  // the revision at which the controllers had no work
	due     time.Time            // when they have work again, if nothing changes
	delay   time.Duration        // of pods
	since   map[string]time.Time // when pods began to start or to end
}

type node struct {
	Name          string     `json:"name"`
	Machine       string     `json:"machine"`
	Address       netip.Addr `json:"address"`
	ControlPlane  bool       `json:"controlPlane,omitempty"`
	Unschedulable bool       `json:"unschedulable,omitempty"`

	// What clients have set, beside what kubeadm and the kubelet do.
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Taints      []any             `json:"taints,omitempty"`
	Down        bool              `json:"down,omitempty"` // of nodes without machines
}

func (w *World) ready(c *cluster, n *node) bool {
	if c.Standalone {
		return !n.Down
	}
	m := w.state.Machines[n.Machine]
	return m != nil && m.runs("kubelet") && m.runs("containerd") && m.Cluster == c.ID && m.Node == n.Name && c.hasNetwork()
}

// hasNetwork reports whether a network add-on has been applied: kubelets are NotReady without.
func (c *cluster) hasNetwork() bool {
	for key := range c.Objects {
		if strings.HasPrefix(key, "DaemonSet/") && !strings.HasSuffix(key, "/kube-proxy") {
			return true
		}
	}
	return false
}

// reach finds the cluster whose API answers at host:port.
func (w *World) reach(endpoint string) (*cluster, error) {
	host, port, err := net.SplitHostPort(endpoint)
	if err != nil {
		return nil, err
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return nil, fmt.Errorf("dial tcp: lookup %s: no such host", host)
	}
	m := w.byAddress(addr)
	if m == nil {
		return nil, fmt.Errorf("dial tcp %s: i/o timeout", endpoint)
	}
	if m = w.apiAt(m, port); m == nil {
		return nil, fmt.Errorf("dial tcp %s: connect: connection refused", endpoint)
	}
	c := w.state.Clusters[m.Cluster]
	if !w.quorate(c) {
		return nil, errors.New("etcdserver: request timed out")
	}
	return c, nil
}

func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return hex.EncodeToString(b)
}

func newToken() string { return randomHex(3) + "." + randomHex(8) }

func fields(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(" \t\n{}\"/", r) })
}
