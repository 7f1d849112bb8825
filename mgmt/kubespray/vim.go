package kubespray

import (
	"context"
	"net"
	"strconv"

	"github.com/vnfkit/vnfkit/mgmt/internal/vimentry"
	"github.com/vnfkit/vnfkit/mgmt/loadbalancer"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// VIMType is the vimType of the entry that a cluster gets in the VIM registry.
const VIMType = vimentry.VIMType

// VIMID is the id of that entry: it follows from the id of the VNF instance.
func VIMID(instanceID string) string { return vimentry.VIMID(instanceID) }

// registerVIM makes the cluster a VIM that CNFs can be instantiated on, or brings its entry up to date.
func (d *deployment) registerVIM(ctx context.Context) error {
	return vimentry.RegisterVIM(ctx, d.op, d.kube, d.config.Timeouts.Ready,
		vimentry.Registration{VIMParam: d.p.VIM, Name: d.p.VIMName, Endpoint: d.endpoint})
}

var _ vnflcm.VIMRenewer = (*Driver)(nil)

// RenewVIM implements vnflcm.VIMRenewer.
func (d *Driver) RenewVIM(ctx context.Context, op *vnflcm.Operation, vim vnflcm.VimConnectionInfo, was vnflcm.Validity) (vnflcm.VimConnectionInfo, vnflcm.Validity, error) {
	p, err := d.read(ctx, op)
	if err != nil {
		return vim, was, err
	}
	masters, err := d.nodes(op, p.Cluster.Master.nodeParam, "master")
	if err != nil {
		return vim, was, err
	}
	return vimentry.RenewVIM(ctx, op, masters, vim, was)
}

// apiPort is that of the API server on a control-plane node (kubespray, kube_apiserver_port).
const apiPort = "6443"

// endpoint is where others reach the API: at the load balancer or, without one, at the first control-plane node. A load
// balancer that the certificate does not name, since it got another address when it was replaced, is passed over:
// nobody is to be registered whom a client cannot verify.
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
	first := d.masters[0]
	host := first.IP.String()
	if cp, has := first.CP(d.p.Master.ClusterCPName); has && cp.Address().IsValid() {
		host = cp.Address().String()
	}
	return net.JoinHostPort(host, apiPort), d.kube.CheckName(ctx, host)
}
