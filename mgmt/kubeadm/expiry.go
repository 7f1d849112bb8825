package kubeadm

import (
	"context"
	"slices"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/expiry"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/controlplane"
	"github.com/vnfkit/vnfkit/vnflcm"
)

var _ vnflcm.ServedCertificateReader = (*Driver)(nil)

// Certificates implements vnflcm.CertificateReader: the certificates of control-plane nodes and of all kubelets. It logs in only to
// machines whose host key an earlier operation has recorded.
func (d *Driver) Certificates(ctx context.Context, op *vnflcm.Operation) ([]vnflcm.Certificate, error) {
	p, err := read(ctx, op)
	if err != nil {
		return nil, err
	}
	controlPlane, workers, err := d.clusterMachines(ctx, op)
	if err != nil {
		return nil, err
	}
	return expiry.Files(ctx, op, d.config.Parallel, slices.Concat(controlPlane, workers), func(n mgmt.Node) []string {
		if _, controlPlane := n.CP(p.Cluster.Master.SSHCPName); !controlPlane {
			return nil
		}
		return controlplane.CertificateFiles()
	})
}

// ServedCertificates implements vnflcm.ServedCertificateReader: the certificates of API servers and of etcd, and the CA in the VIM entry.
// Each server has ten seconds. An external etcd is not asked.
func (d *Driver) ServedCertificates(ctx context.Context, op *vnflcm.Operation) ([]vnflcm.Certificate, error) {
	p, err := read(ctx, op)
	if err != nil {
		return nil, err
	}
	m := p.Cluster.Master.nodeParam
	controlPlane, err := d.access(m).Nodes(op, d.config.Pool, "master")
	if err != nil {
		return nil, err
	}
	host, _, _ := splitEndpoint(p.Cluster.APIEndpoint) // checked
	return expiry.Cluster{Op: op, Pool: d.config.Pool, Allow: d.config.Allow, Parallel: d.config.Parallel, ControlPlane: controlPlane, CP: m.SSHCPName, NIC: m.NICCPName, Endpoint: host,
		Names: expiry.Names{APIServer: "pki/apiserver.crt", CA: "pki/ca.crt"}, EtcdFile: func(mgmt.Node) string { return "pki/etcd/server.crt" }}.Served(ctx)
}
