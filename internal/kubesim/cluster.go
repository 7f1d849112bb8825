package kubesim

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/netip"
	"strings"
	"time"
)

// cluster is a Kubernetes cluster: what is in its etcd.
type cluster struct {
	ID       string                     `json:"id"`
	Version  string                     `json:"version"`
	Endpoint string                     `json:"endpoint"` // host:port that members were told
	CA       string                     `json:"ca"`       // PEM
	PodCIDR  string                     `json:"podCIDR"`
	Nodes    map[string]*node           `json:"nodes"`
	Members  []string                   `json:"members"` // machines with an etcd member
	Tokens   map[string]time.Time       `json:"tokens"`  // expiry
	CertKeys map[string]time.Time       `json:"certKeys"`
	Objects  map[string]json.RawMessage `json:"objects"` // "kind/namespace/name"
}

type node struct {
	Name          string     `json:"name"`
	Machine       string     `json:"machine"`
	Address       netip.Addr `json:"address"`
	ControlPlane  bool       `json:"controlPlane,omitempty"`
	Unschedulable bool       `json:"unschedulable,omitempty"`
	Drained       bool       `json:"drained,omitempty"`
}

// quorate reports whether more than half of the etcd members are alive: without, the API answers nothing.
func (w *World) quorate(c *cluster) bool {
	alive := 0
	for _, id := range c.Members {
		if m := w.state.Machines[id]; m != nil && m.runs("kubelet") && m.Cluster == c.ID {
			alive++
		}
	}
	return alive*2 > len(c.Members)
}

func (w *World) ready(c *cluster, n *node) bool {
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
	refused := fmt.Errorf("dial tcp %s: connect: connection refused", endpoint)
	m := w.byAddress(addr)
	switch {
	case m == nil:
		return nil, fmt.Errorf("dial tcp %s: i/o timeout", endpoint)
	case port == "16443" && !m.runs("haproxy"), port != "16443" && port != "6443":
		return nil, refused
	}
	if port == "16443" {
		m = w.balanced(m)
	}
	if m == nil || !w.serves(m) {
		return nil, refused
	}
	c := w.state.Clusters[m.Cluster]
	if !w.quorate(c) {
		return nil, errors.New("etcdserver: request timed out")
	}
	return c, nil
}

// newCA makes a certificate authority: its certificate is real, since callers compute the hash of its key.
func newCA(now time.Time) (string, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "kubernetes"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(10, 0, 0), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return "", err
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), nil
}

// caHash is the pin that kubeadm join takes.
func (c *cluster) caHash() string {
	block, _ := pem.Decode([]byte(c.CA))
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(cert.RawSubjectPublicKeyInfo)
	return "sha256:" + hex.EncodeToString(sum[:])
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
