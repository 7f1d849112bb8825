package kubeadm

import (
	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// Site is a deployment without machines, for the tests of what is rendered.
type Site struct{ d *deployment }

// NewSite reads k8s_cluster_installation_param from JSON; it does not check it.
func NewSite(param string, masters, workers []mgmt.Node, points []vnflcm.ConnectionPoint) (Site, error) {
	params, err := vnflcm.ParseParams([]byte(`{"k8s_cluster_installation_param":` + param + `}`))
	if err != nil {
		return Site{}, err
	}
	op := &vnflcm.Operation{Params: params, Resources: vnflcm.Resources{ConnectionPoints: points}}
	p, err := read(op)
	if err != nil {
		return Site{}, err
	}
	d := &deployment{Driver: New(Config{}), op: op, p: &p.Cluster, masters: masters, workers: workers}
	return Site{d}, d.findEndpoint()
}

// Faults are those of the parameters that need no package.
func (s Site) Faults() []error {
	c := &checker{op: s.d.op}
	c.version(s.d.p.KubernetesVersion)
	c.apiEndpoint(s.d.p)
	c.components(s.d.p)
	c.flannel(s.d.p)
	c.marks("master_node", s.d.p.Master.nodeMarks)
	c.marks("worker_node", s.d.p.Worker.nodeMarks)
	return c.faults
}

// Init is what kubeadm init is given on the first control-plane node.
func (s Site) Init() ([]byte, error) {
	documents := append([]any{s.d.initConfiguration(s.d.masters[0]), s.d.clusterConfiguration()}, s.d.p.componentDocuments()...)
	return marshal(documents...)
}

// Join is what kubeadm join is given.
func (s Site) Join(n mgmt.Node, controlPlane bool) ([]byte, error) {
	b := bootstrap{Endpoint: s.d.endpoint(), CAHash: "sha256:0000000000000000000000000000000000000000000000000000000000000000"}
	c := credentials{token: "abcdef.0123456789abcdef", certificateKey: "1111111111111111111111111111111111111111111111111111111111111111"}
	return marshal(s.d.joinConfig(n, b, c, controlPlane))
}

// Labels of a node.
func (s Site) Labels(n mgmt.Node) map[string]string { return s.d.nodeLabels(n) }

// Network is the manifest of the pod network.
func (s Site) Network() ([]byte, error) { return s.d.networkManifest() }
