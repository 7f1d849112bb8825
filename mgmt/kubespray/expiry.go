package kubespray

import (
	"context"
	"slices"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/expiry"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// Directories of kubespray: kube_config_dir, kube_cert_dir below it, and etcd_cert_dir (roles/kubespray-defaults, roles/etcd).
const (
	kubernetesDir = "/etc/kubernetes/"
	kubeDir       = "ssl/"
	etcdDir       = "/etc/ssl/etcd/ssl/"
)

// certificateFiles are the files with certificates that every control-plane node has. Those of etcd below kubeDir exist with
// etcd_deployment_type kubeadm.
var certificateFiles = []string{kubeDir + "apiserver.crt", kubeDir + "apiserver-kubelet-client.crt", kubeDir + "front-proxy-client.crt",
	kubeDir + "ca.crt", kubeDir + "front-proxy-ca.crt", "admin.conf", "super-admin.conf", "controller-manager.conf", "scheduler.conf", etcdDir + "ca.pem",
	kubeDir + "apiserver-etcd-client.crt", kubeDir + "etcd/server.crt", kubeDir + "etcd/peer.crt", kubeDir + "etcd/healthcheck-client.crt", kubeDir + "etcd/ca.crt"}

// memberFile returns the file with the certificate of the etcd member on a node: kubespray names it after the host in the inventory
// (roles/etcd, etcd.env.j2).
func memberFile(n mgmt.Node) string { return etcdDir + "member-" + n.HostName + ".pem" }

var _ vnflcm.ServedCertificateReader = (*Driver)(nil)

// Certificates implements vnflcm.CertificateReader: the certificates of control-plane nodes and of all kubelets. The driver logs in to the
// nodes, not to the Ansible server, and only to machines whose host key an earlier operation has recorded.
func (d *Driver) Certificates(ctx context.Context, op *vnflcm.Operation) ([]vnflcm.Certificate, error) {
	p, err := d.read(ctx, op)
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
		return append(slices.Clone(certificateFiles), memberFile(n), etcdDir+"admin-"+n.HostName+".pem", etcdDir+"node-"+n.HostName+".pem")
	})
}

// ServedCertificates implements vnflcm.ServedCertificateReader: the certificates of API servers and of etcd, and the CA in the VIM entry.
// Each server has ten seconds. An external etcd is not asked.
func (d *Driver) ServedCertificates(ctx context.Context, op *vnflcm.Operation) ([]vnflcm.Certificate, error) {
	p, err := d.read(ctx, op)
	if err != nil {
		return nil, err
	}
	m := p.Cluster.Master.nodeParam
	controlPlane, err := d.nodes(op, m, "master")
	if err != nil {
		return nil, err
	}
	return expiry.Cluster{Op: op, Pool: d.config.Pool, Allow: d.config.Allow, Parallel: d.config.Parallel, ControlPlane: controlPlane, CP: m.SSHCPName, NIC: m.NICCPName,
		Names: expiry.Names{APIServer: kubeDir + "apiserver.crt", CA: kubeDir + "ca.crt"}, EtcdFile: memberFile}.Served(ctx)
}
