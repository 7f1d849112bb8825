package kubeadm

import (
	"cmp"
	"context"

	"github.com/google/uuid"

	"github.com/vnfkit/vnfkit/mgmt/cluster"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// VIMType is the vimType of the entry that a cluster gets in the VIM registry.
const VIMType = "kubernetes"

// VIMID is the id of that entry: it follows from the id of the VNF instance.
func VIMID(instanceID string) string {
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte("vnfkit/kubernetes/"+instanceID)).String()
}

// account is what others reach the cluster as. Tacker's is a cluster administrator too.
var account = cluster.Account{Namespace: "kube-system", Name: "vnfkit-vim", ClusterRole: "cluster-admin"}

// registerVIM makes the cluster a VIM that CNFs can be instantiated on. The attribute names are Tacker's.
func (d *deployment) registerVIM(ctx context.Context) error {
	return vnflcm.Do(ctx, d.op, "register-vim", "", func(ctx context.Context) error {
		return within(ctx, d.config.Timeouts.Ready, func(ctx context.Context) error {
			c, err := d.kube.EnsureAccount(ctx, account)
			if err != nil {
				return err
			}
			access, err := vnflcm.NewParams(map[string]string{
				"auth_url": "https://" + d.endpoint(), "bearer_token": c.Token, "ssl_ca_cert": c.CA,
			})
			if err != nil {
				return err
			}
			extra, err := vnflcm.NewParams(map[string]string{"vim_name": cmp.Or(d.p.VIMName, "kubernetes_vim_"+d.op.InstanceID)})
			if err != nil {
				return err
			}
			id := VIMID(d.op.InstanceID)
			return d.op.RegisterVIM(ctx, vnflcm.VimConnectionInfo{ID: id, VimID: id, VimType: VIMType, AccessInfo: access, Extra: extra})
		})
	})
}

func removeVIM(ctx context.Context, op *vnflcm.Operation) error {
	return vnflcm.Do(ctx, op, "remove-vim", "", func(ctx context.Context) error {
		return op.RemoveVIM(ctx, VIMID(op.InstanceID))
	})
}
