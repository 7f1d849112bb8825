package kubespray

import (
	"context"
	"net"
	"strconv"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/clusternodes"
	"github.com/vnfkit/vnfkit/mgmt/internal/expiry"
	"github.com/vnfkit/vnfkit/mgmt/internal/vimentry"
	"github.com/vnfkit/vnfkit/mgmt/loadbalancer"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// VIMType is the vimType of a cluster's entry in the VIM registry.
const VIMType = "kubernetes"

// VIMID returns the id of the cluster's entry in the VIM registry. It depends only on the id of the VNF instance.
func VIMID(instanceID string) string { return vimentry.VIMID(instanceID) }

// runRegisterVIM creates or updates the cluster's entry in the VIM registry. CNFs can be instantiated on a registered cluster.
func runRegisterVIM(ctx context.Context, d *deployment, _ mgmt.Node) error {
	err := vimentry.RegisterVIM(ctx, d.op, d.kube, d.config.Timeouts.Ready,
		vimentry.Registration{VIMParam: d.p.VIM, Name: d.p.VIMName, Endpoint: d.endpoint})
	if err != nil {
		return err
	}
	return expiry.KeepEtcdCA(ctx, d.op, d.controlPlane, etcdDir+"ca.pem", kubernetesDir+kubeDir+"etcd/ca.crt")
}

var _ vnflcm.VIMRenewer = (*Driver)(nil)

// RenewVIM implements vnflcm.VIMRenewer.
func (d *Driver) RenewVIM(ctx context.Context, op *vnflcm.Operation, vim vnflcm.VimConnectionInfo, was vnflcm.Validity) (vnflcm.VimConnectionInfo, vnflcm.Validity, error) {
	p, err := d.read(ctx, op)
	if err != nil {
		return vim, was, err
	}
	controlPlane, err := d.nodes(op, p.Cluster.Master.nodeParam, "master")
	if err != nil {
		return vim, was, err
	}
	return vimentry.RenewVIM(ctx, op, controlPlane, vim, was)
}

// apiPort is the port of the API server on a control-plane node (kubespray, kube_apiserver_port).
const apiPort = "6443"

// endpoint returns the address of the API for clients: the load balancer or, without one, the first control-plane node. It
// skips a load balancer whose address is not in the certificate, for example because it got another address when it was
// replaced: a client could not verify the server there.
func (d *deployment) endpoint(ctx context.Context) (string, error) {
	if len(d.balancers) > 0 {
		host := d.p.Balancer.ClientAddress(d.balancers[0]).String()
		err := d.kube.CheckName(ctx, host)
		if err == nil {
			return net.JoinHostPort(host, strconv.Itoa(loadbalancer.DefaultPort)), nil
		}
		if ctx.Err() != nil {
			return "", err
		}
		d.op.Log.WarnContext(ctx, "the load balancer is not registered: clients could not verify who answers there", "address", host, "error", err)
	}
	first := d.controlPlane[0]
	host := first.IP.String()
	if cp, has := first.CP(d.p.Master.ClusterCPName); has && cp.Address().IsValid() {
		host = cp.Address().String()
	}
	return net.JoinHostPort(host, apiPort), d.kube.CheckName(ctx, host)
}

func runRemoveVIM(ctx context.Context, d *deployment, _ mgmt.Node) error {
	return vimentry.RemoveVIM(ctx, d.op)
}

// runRemoveAccount deletes the account that the entry in the VIM registry used.
func runRemoveAccount(ctx context.Context, d *deployment, _ mgmt.Node) error {
	return vimentry.RemoveAccount(ctx, d.op, func(context.Context) (*clusternodes.Cluster, vimentry.VIMParam, error) {
		return d.kube, d.p.VIM, d.broken
	})
}
