package kubeadm

import (
	"context"
	"errors"
	"net/netip"
	"slices"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/clusternodes"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/apiaccess"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/controlplane"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// Site is a deployment without machines, to test the rendered files.
type Site struct{ d *environment }

// NewSite reads k8s_cluster_installation_param from JSON without checking it. Machines in workers that have the load
// balancer's connection point are load balancers.
func NewSite(param string, controlPlane, workers []mgmt.Node, points []vnflcm.ConnectionPoint) (Site, error) {
	params, err := vnflcm.ParseParams([]byte(`{"k8s_cluster_installation_param":` + param + `}`))
	if err != nil {
		return Site{}, err
	}
	op := &vnflcm.Operation{OperationData: vnflcm.OperationData{Kind: vnflcm.OpInstantiate, Params: params, Resources: vnflcm.Resources{ConnectionPoints: points}}}
	p, err := read(context.Background(), op)
	if err != nil {
		return Site{}, err
	}
	d := &environment{Driver: New(Config{}), op: op, p: &p.Cluster, controlPlane: controlPlane, workers: workers}
	if b := p.Cluster.Balancer; b != nil {
		for _, n := range slices.Concat(controlPlane, workers) {
			if _, found := n.CP(b.SSHCPName); found {
				d.balancers = append(d.balancers, n)
			}
		}
		if len(d.balancers) == 0 {
			return Site{}, errors.New("no load balancer")
		}
		d.workers = clusternodes.Without(workers, d.balancers)
	}
	return Site{d}, d.findEndpoint()
}

// Faults returns the faults of the parameters that can be found without a package.
func (s Site) Faults() []error {
	c := newChecker(s.d.op)
	c.version(s.d.p.KubernetesVersion)
	c.apiEndpoint(s.d.p)
	c.components(s.d.p)
	c.userConfig(s.d.p)
	if s.d.p.Packages.KeyPath == "" { // without a package, its key file cannot be checked
		c.packages(s.d.p)
	}
	c.flannel(s.d.p)
	c.marks("master_node", s.d.p.Master.nodeMarks)
	c.marks("worker_node", s.d.p.Worker.nodeMarks)
	if joined, some := c.Err().(interface{ Unwrap() []error }); some {
		return joined.Unwrap()
	}
	return nil
}

// Init returns the configuration of kubeadm init on the first control-plane node.
func (s Site) Init() ([]byte, error) {
	return s.d.kubeadm().InitConfig(s.d.controlPlane[0])
}

// Join returns the configuration of kubeadm join.
func (s Site) Join(n mgmt.Node, controlPlane bool) ([]byte, error) {
	b := controlplane.Bootstrap{Endpoint: s.d.endpoint(), CAHash: "sha256:0000000000000000000000000000000000000000000000000000000000000000"}
	c := controlplane.Credentials{Token: "abcdef.0123456789abcdef", CertificateKey: "1111111111111111111111111111111111111111111111111111111111111111"}
	return s.d.kubeadm().JoinConfig(n, b, c, controlPlane)
}

// Labels returns the labels of a node.
func (s Site) Labels(n mgmt.Node) map[string]string { return s.d.nodeLabels(n) }

// Network returns the manifest of the pod network.
func (s Site) Network() ([]byte, error) { return s.d.networkManifest() }

// Balancer returns the files of haproxy and keepalived on a control-plane node. addresses is what ip prints there.
func (s Site) Balancer(n mgmt.Node, addresses string) (haproxy, keepalived string, err error) {
	vip, err := netip.ParseAddr(s.d.api.host)
	if err != nil {
		return "", "", err
	}
	address := apiaccess.VirtualAddress{Address: vip, Agreement: apiaccess.Agreement{RouterID: 57, Password: "pass0000"}}
	haproxy, keepalived, found, err := address.Render(n, s.d.controlPlane, addresses)
	if !found {
		return "", "", errors.New("no interface")
	}
	return haproxy, keepalived, err
}

// Balanced reports whether the driver's own haproxy and keepalived are used.
func (s Site) Balanced() bool { return s.d.balanced() }

// ContainerdConfig returns the configuration for a machine on which containerd --version prints this text.
func (s Site) ContainerdConfig(printed, images, status string) (config []byte, err error) {
	return s.d.preparation().RuntimeConfig(printed, images, status)
}

// Functions for the tests of parsers.
var (
	FindPlace  = apiaccess.FindPlace
	ParseTaint = func(text string) bool { _, ok := parseTaint(text); return ok }
)

// Balance renders the load balancers for those control-plane nodes that choose returns.
func Balance(ctx context.Context, d *Driver, op *vnflcm.Operation, choose func([]mgmt.Node) []mgmt.Node) error {
	dep, err := d.open(ctx, op)
	if err != nil {
		return err
	}
	defer dep.kube.Close()
	controlPlane := choose(dep.controlPlane)
	return vnflcm.Each(ctx, 0, controlPlane, func(ctx context.Context, n mgmt.Node) error { return balance(ctx, dep, n, controlPlane) })
}
