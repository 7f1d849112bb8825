package kubeadm

import (
	"context"
	"errors"
	"net/netip"
	"slices"

	"github.com/pelletier/go-toml/v2"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/clusternodes"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// Site is a deployment without machines, for the tests of what is rendered.
type Site struct{ d *deployment }

// NewSite reads k8s_cluster_installation_param from JSON; it does not check it. Workers that have its connection point are
// load balancers.
func NewSite(param string, masters, workers []mgmt.Node, points []vnflcm.ConnectionPoint) (Site, error) {
	params, err := vnflcm.ParseParams([]byte(`{"k8s_cluster_installation_param":` + param + `}`))
	if err != nil {
		return Site{}, err
	}
	op := &vnflcm.Operation{Kind: vnflcm.OpInstantiate, Params: params, Resources: vnflcm.Resources{ConnectionPoints: points}}
	p, err := read(context.Background(), op)
	if err != nil {
		return Site{}, err
	}
	d := &deployment{Driver: New(Config{}), op: op, p: &p.Cluster, masters: masters, workers: workers}
	if b := p.Cluster.Balancer; b != nil {
		for _, n := range slices.Concat(masters, workers) {
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

// Faults are those of the parameters that need no package.
func (s Site) Faults() []error {
	c := newChecker(s.d.op)
	c.version(s.d.p.KubernetesVersion)
	c.apiEndpoint(s.d.p)
	c.components(s.d.p)
	if s.d.p.Packages.KeyPath == "" { // no package is here to look into
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

// Balancer are the files of haproxy and keepalived on a control-plane node with these addresses, as ip prints
// them.
func (s Site) Balancer(n mgmt.Node, addresses string) (haproxy, keepalived string, err error) {
	vip, err := netip.ParseAddr(s.d.api.host)
	if err != nil {
		return "", "", err
	}
	at, found := findPlace(addresses, vip)
	if !found {
		return "", "", errors.New("no interface")
	}
	vrrp := vrrpConfig{balancer: balancer{RouterID: 57, Password: "pass0000"}, node: n, masters: s.d.masters, place: at, vip: vip}
	conf, err := haproxyConfig(vip, s.d.masters)
	return string(conf), vrrp.String(), err
}

// Balanced reports whether our own load balancer is used.
func (s Site) Balanced() bool { return s.d.balanced() }

// ContainerdConfig is the configuration for what containerd --version prints.
func (s Site) ContainerdConfig(printed, images, status string) (config []byte, err error) {
	r := runtimeSettings{systemdCgroups: s.d.p.systemdCgroups(), pause: pauseImage(images)}
	if r.major, r.minor, err = containerdVersion(printed); err != nil {
		return nil, err
	}
	if err := s.d.p.checkContainerd(r.major); err != nil {
		return nil, err
	}
	if r.limitedOOM, err = lacksSysResource(status); err != nil {
		return nil, err
	}
	return toml.Marshal(r.config())
}

// For the tests of parsers.
var (
	FindPlace = func(text string, vip netip.Addr) (device string, bits int, found bool) {
		p, ok := findPlace(text, vip)
		return p.device, p.bits, ok
	}
	ParseTaint = func(text string) bool { _, ok := parseTaint(text); return ok }
)

// Balance renders the load balancers for those control-plane nodes that choose keeps.
func Balance(ctx context.Context, d *Driver, op *vnflcm.Operation, choose func([]mgmt.Node) []mgmt.Node) error {
	dep, err := d.open(ctx, op)
	if err != nil {
		return err
	}
	defer dep.close()
	return dep.balance(ctx, choose(dep.masters))
}
