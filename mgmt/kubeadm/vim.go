package kubeadm

import (
	"context"
	"net"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/clusternodes"
	"github.com/vnfkit/vnfkit/mgmt/internal/expiry"
	"github.com/vnfkit/vnfkit/mgmt/internal/vimentry"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/etcd"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// VIMType is the vimType of a cluster's entry in the VIM registry.
const VIMType = "kubernetes"

// VIMID returns the id of the cluster's entry in the VIM registry. It depends only on the id of the VNF instance.
func VIMID(instanceID string) string { return vimentry.VIMID(instanceID) }

// runRegisterVIM creates or updates the cluster's entry in the VIM registry. CNFs can be instantiated on a registered
// cluster.
func runRegisterVIM(ctx context.Context, e *environment, _ mgmt.Node) error {
	r := vimentry.Registration{VIMParam: e.p.VIM, Name: e.p.VIMName, Endpoint: e.verifiedEndpoint}
	if e.p.HelmScript != "" {
		r.Extra = e.helmInfo
	}
	if err := vimentry.RegisterVIM(ctx, e.op, e.kube, e.config.Timeouts.Ready, r); err != nil {
		return err
	}
	return expiry.KeepEtcdCA(ctx, e.op, e.up, etcd.CAFile)
}

var _ vnflcm.VIMRenewer = (*Driver)(nil)

// RenewVIM implements vnflcm.VIMRenewer.
func (d *Driver) RenewVIM(ctx context.Context, op *vnflcm.Operation, vim vnflcm.VimConnectionInfo, was vnflcm.Validity) (vnflcm.VimConnectionInfo, vnflcm.Validity, error) {
	p, err := read(ctx, op)
	if err != nil {
		return vim, was, err
	}
	controlPlane, err := d.access(p.Cluster.Master.nodeParam).Nodes(op, d.config.Pool, "master")
	if err != nil {
		return vim, was, err
	}
	return vimentry.RenewVIM(ctx, op, controlPlane, vim, was)
}

// verifiedEndpoint returns the address of the API for clients: the floating address, if there is one and the certificate
// names it, otherwise the address that nodes use. A package's script may create a certificate without the floating address;
// a client could not verify the API there.
func (e *environment) verifiedEndpoint(ctx context.Context) (string, error) {
	endpoint := e.endpoint()
	host, port, err := net.SplitHostPort(endpoint)
	if err != nil {
		return "", err
	}
	if e.api.floating.IsValid() {
		err := e.kube.CheckName(ctx, e.api.floating.String())
		if err == nil {
			return net.JoinHostPort(e.api.floating.String(), port), nil
		}
		if ctx.Err() != nil {
			return "", err
		}
		e.op.Log.WarnContext(ctx, "the floating address is not registered: clients could not verify who answers there",
			"address", e.api.floating, "registered", endpoint, "error", err)
	}
	return endpoint, e.kube.CheckName(ctx, host)
}

// helmInfo returns how to log in to the control-plane nodes, on which Helm is installed: one address as text, several as a
// list. The registry seals it. The host keys are beyond Tacker: with them a client can verify the nodes, also after a node
// has been replaced at its address.
func (e *environment) helmInfo(ctx context.Context) (map[string]any, error) {
	var addrs, keys []string
	for _, n := range e.controlPlane {
		cp, _ := n.CP(e.p.Master.SSHCPName)
		address := cp.Address().String()
		addrs = append(addrs, address)
		key, err := mgmt.HostKey(ctx, e.op, n.ResourceID)
		if err != nil {
			return nil, err
		}
		if key != "" {
			keys = append(keys, address+" "+key)
		}
	}
	info := map[string]any{"masternode_ip": addrs, "masternode_username": e.p.Master.Username, "masternode_host_keys": keys}
	if key := e.p.Master.PrivateKey; !key.IsZero() {
		info["masternode_private_key"] = key.Reveal()
	}
	if passphrase := e.p.Master.Passphrase; !passphrase.IsZero() {
		info["masternode_passphrase"] = passphrase.Reveal()
	}
	if password := e.p.Master.Password; !password.IsZero() && e.needsPassword(ctx) {
		info["masternode_password"] = password.Reveal()
	}
	if len(addrs) == 1 {
		info["masternode_ip"] = addrs[0]
	}
	return map[string]any{"helm_info": info}, nil
}

// needsPassword reports whether logging in to control-plane nodes and running sudo there needs the password.
func (e *environment) needsPassword(ctx context.Context) bool {
	if e.p.Master.PrivateKey.IsZero() {
		return true
	}
	for _, n := range e.controlPlane {
		if needed, err := n.Root().NeedsPassword(ctx); needed || err != nil {
			return true
		}
	}
	return false
}

// runRemoveAccount deletes the service account of the VIM entry, and its token with it.
func runRemoveAccount(ctx context.Context, e *environment, _ mgmt.Node) error {
	return vimentry.RemoveAccount(ctx, e.op, func(context.Context) (*clusternodes.Cluster, vimentry.VIMParam, error) {
		if e.broken != nil {
			return nil, vimentry.VIMParam{}, e.broken
		}
		return e.kube, e.p.VIM, nil
	})
}

func runRemoveVIM(ctx context.Context, e *environment, _ mgmt.Node) error {
	return vimentry.RemoveVIM(ctx, e.op)
}
