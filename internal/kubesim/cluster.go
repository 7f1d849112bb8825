package kubesim

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path"
	"strings"
	"time"

	"github.com/spf13/afero"
	"gopkg.in/yaml.v3"

	"github.com/vnfkit/vnfkit/internal/kubesim/kubeadm"
	"github.com/vnfkit/vnfkit/internal/kubesim/kubeapi"
	"github.com/vnfkit/vnfkit/internal/kubesim/pki"
)

// cluster is a Kubernetes cluster on machines.
type cluster = kubeadm.Cluster

func (w *World) ready(c *cluster, n *kubeapi.Node) bool {
	m := w.state.Machines[n.Machine]
	return m != nil && w.reports(c, m) && m.runs("containerd") && m.Cluster == c.ID && m.Node == n.Name && c.HasNetwork()
}

// reports reports whether the kubelet of a machine of the cluster reaches an API server, which refuses a certificate that has ended. On a control-plane node it asks only the
// API server of its machine, which ends with the machine's member of etcd (kubeadm, ControlPlaneKubeletLocalMode, locked in 1.35).
func (w *World) reports(c *cluster, m *machine) bool {
	if !m.runs("kubelet") || !w.inTime(m, kubeletCert) {
		return false
	}
	return !m.controlPlane(c) || w.hasAPI(m)
}

// controlPlane reports whether the machine is, or was until it lost its member of etcd, a control-plane node of the cluster.
func (m *machine) controlPlane(c *cluster) bool {
	n := c.Nodes[m.Node]
	return n != nil && n.Machine == m.ID && n.ControlPlane
}

// site is what a cluster sees of its machines.
type site struct {
	w *World
	c *cluster
}

func (s site) Locked(fn func()) { s.w.locked(fn) }
func (s site) Changed()         { s.w.changed() }
func (s site) Now() time.Time   { return s.w.nowFunc() }
func (s site) Quorate() bool    { return s.w.quorate(s.c) }

func (s site) Kubelet(n *kubeapi.Node) (runs, ready bool) {
	m := s.w.state.Machines[n.Machine]
	return m != nil && s.w.reports(s.c, m), s.w.ready(s.c, n)
}

// serverCertificate is the certificate of the API server on a machine. The server reads it when it starts: a change of its manifest
// starts it again. A node that joins has an API server before it has a manifest.
func (w *World) serverCertificate(c *cluster, m *machine) (tls.Certificate, error) {
	files := w.files[m.ID]()
	manifest, _ := afero.ReadFile(files, manifests+"kube-apiserver.yaml")
	key := m.ID + " " + c.ID + " " + m.Node + " " + string(manifest)
	cert, made := w.certificates[key]
	if made {
		return cert, nil
	}
	crt, err1 := afero.ReadFile(files, "/etc/kubernetes/pki/apiserver.crt")
	secret, err2 := afero.ReadFile(files, "/etc/kubernetes/pki/apiserver.key")
	pair := pki.Pair{Cert: string(crt), Key: string(secret)}
	if len(manifest) == 0 || errors.Join(err1, err2) != nil {
		var err error
		if pair, err = c.ServerCertificate(m.Node, m.Address, w.nowFunc(), time.Time{}); err != nil {
			return tls.Certificate{}, err
		}
	}
	cert, err := tls.X509KeyPair([]byte(pair.Cert), []byte(pair.Key))
	if err == nil {
		w.certificates[key] = cert
	}
	return cert, err
}

// manifests is where the kubelet looks for static pods.
const manifests = "/etc/kubernetes/manifests/"

// MirrorPod returns the object that shows a static pod of a node, nil if the node has no such pod. After a change of the kubelet's minor
// version it shows the pod before once.
func (s site) MirrorPod(name string) kubeapi.Object {
	for _, m := range s.w.state.Machines {
		component, found := strings.CutSuffix(name, "-"+m.Node)
		if !found || m.Cluster != s.c.ID || m.Node == "" || !s.w.reports(s.c, m) {
			continue
		}
		shown := kubeadm.Minor(cmp.Or(m.KubeletWas, m.Kubelet))
		m.KubeletWas = ""
		return s.staticPod(m, component, shown)
	}
	return nil
}

// StaticPods returns the static pods that the kubelet of a node wants.
func (s site) StaticPods(node string) (pods []kubeapi.Object) {
	for _, m := range s.w.state.Machines {
		if m.Node != node || m.Cluster != s.c.ID || !s.w.reports(s.c, m) {
			continue
		}
		names, _ := afero.Glob(s.w.files[m.ID](), manifests+"*.yaml")
		for _, name := range names {
			if pod := s.staticPod(m, strings.TrimSuffix(path.Base(name), ".yaml"), kubeadm.Minor(m.Kubelet)); pod != nil {
				pods = append(pods, pod)
			}
		}
	}
	return pods
}

func (s site) staticPod(m *machine, component string, kubelet int) kubeapi.Object {
	text, err := afero.ReadFile(s.w.files[m.ID](), manifests+component+".yaml")
	var pod kubeapi.Object
	if err != nil || yaml.Unmarshal(text, &pod) != nil {
		return nil
	}
	return kubeapi.Mirror(pod, component+"-"+m.Node, kubelet)
}

// KubeletVersion returns the version of the kubelet that runs on a node.
func (s site) KubeletVersion(n *kubeapi.Node) string { return s.w.kubeletVersion(n) }

func (w *World) kubeletVersion(n *kubeapi.Node) string {
	if m := w.state.Machines[n.Machine]; m != nil {
		return cmp.Or(m.Kubelet, m.Packages["kubelet"])
	}
	return ""
}

// apiServers returns the versions of the API servers of a cluster by the names of their nodes, from their manifests.
func (w *World) apiServers(c *cluster) map[string]string {
	out := map[string]string{}
	for _, n := range c.Nodes {
		files := w.files[n.Machine]
		if !n.ControlPlane || files == nil {
			continue
		}
		if text, err := afero.ReadFile(files(), manifests+"kube-apiserver.yaml"); err == nil {
			out[n.Name] = kubeadm.VersionOf(string(text))
		}
	}
	return out
}

// hasStatic reports whether a machine has the manifest of a static pod. A node that joins has its pods before it has the manifests.
func (w *World) hasStatic(m *machine, component string) bool {
	files := w.files[m.ID]
	if m.Node == "" || files == nil {
		return true
	}
	exists, err := afero.Exists(files(), manifests+component+".yaml")
	return exists || err != nil
}

// clusterOf finds the cluster that a kubeconfig is of, and fails if its certificate is not accepted there.
func (w *World) clusterOf(config []byte) (*cluster, error) {
	ca, client, err := kubeapi.ReadKubeconfig(config)
	if err != nil {
		return nil, err
	}
	for _, c := range w.state.Clusters {
		if c.CA == ca {
			return c, c.Accepts(client)
		}
	}
	return nil, errors.New("The connection to the server was refused - did you specify the right host or port?")
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
